"""What a run says of a lesson: which option has come true, the number or the shape that was asked for, the sentences
that hold, and whether a task was reached."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playground.analysis import meters
from playground.analysis.before_after import read_once
from playground.analysis.run_report import RunReport
from playground.config import RunConfig
from playground.config.behaviour_settings import BANDED
from playground.lessons import cards, facts, memory_facts, shapes
from playground.lessons.cards import WorkedCard, WorkedStep
from playground.lessons.checking import PLACEHOLDER
from playground.lessons.conditions import Condition, condition, holds
from playground.lessons.facts import Facts, RunFact
from playground.lessons.records import AnswerCard, Lesson, Prediction
from playground.runs.folder.directory import RunDirectory
from playground.setup import expected

FIRST_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?! of )")
MOST_DIGITS = 6
MEMORY = "memory"
ON_TEST_TEXTS = ("score", "kl")  # which the curves show of other texts


@dataclass(frozen=True)
class Predicted:
    """What has become of what was asked: the option that holds (None: none does), and what is behind each of them, for
    those who chose it and were wrong; a number, as it was asked, and in words; a shape and its curve, (update, value).
    """

    held: int | None = None
    beliefs: Sequence[str] = ()
    value: float | None = None
    words: str = ""
    shape: str = ""
    curve: Sequence[tuple[int, float]] = ()


@dataclass(frozen=True)
class RoleMemory:
    """A part of the machine: what it is called, its share of the memory, and how much that is."""

    name: str
    share: float
    words: str


@dataclass(frozen=True)
class Reveal(Predicted):
    """What a run says of a lesson; nothing before it has ended (`ready`). `said`: the sentences that hold of it;
    `explained`: why, and `card`, what is worked out with its numbers, after the last run only; `reached`: whether the
    task to break it was; `outside`: where it ended elsewhere than runs of its preset do on other seeds; `memory`: of
    each role, where the lesson looks at it."""

    ready: bool = False
    said: Sequence[str] = ()
    explained: Sequence[str] = ()
    card: WorkedCard | None = None
    reached: bool | None = None
    outside: Sequence[str] = ()
    memory: Sequence[RoleMemory] = ()


def reveal(lesson: Lesson, index: int, run: RunDirectory, first: RunDirectory | None = None) -> Reveal:
    """Of a run in the place of `index`; as many as there are runs is the task to break it. `first`: the run in the
    first place, where this is a later one. Raises: InvalidConfig."""
    if not run.status().ended:
        return Reveal()
    run_facts = all_facts(run, first if index else None)
    task = lesson.break_it
    if index >= len(lesson.runs):
        if task is None:
            return Reveal(ready=True)
        reached = holds(task.when, facts.values(run_facts))
        return Reveal(ready=True, said=_asked_for(task.when, run_facts, run.config()), reached=reached)
    is_last = index == len(lesson.runs) - 1
    prediction = Predicted()
    if index == 0:
        prediction = predicted(lesson.predict, run, run_facts)
    return Reveal(
        **vars(prediction),
        ready=True,
        said=sentences(lesson, index, run_facts),
        explained=_filled(lesson.explain, run_facts) if is_last else (),
        card=_worked(lesson.card, run_facts) if is_last and lesson.card else None,
        outside=outside(run),
        memory=_roles(run_facts) if MEMORY in lesson.look else (),
    )


def _roles(run_facts: Facts) -> list[RoleMemory]:
    """The roles that a run has, and what they hold."""
    roles = []
    for role, words in memory_facts.ROLES.items():
        fact = run_facts.get(f"{MEMORY}.{role}")
        if fact and fact.value is not None:
            roles.append(RoleMemory(words, fact.value, fact.words))
    return roles


def all_facts(run: RunDirectory, first: RunDirectory | None = None) -> dict[str, RunFact]:
    """Those of a run, and behind `first.` those of the run before it."""
    earlier = facts.of_run(first) if first else {}
    return {**facts.of_run(run), **{f"{facts.FIRST}{name}": fact for name, fact in earlier.items()}}


def predicted(predict: Prediction, run: RunDirectory, run_facts: Facts) -> Predicted:
    """What has become of what was asked."""
    if predict.kind == "choice":
        true = held(predict, facts.values(run_facts))
        if not true:
            return Predicted()
        return Predicted(true[0], [option.belief for option in predict.options])
    if predict.kind == "curve":
        curve = facts.curve(run, predict.of)
        return Predicted(shape=shapes.shape(predict.of, [value for _, value in curve], predict.shapes), curve=curve)
    fact = run_facts.get(predict.of)
    if fact is None or fact.value is None:
        return Predicted()
    if not facts.is_share(predict.of, run.config()):
        return Predicted(value=fact.value, words=fact.words)
    words = f"{100 * fact.value:.0f} %"
    if fact.words != words:
        words += f" ({fact.words})"
    return Predicted(value=100 * fact.value, words=words)


def held(predict: Prediction, values: Mapping[str, float | None]) -> list[int]:
    """The options that have come true."""
    return [number for number, option in enumerate(predict.options) if holds(option.when, values)]


def sentences(lesson: Lesson, index: int, run_facts: Facts) -> list[str]:
    """Those that hold after a run."""
    values = facts.values(run_facts)
    return _filled(
        [sentence.say for sentence in lesson.reveal if sentence.run == index + 1 and holds(sentence.when, values)],
        run_facts,
    )


@read_once("config_path", "samples_path", "events_path", size=256)
def outside(run: RunDirectory) -> list[str]:
    """Where a run of a preset ended elsewhere than on other seeds, in words. Raises: InvalidConfig."""
    report = RunReport.of(run)
    if not report.bands:
        return []
    found, config = facts.of_run(run), report.config
    off = [name for name, verdict in report.verdicts.items() if verdict not in meters.USUAL and name in found]
    return [
        f"{facts.label(name, config)}: {in_digits(found[name], report.bands[name])}; on other seeds "
        f"{expected.band_in_words(name, report.bands[name], report.unit)}"
        for name in off
        if name in (*BANDED, "score", "kl")
    ]


def _worked(card: AnswerCard, run_facts: Facts) -> WorkedCard:
    """A card with the figures of a run; a step whose words name what is not known of it is left out."""
    values = facts.values(run_facts)
    steps = [
        WorkedStep(say, cards.with_facts(step.math, values), cards.with_facts(step.numbers, values))
        for step in card.steps
        for say in _filled([step.say], run_facts)
    ]
    return WorkedCard(card.title, tuple(steps))


def in_digits(fact: RunFact, range_: Condition | expected.Band) -> str:
    """The words of a figure, with so many digits that they do not read as inside a range where it lies outside, or the
    other way round."""
    figure, value = FIRST_NUMBER.match(fact.words), fact.value
    if figure is None or value is None:
        return fact.words
    bounds = range_ if isinstance(range_, Condition) else Condition(range_.low, range_.high)
    scale = 100.0 if "%" in fact.words else 1.0
    number = figure[0]
    for digits in range(2, MOST_DIGITS + 1):
        near = float(number.replace(",", "")) / scale
        in_another_unit = abs(near - value) > abs(value) / 2
        if in_another_unit or bounds.holds(near) == bounds.holds(value):
            break
        number = f"{scale * value:{'+' if number[0] == '+' else ''}.{digits}g}"
    return number + fact.words[figure.end() :]


def _asked_for(when: Mapping[str, str], run_facts: Facts, config: RunConfig) -> list[str]:
    """What a task asks for, and what there is of it: "✓ is kind: 49 of 64 (asked for: more than 66 %)"."""
    return [
        f"{'✓' if bounds.holds(run_facts[name].value) else '✗'} {facts.label(name, config)}"
        f"{' on the fixed prompts' if name in ON_TEST_TEXTS else ''}: {in_digits(run_facts[name], bounds)} "
        f"(asked for: {bounds.in_words(percent=facts.is_share(name, config))})"
        for name, text in when.items()
        if name in run_facts
        for bounds in (condition(text),)
    ]


def _filled(texts: Sequence[str], run_facts: Facts) -> list[str]:
    """With figures in the place of names; a text that names what is not known of the run is left out."""
    return [
        PLACEHOLDER.sub(lambda name: _words(name[1], run_facts), text)
        for text in texts
        if all(_words(name, run_facts) for name in PLACEHOLDER.findall(text))
    ]


def _words(name: str, run_facts: Facts) -> str:
    if name.startswith(facts.BAND):
        return facts.band_in_words(name)
    if name in run_facts:
        return run_facts[name].words
    return ""
