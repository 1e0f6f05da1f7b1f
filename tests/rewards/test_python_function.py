"""Functions in Python: both forms, what the code may import, and a second try after a process has died."""

import contextlib
import os
import signal

import pytest

from playground.config import yaml_io
from playground.rewards.python_function import PythonFunction
from tests.support import data_beside, has_ended, problems_of, wait_until

ONE, MANY = "def reward(prompt, completion):\n    ", "def reward(prompts, completions):\n    "


@pytest.fixture
def function():
    with contextlib.ExitStack() as opened:
        yield lambda code, time_limit=20.0: opened.enter_context(contextlib.closing(PythonFunction(code, time_limit)))


def test_a_function_of_one_completion_and_one_of_a_batch(function):
    one = function(ONE + "return len(completion) if completion else None")
    many = function(MANY + "return tuple(p == c for p, c in zip(prompts, completions))")
    assert one(["p", "p", "é"], ["one", "", "größe"]) == [3.0, None, 5.0]
    assert many(["a", "b"], ["a", "\x00\ud800"]) == [1.0, 0.0]
    assert one([], []) == []


def test_the_process_stays_between_batches_answers_large_ones_and_is_started_again(function):
    reward = function("calls = []\n" + ONE + "calls.append(1)\n    return len(calls)")
    assert reward(["p"] * 2, ["c"] * 2) == [1, 2]
    assert reward(["p" * 4000] * 512, ["c" * 4000] * 512) == [float(number) for number in range(3, 515)]
    for _ in range(2):
        assert reward.process is not None
        os.kill(reward.process.pid, signal.SIGKILL)
        reward.process.wait(20)
        assert reward(["p"], ["c"]) == [1]


def test_what_a_function_has_started_ends_with_its_process_also_where_that_went_first(function):
    reward = function("import subprocess\n" + ONE + "return subprocess.Popen(['/bin/sleep', '600']).pid")
    (helper,) = reward(["p"], ["c"])
    os.kill(reward.process.pid, signal.SIGKILL)
    wait_until(lambda: has_ended(reward.process.pid))  # nobody has waited for it
    reward.close()
    wait_until(lambda: has_ended(int(helper)), 20)


def test_installed_packages_can_be_imported_and_the_environment_is_empty(function):
    code = "import numpy\n" + ONE + "return numpy.float32(len(completion)) + numpy.arange(3).mean()"
    assert function(code)(["p"], ["banana"]) == [7.0]
    (variables,) = function("import os\n" + ONE + "return len(os.environ)")(["p"], ["c"])
    assert variables <= 2


REFUSED = data_beside(__file__, "functions.yaml")["refused"]


@pytest.mark.parametrize(("code", "reason"), [*REFUSED, ("-" * 9000 + "1", "cannot be read")])
def test_code_without_the_function_is_refused_before_it_runs(code, reason):
    (problem,) = problems_of(yaml_io.from_dict, {"rewards": [{"kind": "python", "code": code}]})
    assert problem.field == "rewards.0.code"
    assert reason in problem.message
