"""docs/lessons.md: what comes of each lesson, by the recordings of its runs and by what was measured on three seeds.

Of a run that is a preset as it is nothing is trained: `make results` has measured it on three seeds, on prompts that it
never saw, and one of these runs is recorded. Of other runs bench/lessons.py keeps the figures. Knows figures only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from bench import results_page  # noqa: E402
from playground.config.behaviour_settings import READY  # noqa: E402
from playground.lessons import facts, trying  # noqa: E402
from playground.lessons.conditions import holds  # noqa: E402
from playground.lessons.loading import Course  # noqa: E402
from playground.lessons.records import Lesson, Task  # noqa: E402
from playground.lessons.reveal import held  # noqa: E402
from playground.setup.expected import Band, band_in_words  # noqa: E402

FIGURES = PROJECT / "bench" / "results" / "lessons.json"
PAGE = PROJECT / "docs" / "lessons.md"
HEADER = ("", "lesson", "question", "runs", "came true", "on seeds", "sentences", "bands, and what they say")
TASK_HEADER = ("", "task", "asked", "a solution", "reached on seeds", "what was asked, seed by seed")
OF_SETTINGS = ("updates", "beta")  # the same on every seed
Values = Mapping[str, float | None]
Seeds = Mapping[int, Values]  # seed -> facts


class Measured(NamedTuple):
    """What is known of other seeds: rows of `make results`, and of `make lessons` for runs that are no preset."""

    presets: Sequence[Mapping[str, Any]] = ()
    trained: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def read(cls) -> Measured:
        """As it is on disk."""
        files = (results_page.PRESETS, FIGURES)
        return cls(*(results_page.read(path).get("runs", []) for path in files))

    def seeds(self, lesson: Lesson, index: int) -> dict[int, Values]:
        """The facts of a run of a lesson on each seed, with those of its first run behind `first.`"""
        run = lesson.runs[index]
        if run.set:
            own = [row for row in self.trained if (row["lesson"], row["index"]) == (lesson.name, index)]
            found: dict[int, Values] = {row["seed"]: row["facts"] for row in own}
        else:
            found = {row["seed"]: of_row(row) for row in self.presets if row["preset"] == run.preset}
        if not index:
            return found
        earlier = self.seeds(lesson, 0)
        return {
            seed: {**values, **{f"{facts.FIRST}{name}": value for name, value in earlier.get(seed, {}).items()}}
            for seed, values in found.items()
        }


def of_row(row: Mapping[str, Any]) -> Values:
    """The facts in a row of `make results`; that of different word pairs is of another number of texts, and none."""
    before, after = row["before"], row["after"]
    sides = {"": after, facts.BEFORE: before}
    shares = {f"{name}{end}": side.get(name) for end, side in sides.items() for name in READY}
    lengths = {f"length{end}": side["tokens"] for end, side in sides.items()}
    known = {name: value for name, value in {**shares, **lengths}.items() if value is not None}
    return {**known, "score": after["score"] - before["score"], "kl": after["kl"]}


def page(courses: Iterable[Course], measured: Measured) -> str:
    """The whole page."""
    parts = [HEAD]
    for course in courses:
        lines = [f"## {course.title}", "", course.about, "", *_table(HEADER)]
        lines += ["| " + " | ".join(_cells(lesson, measured)) + " |" for lesson in course.lessons]
        tasks = [_task(lesson, lesson.break_it, measured) for lesson in course.lessons if lesson.break_it]
        if tasks:
            lines += ["", *_table(TASK_HEADER), *("| " + " | ".join(map(_plain, cells)) + " |" for cells in tasks)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _table(header: Sequence[str]) -> list[str]:
    return ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]


def _cells(lesson: Lesson, measured: Measured) -> list[str]:
    tried = trying.tried(lesson, trying.recordings(lesson))
    came_true, on_seeds = _prediction(lesson, tried, measured)
    runs = [f"{run.preset}{_settings(run.set)}" for run in lesson.runs]
    name = f"[{lesson.title}](../lessons/{lesson.name}.yaml)"
    cells = [str(lesson.number), name, lesson.question, ", ".join(runs), came_true, on_seeds]
    return [_plain(cell) for cell in (*cells, _sentences(lesson, measured), _bands(lesson, tried))]


def _task(lesson: Lesson, task: Task, measured: Measured) -> tuple[str, ...]:
    """A task, and on how many seeds its solution reached it, with what is asked on each."""
    index = len(lesson.runs)
    rows = [row for row in measured.trained if (row["lesson"], row["index"]) == (lesson.name, index)]
    seeds = {row["seed"]: row["facts"] for row in rows}
    asked = [name for name in task.when if name not in OF_SETTINGS]
    found = [f"{name} {', '.join(f'{values[name]:.3g}' for values in seeds.values())}" for name in asked]
    solution = ", ".join(f"{field} {value:g}" for field, value in task.solution.items())
    when = ", ".join(f"{name} {text}" for name, text in task.when.items())
    reached = _count(task.when, seeds) if seeds else "not measured"
    return (str(lesson.number), task.ask, when, solution, reached, "; ".join(found) if seeds else "")


def _settings(changes: Mapping[str, Any]) -> str:
    return f" with {', '.join(f'{field} {json.dumps(value)}' for field, value in changes.items())}" if changes else ""


def _prediction(lesson: Lesson, tried: Sequence[trying.TriedRun], measured: Measured) -> tuple[str, str]:
    """What came true of the first run, by its recording (else on the first seed), and on how many seeds."""
    predict, seeds = lesson.predict, measured.seeds(lesson, 0)
    shown = tried[0].reveal.predicted if tried else None
    if predict.kind == "curve":
        drawn = [row.get("shape", "") for row in measured.trained if row["lesson"] == lesson.name and not row["index"]]
        shape = shown.shape if shown else next(iter(drawn), "")
        return shape, f"{drawn.count(shape)} of {len(drawn)}" if drawn else RECORDED
    if predict.kind == "number":
        return shown.words if shown else "", _range([values.get(predict.of) for values in seeds.values()], lesson)
    first: Sequence[int] = tried[0].held if tried else held(predict, next(iter(seeds.values()), {}))
    if not first:
        return "none", ""
    option = predict.options[first[0]]
    return option.say, _count(option.when, seeds)


def _count(when: Mapping[str, str], seeds: Seeds) -> str:
    """On how many of the seeds it holds, where all of its facts are known of them."""
    if not seeds or not all(name in values for values in seeds.values() for name in when):
        return RECORDED
    return f"{sum(holds(when, values) for values in seeds.values())} of {len(seeds)}"


def _range(values: Sequence[float | None], lesson: Lesson) -> str:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return RECORDED
    band, config = Band(min(known), max(known), len(known)), lesson.config(0)
    return f"{band_in_words(lesson.predict.of, band, config.score_unit)} on {len(known)}"


def _sentences(lesson: Lesson, measured: Measured) -> str:
    """Of each sentence on how many seeds it is said."""
    counts = []
    for sentence in lesson.reveal:
        said = _count(sentence.when, measured.seeds(lesson, sentence.run - 1))
        counts.append(f"{sentence.run}: {said if sentence.when else 'always'}")
    return "; ".join(counts)


def _bands(lesson: Lesson, tried: Sequence[trying.TriedRun]) -> str:
    """The bands of what is asked, and whether all that came true holds wherever in them a run ends."""
    unit, found = lesson.config(0).score_unit, []
    for index in range(len(lesson.runs)):
        names = dict.fromkeys(name for when in trying.whens(lesson, index) for name in when)
        bands = trying.bands(lesson, index)
        words = [f"{name} {band_in_words(name, bands[name], unit)}" for name in names if name in bands.keys() & BANDED]
        found += [f"run {index + 1}: {', '.join(words)}"] if words else []
    unsure = [one for run in tried for one in run.unsure]
    unknown = [one for run in tried for one in run.unknown]
    verdict = (
        f"not over the whole band: {', '.join(unsure)}" if unsure else "holds over the whole band" if found else ""
    )
    beside = f"by the recording only: {', '.join(unknown)}" if unknown else ""
    return ". ".join(filter(None, ["; ".join(found), verdict, beside]))


def _plain(text: str) -> str:
    """Text in a cell of a table."""
    return text.replace("|", "/").replace("<", "&lt;").replace("\n", " ")


RECORDED = "recording"
BANDED = {*READY, "score", "kl"}
HEAD = """# What the lessons come to

Written by `make lessons`; `python -m playground lessons check FILE` says the same of one file, with all its sentences.

What *came true* is of the recording of the lesson's first run (seed 0, the fixed prompts of the run). *On seeds* says
how often it came true on seeds 0, 1 and 2, as `make results` measured them on 400 prompts that no run saw
([results.md](results.md)); of a number, from where to where it went. *Recording* stands where a fact was not measured
there: it is known of the recording alone. *Sentences* says after which run (1 or 2) each sentence is said, and on how
many seeds; one for runs that end as they should not is said on none. *Bands*: where 19 of 20 further runs should end,
and whether each condition that came true holds wherever in its band a run ends.

Below each course: its tasks, with a solution for each, trained on seed 0, and on seeds 1 and 2 where it says so. What
is asked was counted on the fixed prompts of each run, as on the page.

What two course chapters say, claim by claim, and the lesson for it: [chapters.md](chapters.md)."""
