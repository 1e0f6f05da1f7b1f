"""The functions of a student's file and the project's own on one case: what each gives, and where they differ.

`names` is what a file defines: its functions are looked up by name, and its `Episodes` and `Settings` are used, so that
what a student has added to these is there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor

ABSOLUTE, RELATIVE = 2e-4, 1e-3
MOST_NUMBERS = 40  # of a tensor that is shown; of a larger one its norm
FUNCTIONS = ("generate_with_logprobs", "compute_kl", "compute_advantages", "ppo_step", "train")
ALIASES = {  # what courses call the same thing
    "policy": ("model", "policy_model"),
    "reference": ("ref", "ref_model", "ref_policy", "reference_model"),
    "value_head": ("critic", "value_model"),
    "score": ("reward_model", "reward_fn"),
    "optimizer": ("opt",),
    "settings": ("config", "cfg"),
    "learning_rate": ("lr",),
    "num_epochs": ("ppo_epochs",),
    "max_new_tokens": ("max_response_length",),
    "kl_coef": ("beta",),
    "gae_lambda": ("lam",),
    "clip_range": ("eps",),
    "value_coef": ("vf_coef",),
}
Names = Mapping[str, Any]


class StudentFailed(Exception):
    """What was written raised an error."""


class NotWritten(Exception):
    """The body is missing, or returns nothing."""


class Case(NamedTuple):
    """One call of a function. `run` takes the names of a file and gives what its function gives, by name."""

    words: str
    given: dict[str, Any]
    run: Callable[[Names], dict[str, Any]]


class Finding(NamedTuple):
    """What is wrong: the case that shows it, and what may be the cause."""

    case: str
    given: dict[str, str]
    expected: dict[str, str]
    got: dict[str, str]
    hint: str = ""


Problem = tuple[str, Any, Any, str]  # what is wrong, what it should be, what it is, and a hint


def found_wrong(case: str, given: Mapping[str, Any], problem: Problem) -> Finding:
    """A problem of a case, as a student reads it."""
    what, expected, got, hint = problem
    return Finding(case, all_shown(given), all_shown({what: expected}), all_shown({what: got}), hint)


def called(names: Names, function: str, *arguments: Any) -> Any:
    """What a function gives. Raises: NotWritten; StudentFailed, from its own error."""
    try:
        found = names[function](*arguments)
    except NotImplementedError:
        raise NotWritten from None
    except BaseException as error:  # also SystemExit: whatever a student's code does
        raise StudentFailed from error
    if found is None:
        raise NotWritten
    return found


def add_missing(names: dict[str, Any], ours: Names) -> None:
    """What a file does not bring of what the exercise gives; and where a class has the functions as methods, as the
    MinimalRLHF of a course does, these as functions."""
    for name in ("Settings", "Episodes", "features", "next_token"):
        names.setdefault(name, ours[name])
    classes = [one for one in names.values() if isinstance(one, type)]
    for owner in (one for one in classes if sum(hasattr(one, function) for function in FUNCTIONS) > 2):
        for function in FUNCTIONS:
            if hasattr(owner, function) and function not in names:
                names[function] = functools.partial(_method, names, ours, owner, function)


def _method(names: Names, ours: Names, owner: Any, function: str, *arguments: Any) -> Any:
    """Call a method as our function is called: what it does not ask for is in `self`, under any of the usual names."""
    known = _with_aliases(dict(zip(inspect.signature(ours[function]).parameters, arguments, strict=True)))
    knobs = _with_aliases(vars(known["settings"]))
    known |= dict.fromkeys(("settings", *ALIASES["settings"]), SimpleNamespace(**knobs))
    one = owner.__new__(owner)
    with contextlib.suppress(Exception):  # what it lacks then, a method says
        owner.__init__(one, **_asked(owner.__init__, known)[0])
    vars(one).update(knobs | known)
    for other in FUNCTIONS:
        if getattr(names.get(other), "func", None) is not _method:  # recorded, or written outside of the class
            setattr(one, other, functools.partial(_hand_on, one, owner, ours, other, names.get(other)))
    given, unknown = _asked(getattr(owner, function), known)
    if unknown:
        with contextlib.suppress(Exception):
            if getattr(owner, function)(one, **given, **dict.fromkeys(unknown)) is None:
                return None  # a body that is not written
        raise TypeError(f"asks for {', '.join(unknown)}; it can ask for {', '.join(known)}, or find them in self")
    return getattr(owner, function)(one, **given)


def _hand_on(one: Any, owner: Any, ours: Names, function: str, target: Any, *arguments: Any, **named: Any) -> Any:
    """What a method is called with inside of another, to a function that is called as ours are."""
    given = inspect.signature(getattr(owner, function)).bind(one, *arguments, **named).arguments
    held, found = [*given.items(), *vars(one).items()], []  # what it is given goes before what it has
    for name in inspect.signature(ours[function]).parameters:
        fitting = [value for key, value in held if key in (name, *ALIASES.get(name, ()))]
        if not fitting:
            raise TypeError(f"self.{function} is neither given `{name}` nor finds it in self")
        found.append(fitting[0])
    return target(*found)


def _with_aliases(known: dict[str, Any]) -> dict[str, Any]:
    return known | {alias: value for name, value in known.items() for alias in ALIASES.get(name, ())}


def _asked(function: Any, known: Names) -> tuple[dict[str, Any], list[str]]:
    """Of the parameters after self, those that are known, and those that are not and must be."""
    asked = list(inspect.signature(function).parameters.values())[1:]
    needed = [one.name for one in asked if one.default is one.empty and one.kind in (0, 1, 3)]
    given = {one.name: known[one.name] for one in asked if one.name in known}
    return given, [name for name in needed if name not in known]


def settings(names: Names, ours: Names, **changes: Any) -> Any:
    """The project's defaults and these changes, as the file's own kind of settings."""
    every = dataclasses.asdict(ours["Settings"](**changes))
    try:
        return names["Settings"](**every)
    except (KeyError, TypeError):  # a file without one, or with another
        return ours["Settings"](**every)


def shown(value: Any) -> str:
    """A value as a student reads it."""
    if isinstance(value, Tensor):
        if value.numel() > MOST_NUMBERS:
            return f"{tuple(value.shape)} of norm {float(value.detach().float().norm()):.4g}"
        value = value.tolist()
    if isinstance(value, float):
        return f"{value + 0.0:.4g}" if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def shown_beside(expected: Any, got: Any) -> tuple[str, str]:
    """Two results as a student reads them; of large ones how far they go, and how much of that is as it should be."""
    if (
        not isinstance(expected, Tensor)
        or expected.numel() <= MOST_NUMBERS
        or getattr(got, "shape", None) != expected.shape
    ):
        return shown(expected), shown(got)
    length = expected.norm()
    along = float(got @ expected / length) if length > 0 else 0.0
    return f"length {float(length):.4g}", f"length {float(got.norm()):.4g}, of it in the right direction {along:.4g}"


def all_shown(values: Mapping[str, Any]) -> dict[str, str]:
    """Each of them."""
    return {name: shown(value) for name, value in values.items()}


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal up to rounding, of one shape."""
    try:
        first, second = (torch.as_tensor(value).detach().double() for value in (one, other))
    except (TypeError, ValueError, RuntimeError):
        return False
    return first.shape == second.shape and torch.allclose(first, second, RELATIVE, ABSOLUTE)


def differing(expected: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """The names of the results that are not as they should be."""
    return [name for name, value in expected.items() if not same(value, got.get(name))]


def shape_hint(expected: Any, got: Any) -> str:
    """What to say of a result that cannot even be compared."""
    if not isinstance(got, type(expected)):
        return f"A {type(expected).__name__} is asked for, and this is a {type(got).__name__}."
    if isinstance(expected, Tensor) and expected.shape != got.shape:
        return f"The shape is to be {tuple(expected.shape)}, and it is {tuple(got.shape)}."
    return ""
