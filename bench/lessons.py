"""docs/lessons.md: what comes of each lesson, by the recordings of its runs and by what was measured on three seeds:
`make lessons`.

Of a run that is a preset as it is nothing is trained: `make results` has measured it on prompts that it never saw, and
one of these runs is recorded. Any other run of a lesson, and the solution of each task, is trained, and its facts are
kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bench import tables
from bench.experiments import Figures, Row, options, run_of
from playground.config import RunConfig
from playground.config.behaviour_settings import BANDED
from playground.lessons import facts, trying
from playground.lessons.conditions import holds
from playground.lessons.loading import Course, Lessons
from playground.lessons.records import Lesson, Task
from playground.lessons.reveal import held, reveal
from playground.runs.folder.directory import RunDirectory
from playground.setup.expected import Band, band_in_words

RECORDED = "recording"  # stands where a fact was not measured on seeds
HEAD = ("", "lesson", "came true", "on seeds", "by the recording only")
Values = Mapping[str, float | None]
Seeds = Mapping[int, Values]  # seed -> facts


class Wish(NamedTuple):
    """A run that is no preset as it is, or that reaches a task; `index` is then one more than the last run's."""

    lesson: Lesson
    index: int
    config: RunConfig

    @property
    def place(self) -> Row:
        """By which its row is kept."""
        return {"lesson": self.lesson.name, "index": self.index}


def main() -> None:
    """Train what is not measured yet, and write the page."""
    arguments = options(__doc__).parse_args()
    courses, figures = Lessons().courses, Figures("lessons")
    lessons = [lesson for course in courses for lesson in course.lessons]
    rows = []
    for wish in wishes(lessons, arguments.seeds):
        row = None if arguments.again else figures.kept(wish.config, **wish.place)
        if row is None:
            run = run_of(wish.config, arguments.outputs, arguments.again)
            row = figures.add(wish.config, of_run(wish.lesson, wish.index, run), **wish.place)
        rows.append(row)
    figures.write(runs=sorted(rows, key=lambda row: (row["lesson"], row["index"], row["seed"], row["made_of"])))
    tables.write("lessons", page(courses, Measured.read()))


def wishes(lessons: Sequence[Lesson], seeds: Sequence[int]) -> Iterator[Wish]:
    """What has to be trained, on each seed."""
    for seed in seeds:
        for lesson in lessons:
            configs = {index: run.config() for index, run in enumerate(lesson.runs) if run.set}
            if solved := lesson.solved():
                configs[len(lesson.runs)] = solved
            for index, config in configs.items():
                yield Wish(lesson, index, config.model_copy(update={"seed": seed}))


def of_run(lesson: Lesson, index: int, run: RunDirectory) -> Row:
    """What is kept of a run."""
    values = facts.values(facts.of_run(run))
    rounded = {name: round(value, 4) for name, value in values.items() if value is not None}
    return {"facts": rounded, "shape": reveal(lesson, index, run).shape}


class Measured(NamedTuple):
    """What is known of other seeds: rows of `make results`, and of `make lessons` for runs that are no preset."""

    presets: Sequence[Row] = ()
    trained: Sequence[Row] = ()

    @classmethod
    def read(cls) -> Measured:
        """As it is on disk."""
        return cls(Figures("presets").rows, Figures("lessons").rows)

    def rows(self, lesson: Lesson, index: int) -> list[Row]:
        """Those trained for a run of a lesson."""
        return [row for row in self.trained if (row["lesson"], row["index"]) == (lesson.name, index)]

    def seeds(self, lesson: Lesson, index: int) -> Seeds:
        """The facts of a run of a lesson on each seed, with those of its first run behind `first.`"""
        run = lesson.runs[index]
        if run.set:
            own: Seeds = {row["seed"]: row["facts"] for row in self.rows(lesson, index)}
        else:
            own = {row["seed"]: of_preset(row) for row in self.presets if row["preset"] == run.preset}
        if not index:
            return own
        earlier = self.seeds(lesson, 0)
        both = {}
        for seed, values in own.items():
            first = {f"{facts.FIRST}{name}": value for name, value in earlier.get(seed, {}).items()}
            both[seed] = {**values, **first}
        return both


