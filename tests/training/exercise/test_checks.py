"""The check of the exercise says what is wrong in functions that were written in another way than the example."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from playground.training.exercise import runner
from tests.support import data_beside

HERE = Path(__file__).parent
# The five functions as a student might write them: right, and in another style than the example.
STUDENT = re.split(r"^(?=def )", (HERE / "student.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
RIGHT = {source[len("def ") : source.index("(")]: source for source in STUDENT}
# Of each: the function, a piece of the above, what a student has instead, and a piece of the hint.
WRONG, TABLES = data_beside(__file__, "mistakes.json"), data_beside(__file__, "tables.yaml")


def verdict(function, source, without=()):
    """What is said of one function of a file in which it is written so, and all else is the example's."""
    names = {name: value for name, value in runner.ours().items() if name not in without}
    names |= {"__name__": ModuleType("exercise").__name__}
    exec(source, names)
    return runner.verdict(names, function)


@pytest.mark.parametrize("function", RIGHT)
def test_a_right_function_is_called_right_in_another_style_too(function):
    assert verdict(function, RIGHT[function]) == {"verdict": "right"}


@pytest.mark.parametrize("source", ["", "class Settings: pass"])
def test_what_a_file_does_not_bring_is_the_project_s(source):
    assert verdict("ppo_step", source, ("Settings", "Episodes")) == {"verdict": "right"}


@pytest.mark.parametrize("changes", [{}, TABLES["of_self"]])
@pytest.mark.parametrize("function", RIGHT)
def test_the_methods_of_a_class_are_checked_as_the_functions_are(function, changes):
    """Of the course's class."""
    source = "".join(STUDENT)
    for name in RIGHT:
        source = source.replace(f"{name}(", f"self.{name}(").replace(f"def self.{name}(", f"def {name}(self, ")
    for old, new in changes.items():
        assert old in source
        source = source.replace(old, new)
    source = "class MinimalRLHF:\n" + "".join(f"    {line}\n" for line in source.splitlines())
    assert verdict(function, source, RIGHT) == {"verdict": "right"}


@pytest.mark.parametrize(("method", "said"), TABLES["classes"])
def test_a_class_that_is_not_written_or_fails_says_so(method, said):
    x = ", x" * ("x" in method)
    source = "class MinimalRLHF:\n" + "".join(f"    def {name}(self{x}): {method}\n" for name in RIGHT)
    assert said in str(verdict("compute_kl", source, RIGHT))


@pytest.mark.parametrize(("function", "right", "wrong", "hint"), WRONG)
def test_a_mistake_is_shown_by_a_case_with_a_hint(function, right, wrong, hint):
    assert right in RIGHT[function]
    answer = verdict(function, RIGHT[function].replace(right, wrong))
    assert answer["verdict"] == "wrong"
    assert hint in answer["hint"], answer
    assert answer["case"]
    assert answer["expected"] != answer["got"]


@pytest.mark.parametrize(("function", "source"), TABLES["missing"])
def test_a_function_that_is_not_written_is_called_missing(function, source):
    assert verdict(function, source) == {"verdict": "missing"}


@pytest.mark.parametrize(("function", "body", "error"), TABLES["raises"])
def test_a_function_that_raises_or_exits_is_called_wrong(function, body, error):
    source = compile(f"def {function}(*given):\n    {body}", runner.FILE, "exec")
    assert verdict(function, source) == {"verdict": "wrong", "error": error}
