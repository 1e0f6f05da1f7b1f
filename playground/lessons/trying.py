"""A lesson tried on runs that are there: what it would say of them, and what its author has to mend.

What holds of one run may be luck. So each condition is also held against the band in which runs of the preset end on
other seeds, where there is one: of the score, the KL and the included behaviours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from playground.lessons import facts, memory_facts
from playground.lessons.conditions import condition, holds
from playground.lessons.facts import Facts
from playground.lessons.records import Lesson, When
from playground.lessons.reveal import Reveal, all_facts, held, reveal
from playground.runs.folder.directory import RunDirectory
from playground.setup import expected
from playground.setup.expected import Band


class TriedRun(NamedTuple):
    """What a lesson says of a run. `held`: all options that hold of it. `unsure`: conditions of what is said that do
    not hold wherever in its band a run ends; `unknown`: those of which no band is known."""

    reveal: Reveal
    held: Sequence[int]
    unsure: Sequence[str]
    unknown: Sequence[str]
    mend: Sequence[str]


def recordings(lesson: Lesson) -> list[RunDirectory]:
    """The recordings of the runs of a lesson, up to the first that has none."""
    twins = itertools.takewhile(lambda twin: twin is not None, (run.twin for run in lesson.runs))
    return [RunDirectory.open(twin) for twin in twins if twin]


def tried(lesson: Lesson, runs: Sequence[RunDirectory]) -> list[TriedRun]:
    """Of a run for each of its runs, in their order. Raises: InvalidConfig."""
    return [_tried(lesson, index, runs) for index in range(len(runs))]


def bands(lesson: Lesson, index: int) -> dict[str, Band]:
    """The bands of the facts of a run of a lesson, those of before training and of the first run included."""
    earlier = _bands_of(lesson, 0) if index else {}
    return {**_bands_of(lesson, index), **{f"{facts.FIRST}{name}": band for name, band in earlier.items()}}


def against(when: Mapping[str, str], bands_known: Mapping[str, Band]) -> tuple[list[str], list[str]]:
    """The conditions that do not hold over the whole band, with it, and those whose fact has none."""
    unsure: list[str] = []
    unknown: list[str] = []
    for name, text in when.items():
        band = bands_known.get(name)
        if band is None:
            unknown.append(f"{name} {text}")
        elif not condition(text).holds_over(band):
            unsure.append(f"{name} {text} (its band: {band.low:g} to {band.high:g})")
    return unsure, unknown


def whens(lesson: Lesson, index: int) -> list[When]:
    """The conditions that a lesson has on a run: those of the options on the first, those of its sentences."""
    options = lesson.predict.options if index == 0 else ()
    sentences = (sentence for sentence in lesson.reveal if sentence.run == index + 1)
    return [*(option.when for option in options), *(sentence.when for sentence in sentences)]


def _bands_of(lesson: Lesson, index: int) -> dict[str, Band]:
    run = lesson.runs[min(index, len(lesson.runs) - 1)]
    run_bands = {} if run.set else expected.bands(run.preset)
    before = {
        f"{name}{facts.BEFORE}": Band(band.before_low, band.before_high, band.seeds)
        for name, band in run_bands.items()
        if band.before_low is not None and band.before_high is not None
    }
    memory = memory_facts.of_settings(lesson.config(index))  # the same on every seed
    return {**run_bands, **before, **{name: Band(value, value, 1) for name, (value, _) in memory.items()}}


def _tried(lesson: Lesson, index: int, runs: Sequence[RunDirectory]) -> TriedRun:
    run_facts = all_facts(runs[index], runs[0] if index else None)
    values, known_bands = facts.values(run_facts), bands(lesson, index)
    unsure: dict[str, None] = {}  # each once, in their order
    unknown: dict[str, None] = {}
    for when in whens(lesson, index):
        if holds(when, values):
            not_over_band, without_band = against(when, known_bands)
            unsure |= dict.fromkeys(not_over_band)
            unknown |= dict.fromkeys(without_band)
    outcome = reveal(lesson, index, runs[index], runs[0])
    true = held(lesson.predict, values) if index == 0 else []
    return TriedRun(outcome, true, list(unsure), list(unknown), list(_mend(lesson, index, outcome, true, run_facts)))


def _mend(lesson: Lesson, index: int, outcome: Reveal, true: Sequence[int], run_facts: Facts) -> Iterator[str]:
    """What is wrong with a lesson, by a run of it."""
    predict, number = lesson.predict, index + 1
    if not outcome.ready:
        yield f"Run {number} has not ended."
        return
    if index == 0:
        yield from _of_prediction(lesson, outcome, true)
        if lesson.break_it and holds(lesson.break_it.when, facts.values(run_facts)):
            yield "break_it: the first run reaches it already, so there is nothing to do."
    missing = [f"`{name}`" for name in _names(lesson, index) if name not in run_facts]
    if missing:
        yield f"Run {number} has no {', '.join(missing)}."
    if not outcome.said:
        yield f"reveal: nothing is said after run {number}: no sentence with `run: {number}` holds of it."
    if index == len(lesson.runs) - 1 and len(outcome.explained) < len(lesson.explain):
        yield "explain: a part of it names a fact that is not known of this run."
    if predict.kind == "choice" and index == 0 and not any(option.belief for option in predict.options):
        yield "predict.options: say with `belief` what is behind a wrong option, and why it fails here."


def _of_prediction(lesson: Lesson, outcome: Reveal, true: Sequence[int]) -> Iterator[str]:
    predict = lesson.predict
    if predict.kind == "choice" and len(true) != 1:
        options = "; ".join(predict.options[number].say for number in true) or "none"
        yield f"predict.options: exactly one has to come true ({options})."
    if predict.kind == "number" and outcome.value is None:
        yield f"predict.of: the run has no `{predict.of}`, which is asked for."
    elif predict.kind == "number" and not predict.low <= (outcome.value or 0.0) <= predict.high:
        yield f"predict: {outcome.words} is not between {predict.low:g} and {predict.high:g}."
    if predict.kind == "curve" and outcome.shape not in predict.shapes:
        yield f"predict.shapes: the curve {outcome.shape or 'has no shape'}, which is none of them."


def _names(lesson: Lesson, index: int) -> list[str]:
    """The facts that the conditions of a lesson need of a run."""
    task = [lesson.break_it.when] if lesson.break_it and index == 0 else []
    names = dict.fromkeys(name for when in (*whens(lesson, index), *task) for name in when)
    return [name for name in names if index or not name.startswith(facts.FIRST)]