def of_preset(row: Row) -> Values:
    """The facts in a row of `make results`; that of different word pairs is of another number of texts, and none."""
    values: dict[str, Any] = {}
    for end, side in (("", row["after"]), (facts.BEFORE, row["before"])):
        values |= {f"{name}{end}": side.get(name) for name in BANDED}
        values[f"length{end}"] = side["tokens"]
    values |= row.get("checked", {})
    measured = {name: value for name, value in values.items() if value is not None}
    return {**measured, "score": row["after"]["score"] - row["before"]["score"], "kl": row["after"]["kl"]}


# -- the page ---------------------------------------------------------------------------------------------------------


def page(courses: Iterable[Course], measured: Measured) -> str:
    """docs/lessons.md."""
    return tables.page("lessons", courses="\n\n".join(of_course(course, measured) for course in courses))


def of_course(course: Course, measured: Measured) -> str:
    """A table of its lessons, and the tasks that their solutions do not reach."""
    rows = [map(tables.plain, of_lesson(lesson, measured)) for lesson in course.lessons]
    parts = [f"## {course.title}", course.about, tables.table(HEAD, map(list, rows), tables.WIDE)]
    missed = [missed_task(lesson, lesson.break_it, measured) for lesson in course.lessons if lesson.break_it]
    return "\n\n".join([*parts, *filter(None, missed)])


def of_lesson(lesson: Lesson, measured: Measured) -> tuple[str, ...]:
    """The cells of a lesson."""
    tried = trying.tried(lesson, trying.recordings(lesson))
    came_true, on_seeds = prediction(lesson, tried, measured)
    return (
        str(lesson.number),
        f"[{lesson.title}](../lessons/{lesson.name}.yaml)",
        came_true,
        on_seeds,
        less_sure(tried),
    )


def missed_task(lesson: Lesson, task: Task, measured: Measured) -> str:
    """On how many seeds its solution reached a task; empty where on all."""
    seeds = {row["seed"]: row["facts"] for row in measured.rows(lesson, len(lesson.runs))}
    if not seeds:
        return f"The task of lesson {lesson.number} was not measured."
    reached = count(task.when, seeds)
    return "" if reached == f"{len(seeds)} of {len(seeds)}" else f"The task of lesson {lesson.number}: {reached}."


def prediction(lesson: Lesson, tried: Sequence[trying.TriedRun], measured: Measured) -> tuple[str, str]:
    """What came true of the first run, by its recording (else on the first seed), and on how many seeds."""
    predict, seeds = lesson.predict, measured.seeds(lesson, 0)
    predicted = tried[0].reveal if tried else None
    if predict.kind == "curve":
        shapes = [row.get("shape", "") for row in measured.rows(lesson, 0)]
        shape = predicted.shape if predicted else next(iter(shapes), "")
        return shape, f"{shapes.count(shape)} of {len(shapes)}" if shapes else RECORDED
    if predict.kind == "number":
        return predicted.words if predicted else "", span([values.get(predict.of) for values in seeds.values()], lesson)
    options_held: Sequence[int] = tried[0].held if tried else held(predict, next(iter(seeds.values()), {}))
    if not options_held:
        return "none", ""
    option = predict.options[options_held[0]]
    return option.say, count(option.when, seeds)


def count(when: Mapping[str, str], seeds: Seeds) -> str:
    """On how many of the seeds it holds, where all of its facts are known of them."""
    if not seeds or not all(name in values for values in seeds.values() for name in when):
        return RECORDED
    return f"{sum(holds(when, values) for values in seeds.values())} of {len(seeds)}"


def span(values: Sequence[float | None], lesson: Lesson) -> str:
    """From where to where a number went."""
    numbers = [value for value in values if value is not None]
    if not numbers or len(numbers) < len(values):
        return RECORDED
    band = Band(min(numbers), max(numbers), len(numbers))
    return f"{band_in_words(lesson.predict.of, band, lesson.config(0).score_unit)} on {len(numbers)}"


def less_sure(tried: Sequence[trying.TriedRun]) -> str:
    """What came true of the recording and was not measured on seeds, and what does not hold wherever in its band a run
    ends."""
    unknown = ", ".join(condition for run in tried for condition in run.unknown)
    unsure = ", ".join(condition for run in tried for condition in run.unsure)
    return "; ".join(filter(None, [unknown, unsure and f"not over the whole band: {unsure}"]))


if __name__ == "__main__":
    main()
