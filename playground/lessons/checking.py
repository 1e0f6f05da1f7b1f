"""What is wrong with a lesson beyond the shape of its file: conditions, facts, placeholders, presets and knobs that are
not there, and what its kind of prediction needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from playground.config import RunConfig, knobs
from playground.errors import InvalidConfig, Problem
from playground.lessons import cards, facts
from playground.lessons.conditions import condition
from playground.lessons.records import AnswerCard, Lesson, Prediction, Task
from playground.setup import catalog

PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
MOST_WORDS = 70  # of the situation


def problems(lesson: Lesson) -> list[Problem]:
    """All of them."""
    configs, all_problems = _configs(lesson)
    all_problems += _texts(lesson)
    all_problems += _form_of(lesson.predict)
    if None in configs:  # what a run can say is not known
        return all_problems
    return [*all_problems, *_Names(lesson, [config for config in configs if config]).problems()]


def _configs(lesson: Lesson) -> tuple[list[RunConfig | None], list[Problem]]:
    shipped = catalog.every_preset_name()
    configs: list[RunConfig | None] = []
    config_problems = []
    for number, run in enumerate(lesson.runs):
        configs.append(None)
        if run.preset not in shipped:
            config_problems.append(Problem(f"runs.{number}.preset", catalog.unknown("preset", run.preset, shipped)))
            continue
        try:
            configs[-1] = run.config()
        except InvalidConfig as error:
            config_problems += [
                Problem(f"runs.{number}.set.{problem.field}".rstrip("."), problem.message) for problem in error.problems
            ]
    return configs, config_problems


def _texts(lesson: Lesson) -> Iterator[Problem]:
    if (words := len(lesson.situation.split())) > MOST_WORDS:
        yield Problem("situation", f"has {words} words; at most {MOST_WORDS} are read before a run.")
    if double := next((part for part in lesson.look if lesson.look.count(part) > 1), None):
        yield Problem("look", f"`{double}` is there twice.")
    if lesson.figures and "curves" not in lesson.look:
        yield Problem("figures", "are shown where `look` has `curves`. Add it there, or leave them out.")
    for number in range(1, len(lesson.runs) + 1):
        if not any(sentence.run == number for sentence in lesson.reveal):
            yield Problem("reveal", f"Nothing is said after run {number}. Add a sentence with `run: {number}`.")
    if any(sentence.run > len(lesson.runs) for sentence in lesson.reveal):
        yield Problem("reveal", "A sentence has `run: 2`, but there is one run.")


def _form_of(predict: Prediction) -> Iterator[Problem]:
    """What the kind of prediction needs, and what it has no use for."""
    needs = {"choice": ("options",), "number": ("of",), "curve": ("of", "shapes")}
    uses = {"number": ("of", "low", "high", "step", "unit", "near")}
    fields = predict.model_fields_set - {"ask", "kind"}
    for field in needs[predict.kind]:
        if not getattr(predict, field):
            yield Problem(f"predict.{field}", f"This is missing: a {predict.kind} needs it.")
    for field in sorted(fields - {*uses.get(predict.kind, needs[predict.kind])}):
        yield Problem(f"predict.{field}", f"A {predict.kind} has no use for it. Leave it out.")
    if predict.kind == "choice" and len(predict.options) == 1:
        yield Problem("predict.options", "must be two to four.")
    if predict.kind == "curve" and predict.shapes and len({*predict.shapes}) != 3:
        yield Problem("predict.shapes", "must be three different ones.")
    if predict.kind == "number" and predict.low >= predict.high:
        yield Problem("predict.high", f"must be more than `low` ({predict.low:g}).")


class _Names:
    """Names of facts, where a lesson has them: `of` are those of each run."""

    def __init__(self, lesson: Lesson, configs: Sequence[RunConfig]) -> None:
        self.lesson, self.configs = lesson, configs
        self.of = [facts.known(config) for config in configs]

    def problems(self) -> Iterator[Problem]:
        """All that is wrong with them."""
        lesson, last = self.lesson, len(self.configs) - 1
        for number, option in enumerate(lesson.predict.options):
            yield from self.when(f"predict.options.{number}.when", option.when, 0)
        yield from self.predicted(lesson.predict)
        for number, sentence in enumerate(lesson.reveal):
            run = min(sentence.run - 1, last)
            yield from self.when(f"reveal.{number}.when", sentence.when, run)
            yield from self.words(f"reveal.{number}.say", sentence.say, run)
        for number, text in enumerate(lesson.explain):
            yield from self.words(f"explain.{number}", text, last)
        for number, name in enumerate(lesson.figures):
            yield from self.named(f"figures.{number}", name, facts.charts(self.configs[0]), 0)
        if lesson.card:
            yield from self.card(lesson.card, last)
        if lesson.break_it:
            yield from self.when("break_it.when", lesson.break_it.when, 0, second=True)
            wrong = [*self.knobs(lesson.break_it.knobs)]
            yield from wrong or self.solution(lesson.break_it)

    def available(self, run: int, *, second: bool = False) -> set[str]:
        """The facts that can be asked of a run; behind the first, also of that."""
        names = {*self.of[run]}
        if run or second:
            names |= {f"{facts.FIRST}{name}" for name in self.of[0]}
        return names

    def when(self, field: str, when: Mapping[str, str], run: int, *, second: bool = False) -> Iterator[Problem]:
        for name, text in when.items():
            yield from self.named(f"{field}.{name}", name, self.available(run, second=second), run)
            try:
                bounds = condition(text)
            except ValueError as error:
                yield Problem(f"{field}.{name}", str(error))
                continue
            of = self.configs[0 if name.startswith(facts.FIRST) else run]
            ends = [at for at in (bounds.low, bounds.high) if abs(at) != float("inf")]
            if facts.is_share(name.removeprefix(facts.FIRST), of) and not all(0 <= at <= 1 for at in ends):
                yield Problem(f"{field}.{name}", f"is a share, which goes from 0 to 1 (got {text!r}).")

    def predicted(self, predict: Prediction) -> Iterator[Problem]:
        """The fact of a number, the figure of a curve."""
        if predict.of and predict.kind == "number":
            yield from self.named("predict.of", predict.of, self.of[0], 0)
        elif predict.of and predict.kind == "curve":
            yield from self.named("predict.of", predict.of, facts.curves(self.configs[0]), 0)

    def words(self, field: str, text: str, run: int) -> Iterator[Problem]:
        """The placeholders of a text."""
        names = self.available(run) | {f"{facts.SHAPE}{name}" for name in facts.curves(self.configs[run])}
        if run:
            names |= {f"{facts.FIRST}{facts.SHAPE}{name}" for name in facts.curves(self.configs[0])}
        for name in PLACEHOLDER.findall(text):
            if not name.startswith(facts.BAND):
                yield from self.named(field, name, names, run)
            elif not facts.band_in_words(name):
                yield Problem(field, f"`{name[:60]}` was not measured. Write `{facts.BAND}PRESET.FIGURE`.")
        if {*"{}"} & {*PLACEHOLDER.sub("", text)}:
            yield Problem(field, "has a brace without its other one.")

    def card(self, card: AnswerCard, run: int) -> Iterator[Problem]:
        """The words of a card, and its formulas."""
        for number, step in enumerate(card.steps):
            yield from self.words(f"card.steps.{number}.say", step.say, run)
            for field, tex in ((f"card.steps.{number}.{name}", getattr(step, name)) for name in ("math", "numbers")):
                try:
                    asked = cards.names(tex)
                    cards.with_facts(tex, dict.fromkeys(asked, 1.5))
                except cards.FormulaError as error:
                    yield Problem(field, f"The formula {error}")
                    continue
                for name in asked:
                    yield from self.named(field, name, self.available(run), run)

    def named(self, field: str, name: str, names: Iterable[str], run: int) -> Iterator[Problem]:
        """A fact that a run has to have."""
        if name in {*names}:
            return
        own = name.removeprefix(facts.FIRST)
        if name.startswith(facts.FIRST) and not run and own in self.of[0]:
            yield Problem(field, f"`{name[:60]}` is for the second run and the task to break it: write `{own[:60]}`.")
            return
        plain = sorted(name for name in names if not name.startswith((facts.FIRST, facts.LAMP, facts.SHAPE)))
        hint = catalog.nearest(name, names, f"It has: {', '.join(plain)}.")
        yield Problem(field, f"A run of {self.lesson.runs[run].preset} has no fact `{name[:60]}`. {hint}")

    def knobs(self, names: Sequence[str]) -> Iterator[Problem]:
        """Those of a task, which are numbers with a slider."""
        offered: dict[str, Any] = {field: knob for field, knob in knobs().items() if knob["slider"]}
        for number, name in enumerate(names):
            if name not in offered:
                yield Problem(f"break_it.knobs.{number}", catalog.unknown("slider", name, offered))

    def solution(self, task: Task) -> Iterator[Problem]:
        """The values that are said to reach a task."""
        for name in task.solution:
            if name not in task.knobs:
                yield Problem(f"break_it.solution.{name}", catalog.unknown("knob", name, task.knobs))
                return
        try:
            self.lesson.solved()
        except InvalidConfig as error:
            yield from (
                Problem(f"break_it.solution.{problem.field}".rstrip("."), problem.message) for problem in error.problems
            )
