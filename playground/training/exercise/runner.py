"""The process of a check: `python -I -B runner.py PARENT MEMORY_BYTES`, under the limits of Python rewards.

JSON lines: first the packages are loaded, then the student's code, then each function is asked about (`cases`).
`playground.cli.exercise_commands` starts it and ends it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))  # where Python, isolated, does not look
from playground import PROJECT_FILES
from playground.rewards.python_runner import in_words, serve

FILE = "your file"
FUNCTIONS = ("generate_with_logprobs", "compute_kl", "compute_advantages", "ppo_step", "train")
ALIASES = {  # what courses call the same thing
    "policy": "model policy_model",
    "reference": "ref ref_model ref_policy reference_model",
    "value_head": "critic value_model",
    "score": "reward_model reward_fn",
    "learning_rate": "lr",
    "num_epochs": "ppo_epochs",
    "max_new_tokens": "max_response_length",
    "kl_coef": "beta",
    "gae_lambda": "lam",
    "clip_range": "eps",
    "value_coef": "vf_coef",
}
NAMED = {alias: name for name, others in ALIASES.items() for alias in others.split()}


@functools.cache
def ours() -> dict[str, Any]:
    """What examples/minimal_rlhf.py defines."""
    return runpy.run_path(str(PROJECT_FILES / "examples" / "minimal_rlhf.py"), run_name="minimal_rlhf")


def load(pieces: list[str], names: dict[str, Any]) -> dict[str, Any]:
    """Run the code, a file or cell by cell; of a notebook a cell that fails is left out, and said."""
    failed = []
    for piece in pieces:
        try:
            exec(compile(piece, FILE, "exec", dont_inherit=True), names)
        except BaseException as error:  # also SystemExit: whatever a student's code does
            failed.append(in_words(error, FILE))
    return {"failed": failed}


def verdict(names: dict[str, Any], function: str) -> dict[str, Any]:
    """What is said of a function: right; missing; or wrong, with the first case that shows it. `names`: of the file."""
    from playground.training.exercise.cases import CASES, same

    add_missing(names)
    body = names.get(function)

    def written(*arguments: Any) -> Any:
        answer = body(*arguments) if callable(body) else None
        if answer is None:
            raise NotImplementedError
        return answer

    try:
        with patch.dict(names, {function: written}):
            for words, right, got, hint in CASES[function](names):
                if not same(right, got):
                    expected, came = (" ".join(str(value).split()) for value in (right, got))
                    return {"verdict": "wrong", "case": words, "expected": expected, "got": came, "hint": hint}
    except NotImplementedError:
        return {"verdict": "missing"}
    except BaseException as error:  # also SystemExit: whatever a student's code does
        return {"verdict": "wrong", "error": in_words(error, FILE)}
    return {"verdict": "right"}


def add_missing(names: dict[str, Any]) -> None:
    """What a file does not bring of what the exercise gives; and where a class has the functions as methods, as the
    MinimalRLHF of a course does, these as functions."""
    for name in ("Episodes", "Settings", "features", "next_token"):
        names.setdefault(name, ours()[name])
    if not {*inspect.signature(ours()["Settings"]).parameters} <= {*inspect.signature(names["Settings"]).parameters}:
        names["Settings"] = ours()["Settings"]  # the file has another
    for owner in [value for value in names.values() if isinstance(value, type) and hasattr(value, "compute_kl")]:
        for function in FUNCTIONS:
            if hasattr(owner, function):
                names.setdefault(function, functools.partial(_method, names, owner, function))


def _method(names: dict[str, Any], owner: Any, function: str, *arguments: Any) -> Any:
    """Call a method as our function is called: what it does not ask for is in `self`, under any of the usual names."""
    values = dict(zip(inspect.signature(ours()[function]).parameters, arguments, strict=True))
    values |= vars(values["settings"])
    values |= {alias: values[name] for alias, name in NAMED.items() if name in values}
    values |= dict.fromkeys(("settings", "config", "cfg"), SimpleNamespace(**values))
    instance = owner.__new__(owner)

    def asked(method: Any) -> dict[str, Any]:
        return {name: values[name] for name in inspect.signature(method).parameters if name in values}

    def handed_on(other: str, *positional: Any, **named: Any) -> Any:
        bound = inspect.signature(getattr(owner, other)).bind(instance, *positional, **named).arguments
        attributes = vars(instance) | {NAMED.get(name, name): value for name, value in bound.items()}
        return names[other](*(attributes[name] for name in inspect.signature(ours()[other]).parameters))

    with contextlib.suppress(Exception):  # what it lacks then, a method says
        owner.__init__(instance, **asked(owner.__init__))
    vars(instance).update(values)
    for other in FUNCTIONS:
        if getattr(names.get(other), "func", None) is not _method:  # a stand-in, or written outside of the class
            setattr(instance, other, functools.partial(handed_on, other))
    return getattr(owner, function)(instance, **asked(getattr(owner, function)))


def main() -> None:
    """Answer until stdin closes."""
    module = sys.modules["exercise"] = ModuleType("exercise")  # where dataclasses look a name up
    names = vars(module)
    names["__file__"] = str(PROJECT_FILES / "examples" / "exercise.py")

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if "code" in request:
            return load(request["code"], names)
        if "function" in request:
            return verdict(names, request["function"])
        import torch

        torch.set_num_threads(1)  # for models as small as these
        return {"ready": bool(ours())}

    serve(answer)


if __name__ == "__main__":
    main()
