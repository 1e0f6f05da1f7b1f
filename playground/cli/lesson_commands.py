"""`lessons` lists them; `lessons check FILE` says what is wrong with one and what it would say of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from playground.cli import following
from playground.cli.arguments import DEFAULT_OUTPUTS, FAILED, Json, Outputs, find_run
from playground.cli.terminal import complain, print_json, say
from playground.config import RunConfig
from playground.errors import InvalidConfig, Problem, RunFailed
from playground.lessons import loading, trying
from playground.lessons.loading import FOLDER_VARIABLE, Lessons
from playground.lessons.records import Lesson
from playground.lessons.reveal import Reveal, reveal
from playground.lessons.trying import TriedRun
from playground.runs.folder.directory import RunDirectory

Folder = Annotated[
    Path | None, typer.Option("--lessons", envvar=FOLDER_VARIABLE, help="A folder of your own lessons.", metavar="DIR")
]

app = typer.Typer(
    help="List the lessons, or check one that you write (docs/write-a-lesson.md).",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
def listed(context: typer.Context, lessons: Folder = None, json: Json = False) -> None:
    """List the lessons by course, or check one that you write (docs/write-a-lesson.md)."""
    if context.invoked_subcommand:
        return
    courses = Lessons(lessons).courses
    if json:
        print_json(
            [{**course._asdict(), "lessons": [_facts(lesson) for lesson in course.lessons]} for course in courses]
        )
        return
    for course in courses:
        say(f"{course.title}: {course.about}".rstrip(": "))
        for lesson in course.lessons:
            say(f"  {lesson.number:2} {lesson.name}: {lesson.question} ({lesson.minutes} minutes)")


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A lesson, as a YAML file.")],
    run: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN_DIR", help="Try it on this run; of a lesson with two runs, one for each."),
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Train its runs, and try it on them.")] = False,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: Json = False,
) -> None:
    """Say what is wrong with a lesson, and what it would say of its runs: of their recordings, of runs that are there
    (--run), or of new ones (--train).

    Exit codes: 0 nothing to mend, 1 its runs do not show what it asks for, 2 the file is not valid.
    """
    lesson = loading.load(file)
    reached = None
    if run:
        runs = _given(lesson, run, outputs)
    elif train:
        runs = [_trained(lesson.config(index), outputs) for index in range(len(lesson.runs))]
        reached = _solved(lesson, runs[0], outputs)
    else:
        runs = trying.recordings(lesson)
    outcomes = trying.tried(lesson, runs)
    mend = [advice for tried in outcomes for advice in tried.mend]
    if reached and not reached.reached:
        mend.append(f"break_it.solution does not reach it: {' '.join(reached.said)}")
    if json:
        print_json({"lesson": lesson.name, "runs": [_data(*advice) for advice in zip(runs, outcomes, strict=True)]})
    else:
        say(f"{lesson.name}: nothing is wrong with the file.")
        for index, tried in enumerate(outcomes):
            _print(lesson, index, runs[index], tried)
        if len(runs) < len(lesson.runs) and run:
            complain(f"The lesson has {len(lesson.runs)} runs: name one for each with --run, to see all that it says.")
        elif len(runs) < len(lesson.runs):
            complain("No recording of its runs ships. Try it on runs of yours with --run, or with --train.")
        say(*(f"To mend: {advice}" for advice in mend))
    if mend:
        raise typer.Exit(FAILED)


def _given(lesson: Lesson, runs: Sequence[str], outputs: Path) -> list[RunDirectory]:
    if len(runs) > len(lesson.runs):
        raise InvalidConfig([Problem("--run", f"{lesson.name} has {len(lesson.runs)} run(s), not {len(runs)}.")])
    return [find_run(name, outputs) for name in runs]


def _trained(config: RunConfig, outputs: Path) -> RunDirectory:
    """Raises: RunFailed, InvalidConfig."""
    run, process = following.start(config, outputs)
    status = following.follow(run, process, following.Display(False))
    if status.state != "finished":
        raise RunFailed(f"{run.id} has ended: {status.state}. {status.message}".strip())
    return run


def _solved(lesson: Lesson, first: RunDirectory, outputs: Path) -> Reveal | None:
    """What a run with the solution of the task says, where there is one. Raises: RunFailed, InvalidConfig."""
    config = lesson.solved()
    if config:
        return reveal(lesson, len(lesson.runs), _trained(config, outputs), first)
    return None


def _print(lesson: Lesson, index: int, run: RunDirectory, tried: TriedRun) -> None:
    outcome, predict = tried.reveal, lesson.predict
    recorded = " (its recording)" if lesson.runs[index].twin == run.path else ""
    say(f"\nRun {index + 1}, {lesson.runs[index].title}: {run.id}{recorded}")
    if index == 0:
        for number, option in enumerate(predict.options):
            verdict = "came true" if number in tried.held else "did not  "
            say(f"  {verdict}: {option.say}")
        if predict.kind != "choice":
            say(f"  {predict.ask} {outcome.words or outcome.shape}")
    say(*(f"  said: {text}" for text in outcome.said))
    say(*(f"  explained: {text}" for text in outcome.explained))
    if card := outcome.card:
        say(*(f"  worked out: {step.say}" for step in card.steps))
    say(*(f"  does not hold on all seeds: {condition}" for condition in tried.unsure))
    say(*(f"  of other seeds nothing is known: {condition}" for condition in tried.unknown))


def _data(run: RunDirectory, tried: TriedRun) -> dict[str, Any]:
    outcome = tried.reveal
    return {
        "run": run.id,
        "held": list(tried.held),
        "words": outcome.words or outcome.shape,
        "said": list(outcome.said),
        "explained": list(outcome.explained),
        "unsure": list(tried.unsure),
        "unknown": list(tried.unknown),
        "mend": list(tried.mend),
    }


def _facts(lesson: Lesson) -> dict[str, Any]:
    facts = lesson.model_dump(include={"name", "number", "title", "minutes", "question"})
    return {**facts, "runs": [run.preset for run in lesson.runs]}
