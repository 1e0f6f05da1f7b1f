"""The verdict on each of a student's five functions: right, wrong with the smallest case that shows it, or missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playground.rewards.python_runner import in_words
from playground.training.exercise import cases, looping, mistakes, writing
from playground.training.exercise.comparing import (
    Case,
    Finding,
    Names,
    NotWritten,
    StudentFailed,
    add_missing,
    all_shown,
    differing,
    shape_hint,
    shown_beside,
)

OF_CASES: dict[str, Callable[[Names], list[Case]]] = {
    "compute_kl": cases.kl_cases,
    "compute_advantages": cases.advantage_cases,
    "ppo_step": cases.step_cases,
}


def verdict(names: dict[str, Any], ours: Names, function: str, file: str) -> dict[str, Any]:
    """What is said of one function. `names`: what the student's file defines; `file`: what it was compiled as."""
    add_missing(names, ours)
    if not callable(names.get(function)):
        return {"verdict": "missing"}
    try:
        found = _finding(names, ours, function, file)
    except NotWritten:
        return {"verdict": "missing"}
    except StudentFailed as error:
        return {"verdict": "wrong", "error": in_words(error.__cause__ or error, file)}
    return {"verdict": "right"} if found is None else {"verdict": "wrong", **found._asdict()}


def _finding(names: dict[str, Any], ours: Names, function: str, file: str) -> Finding | None:
    if function == "generate_with_logprobs":
        return writing.check(names, ours)
    if function == "train":
        return looping.check(names, ours)
    every, results = OF_CASES[function](ours), list[dict[str, Any]]()
    failed: int | None = None
    for number, case in enumerate(every):
        try:
            got = case.run(names)
        except StudentFailed as error:
            got = {"error": in_words(error.__cause__ or error, file)}
        results.append(got)
        if failed is None and differing(case.run(ours), got):
            failed = number
    if failed is None:
        return None
    return _explained(ours, function, every, failed, results)


def _explained(ours: Names, function: str, every: list[Case], failed: int, results: list[dict[str, Any]]) -> Finding:
    case, got = every[failed], results[failed]
    given = all_shown(case.given)
    if "error" in got:
        return Finding(case.words, given, {}, {"error": got["error"]})
    right = case.run(ours)
    wrong = differing(right, got)
    hint = mistakes.hint(ours, function, every, failed, results) or shape_hint(right[wrong[0]], got[wrong[0]])
    pairs = {name: shown_beside(right[name], got[name]) for name in wrong}
    expected, theirs = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
    return Finding(case.words, given, expected, theirs, hint)
