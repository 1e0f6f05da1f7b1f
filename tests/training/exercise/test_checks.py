"""The check of the exercise names what is wrong in functions that were written in another way than the example."""

import functools
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from playground.training.exercise import checks, mistakes, runner
from tests.nights import cases
from tests.support import PROJECT

HERE = Path(__file__).parent
# The five functions as a student might write them: right, and in another style than the example.
STUDENT = re.split(r"^(?=def )", (HERE / "student.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
RIGHT = {source[len("def ") : source.index("(")]: source for source in STUDENT}
# Of each: the function, a piece of the above, what a student has instead, and a piece of the hint.
WRONG = json.loads((HERE / "mistakes.json").read_text(encoding="utf-8"))


@functools.cache
def ours():
    return vars(runner.example(PROJECT / "examples"))


def verdict(function, source):
    """What is said of one function of a file in which it is written so, and all else is the example's."""
    names = vars(ModuleType("exercise")) | ours()
    exec(source, names)
    return checks.verdict(names, ours(), function, "your file")


@pytest.mark.parametrize("function", RIGHT)
def test_a_right_function_is_called_right_in_another_style_too(function):
    assert verdict(function, RIGHT[function]) == {"verdict": "right"}


def test_what_a_file_does_not_bring_is_the_project_s():
    names = {name: value for name, value in ours().items() if name not in ("Settings", "Episodes")}
    assert checks.verdict(names, ours(), "ppo_step", "your file") == {"verdict": "right"}


def as_a_class(changes):
    """The right functions as methods of the course's class."""
    source = "".join(STUDENT)
    for name in RIGHT:
        source = source.replace(f"{name}(", f"self.{name}(").replace(f"def self.{name}(", f"def {name}(self, ")
    for old, new in changes.items():
        assert old in source
        source = source.replace(old, new)
    return "class MinimalRLHF:\n" + "".join(f"    {line}\n" for line in source.splitlines())


OF_SELF = {
    "def compute_kl(self, reference, episodes, settings):": (
        "def __init__(self, policy, ref_model, config):\n    self.seen = 0\n\n"
        "def compute_kl(self, episodes):\n    reference, settings = self.ref_model, self.config"
    ),
    "self.compute_kl(reference, eps, settings)": "self.compute_kl(eps)",
    "settings.kl_coef": "self.beta",
    "self.generate_with_logprobs(policy, value_head, batch, settings)": "self.generate_with_logprobs(prompts=batch)",
    "generate_with_logprobs(self, policy, value_head, prompts, settings):": (
        "generate_with_logprobs(self, prompts):\n    policy, value_head, settings = self.policy, self.critic, self.cfg"
    ),
}


@pytest.mark.parametrize("changes", [{}, OF_SELF])
@pytest.mark.parametrize("function", RIGHT)
def test_the_methods_of_a_class_are_checked_as_the_functions_are(function, changes):
    names = {name: value for name, value in ours().items() if name not in RIGHT}
    exec(as_a_class(changes), names)
    assert checks.verdict(names, ours(), function, "your file") == {"verdict": "right"}


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("pass", {"verdict": "missing"}),
        ("'x'", {"verdict": "missing"}),
        ("return self.unknown", "AttributeError"),
        ("return x + 1", "TypeError: asks for x; it can ask for reference, episodes, settings, ref"),
    ],
)
def test_a_class_that_is_not_written_or_fails_says_so(method, said):
    names = {name: value for name, value in ours().items() if name not in RIGHT}
    x = ", x" * ("x" in method)
    exec("class MinimalRLHF:\n" + "".join(f"    def {name}(self{x}): {method}\n" for name in RIGHT), names)
    answer = checks.verdict(names, ours(), "compute_kl", "your file")
    assert answer == said or said in str(answer)


@pytest.mark.parametrize(("function", "right", "wrong", "hint"), WRONG)
def test_a_mistake_is_named_with_a_case_that_shows_it(function, right, wrong, hint):
    assert right in RIGHT[function]
    answer = verdict(function, RIGHT[function].replace(right, wrong))
    assert answer["verdict"] == "wrong"
    assert hint in answer["hint"], answer
    assert answer["case"]
    assert answer["given"]
    assert answer["expected"].keys() == answer["got"].keys() != set()
    assert answer["expected"] != answer["got"]


EVERY_MISTAKE = [(name, mistake) for name, each in mistakes.MISTAKES.items() for mistake in each]


@pytest.mark.parametrize(("function", "mistake"), cases(EVERY_MISTAKE, always=EVERY_MISTAKE[:1]))
def test_every_known_mistake_differs_from_what_is_right_and_from_the_others(function, mistake):
    answer = checks.verdict(mistakes.mutant(ours(), function, mistake), ours(), function, "x")
    assert answer["verdict"] == "wrong"
    assert answer["hint"] == mistake.hint


def test_a_mistake_is_shown_by_the_smallest_case():
    right, wrong = "r[n - 1] +=", "r[C - 1] +="
    answer = verdict("compute_advantages", RIGHT["compute_advantages"].replace(right, wrong))
    assert answer["case"] == "completions of two tokens and of one"  # shorter than others, so that there is padding
    assert answer["given"]["mask"] == "[[1, 1], [1, 0]]"
    assert answer["given"]["scores"] == "[1, -1]"
    assert answer["expected"]["returns"] == "[[0.95, 1], [-1, 0]]"
    assert answer["got"]["returns"] == "[[0.95, 1], [0, 0]]"
    sign = verdict("ppo_step", RIGHT["ppo_step"].replace("pl = -(", "pl = ("))
    assert sign["case"] == "one token with ratio 1 and advantage 1"
    assert (sign["expected"]["policy_loss"], sign["got"]["policy_loss"]) == ("-1", "1")


@pytest.mark.parametrize(
    ("function", "source"),
    [
        ("compute_kl", "def compute_kl(*given): pass"),
        ("train", "def train(*given): raise NotImplementedError"),
        ("train", "train = None"),
    ],
)
def test_a_function_that_is_not_written_is_called_missing(function, source):
    assert verdict(function, source) == {"verdict": "missing"}


def test_a_function_that_raises_exits_or_gives_no_tensor_is_called_wrong():
    answer = verdict("train", "def train(*given):\n    return 1 / 0")
    assert answer == {"verdict": "wrong", "error": "ZeroDivisionError: division by zero"}
    exits = verdict("compute_kl", "import sys\ndef compute_kl(*given):\n    sys.exit()")
    assert exits["verdict"] == "wrong"
    assert exits["got"] == {"error": "SystemExit: "}
    lists = verdict("compute_kl", "def compute_kl(*given): return [[1.0]]")
    assert lists["hint"] == "A Tensor is asked for, and this is a list."
