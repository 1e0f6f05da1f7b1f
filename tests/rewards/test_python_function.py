"""Functions in Python: both forms, what the code may import, and a second try after a process has died."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from playground.config import yaml_io
from playground.errors import InvalidConfig, RewardFailed
from playground.rewards.mixture import values_of
from playground.rewards.python_function import PythonFunction

ONE, MANY = "def reward(prompt, completion):\n    ", "def reward(prompts, completions):\n    "


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
    one = make(made, ONE + "return len(completion) if completion else None")
    many = make(made, MANY + "return tuple(p == c for p, c in zip(prompts, completions))")
    assert one(["p", "p", "é"], ["one", "", "größe"]) == [3.0, None, 5.0]
    assert many(["a", "b"], ["a", "\x00\ud800"]) == [1.0, 0.0]
    assert one([], []) == []


def test_the_process_stays_between_batches_answers_large_ones_and_is_started_again(made: list[PythonFunction]) -> None:
    reward = make(made, "calls = []\n" + ONE + "calls.append(1)\n    return len(calls)")
    assert reward(["p"] * 2, ["c"] * 2) == [1, 2]
    assert reward(["p" * 4000] * 512, ["c" * 4000] * 512) == [float(number) for number in range(3, 515)]
    for _ in range(2):
        assert reward.process is not None
        os.kill(reward.process.pid, signal.SIGKILL)
        reward.process.wait(20)
        assert reward(["p"], ["c"]) == [1]


def test_installed_packages_can_be_imported_and_the_environment_is_empty(made: list[PythonFunction]) -> None:
    code = "import os\nimport numpy\n" + ONE + "return numpy.float32(len(completion)) + numpy.arange(3).mean()"
    assert make(made, code)(["p"], ["banana"]) == [7.0]
    (found,) = make(made, "import os\n" + ONE + "return len(os.environ)")(["p"], ["c"])
    assert found is not None
    assert found <= 2


@pytest.mark.parametrize(
    ("code", "time_limit", "reason"),
    [
        (ONE + "x = 1\n    return x / 0", 20.0, "ZeroDivisionError: division by zero, in line 3"),
        (MANY + "return [1]", 20.0, "1 values for 2"),
        (ONE + "return 'x'", 20.0, "could not convert string to float"),
        (ONE + "while True: pass", 0.2, "longer than 0.2 s"),
    ],
)
def test_what_the_function_does_wrong_is_named(made: list[PythonFunction], code, time_limit, reason) -> None:
    reward = make(made, code, time_limit)
    with pytest.raises(RewardFailed) as caught:
        values_of("reward `python`", reward, ["p"] * 2, ["c"] * 2)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def reward(prompt, completion)\n    return 1", "Line 1 is not Python"),
        ("class reward: pass", "no function `reward`"),
        ("def reward(prompt): return 1", "no function `reward`"),
        ("-" * 9000 + "1", "cannot be read"),
    ],
)
def test_code_without_the_function_is_refused_before_it_runs(code: str, reason: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.from_dict({"rewards": [{"kind": "python", "code": code}]})
    (problem,) = caught.value.problems
    assert problem.field == "rewards.0.code"
    assert reason in problem.message


def test_code_is_parsed_and_not_run(tmp_path) -> None:
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\ndef reward(prompt, completion, weight=2): return 1"
    config = yaml_io.from_dict({"rewards": [{"kind": "python", "code": code}]})
    assert yaml_io.from_dict(yaml_io.parse_yaml(config.to_yaml())) == config
    assert not (tmp_path / "ran").exists()
