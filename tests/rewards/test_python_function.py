"""Functions in Python: both forms, what the code may import, and a second try after a process has died."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from playground.config import yaml_io
from playground.errors import InvalidConfig, RewardFailed
from playground.rewards.python_function import PythonFunction


@pytest.fixture
def made() -> Iterator[list[PythonFunction]]:
    found: list[PythonFunction] = []
    yield found
    for function in found:
        function.close()


def make(made: list[PythonFunction], code: str, time_limit: float = 20.0) -> PythonFunction:
    made.append(PythonFunction(code, time_limit))
    return made[-1]


def test_a_function_of_one_completion_and_one_of_a_batch(made: list[PythonFunction]) -> None:
    one = make(made, "def reward(prompt, completion):\n    return len(completion) if completion else None")
    many = make(
        made, "def reward(prompts, completions):\n    return tuple(p == c for p, c in zip(prompts, completions))"
    )
    assert one(["p", "p", "é"], ["one", "", "größe"]) == [3.0, None, 5.0]
    assert many(["a", "b"], ["a", "\x00\ud800"]) == [1.0, 0.0]
    assert one([], []) == []


def test_the_process_stays_between_batches_and_answers_large_ones(made: list[PythonFunction]) -> None:
    reward = make(made, "calls = []\ndef reward(prompt, completion):\n    calls.append(1)\n    return len(calls)")
    assert reward(["p"] * 2, ["c"] * 2) == [1, 2]
    assert reward(["p"], ["c"]) == [3]
    assert reward(["p" * 4000] * 512, ["c" * 4000] * 512) == [float(number) for number in range(4, 516)]


def test_installed_packages_can_be_imported_and_their_numbers_are_numbers(made: list[PythonFunction]) -> None:
    code = """
import re
import numpy

def reward(prompt, completion):
    return numpy.float32(len(re.findall("a", completion))) + numpy.arange(3).mean()
"""
    assert make(made, code)(["p"], ["banana"]) == [4.0]


def test_what_the_function_does_wrong_is_told_with_its_line(made: list[PythonFunction]) -> None:
    with pytest.raises(RewardFailed, match=r"ZeroDivisionError: division by zero, in line 3\. Correct the code\."):
        make(made, "def reward(prompt, completion):\n    x = 1\n    return x / 0")(["p"], ["c"])
    with pytest.raises(RewardFailed, match="returned 1 values for 2 completions"):
        make(made, "def reward(prompts, completions):\n    return [1]")(["p"] * 2, ["c"] * 2)
    with pytest.raises(
        RewardFailed, match="returned a value of type str for a completion; it must be a number or None"
    ):
        make(made, "def reward(prompt, completion):\n    return 'x'")(["p"], ["c"])


def test_too_slow_is_told_with_the_limit(made: list[PythonFunction]) -> None:
    before = set(psutil.Process().children())  # those of earlier tests, dead ones too
    with pytest.raises(
        RewardFailed, match=r"took longer than 0\.2 s for 1 completions and was stopped\. Make it faster"
    ):
        make(made, "def reward(prompt, completion):\n    while True: pass", 0.2)(["p"], ["c"])
    assert [child for child in psutil.Process().children() if child not in before] == []


def test_a_process_that_was_killed_is_started_again(made: list[PythonFunction]) -> None:
    reward = make(made, "def reward(prompt, completion):\n    return 1")
    for _ in range(2):
        assert reward(["p"], ["c"]) == [1]
        assert reward._process is not None
        os.kill(reward._process.process.pid, signal.SIGKILL)
        reward._process.process.wait(20)
    assert reward(["p"], ["c"]) == [1]


def test_its_environment_is_empty(made: list[PythonFunction]) -> None:
    (found,) = make(made, "import os\ndef reward(prompt, completion):\n    return len(os.environ)")(["p"], ["c"])
    assert found is not None and found <= 2  # Python and macOS add one variable each


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def reward(prompt, completion)\n    return 1", "Line 1 is not Python"),
        ("x = 1", "There is no function `reward`. Write `def reward(prompt, completion):`"),
        ("class reward: pass", "There is no function `reward`."),
        ("async def reward(prompt, completion): pass", "There is no function `reward`."),
        ("def reward(text): return 1", "takes other parameters (text)."),
        ("def reward(prompt, completion, more): return 1", "takes other parameters (prompt, completion, more)."),
        ("def reward(prompt, completion, *, more): return 1", "takes other parameters"),
        ("(" * 5000, "Line 1 is not Python"),
        ("-" * 9000 + "1", "The code cannot be read"),
        ("x" * 10_001, "must be at most 10000 characters long."),
        ("def reward(prompt, completion):\n    return 1\x00", "is not Python"),
    ],
)
def test_code_without_the_function_is_refused_before_it_runs(code: str, told: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.from_dict({"rewards": [{"kind": "python", "code": code}]})
    (problem,) = caught.value.problems
    assert problem.field == "rewards.0.code" and told in problem.message


def test_code_is_looked_at_and_not_run(tmp_path) -> None:
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\ndef reward(prompt, completion, weight=2): return 1"
    config = yaml_io.from_dict({"rewards": [{"kind": "python", "code": code}]})
    assert yaml_io.from_dict(yaml_io.parse_yaml(config.to_yaml())) == config
    assert not (tmp_path / "ran").exists()
