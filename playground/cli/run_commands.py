"""The commands on existing runs: stop, runs, show, generate, diagnose."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from playground.analysis.diagnosis import diagnose as alerts_of
from playground.analysis.diagnosis.run_records import Records, Thresholds
from playground.analysis.run_figures import ListedRun
from playground.cli import alert_printing, following, printing, rollout_printing
from playground.cli.arguments import DEFAULT_OUTPUTS, FAILED, Json, Outputs, RunArgument, find_run, folder_of_runs
from playground.cli.terminal import complain, print_json
from playground.config import yaml_io
from playground.errors import InvalidConfig, Problem, PromptsUnusable, RunNotFound, ServiceUnavailable
from playground.runs import frontier_samples, history, launcher
from playground.runs.folder import processes
from playground.runs.model_service import GeneratedSample, ModelService
from playground.runs.supervisor import Supervisor
from playground.setup import catalog
from playground.setup.limits import MOST_SAMPLES


def stop(
    run_dir: RunArgument,
    outputs: Outputs = DEFAULT_OUTPUTS,
    timeout: Annotated[float, typer.Option(help="How many seconds to wait for the run to end.", min=0)] = 120,
    now: Annotated[
        bool, typer.Option("--now", help="End its process by force if it has not ended 10 s after being asked.")
    ] = False,
) -> None:
    """Stop a run and wait until it has stopped; one that waits in the queue is taken out.

    A run that has already ended is left as it is.
    """
    run = find_run(run_dir, outputs)
    status = run.status()
    if status.ended:
        print(f"{run.id} has already ended: {status.state}.")
        return
    launcher.stop(run)
    if now and run.is_alive():
        ending = processes.end(run, min(timeout, processes.GRACE_SECONDS))
        Supervisor(run.path.parent).end_the_dead()
        status = run.status()
        print(f"{run.id}: {ending.sentence} {status.message}")
        if ending.alive:
            raise typer.Exit(FAILED)
    too_late = f"{run.id} has not stopped within {timeout:g} s. `stop --now` ends it by force."
    following.wait_until(lambda: run.status().ended, timeout, run.path.parent, too_late)
    status = run.status()
    Supervisor(run.path.parent).end_the_dead()
    print(f"{run.id} has ended: {status.state}, after update {status.update} of {status.num_updates}.")


def runs(outputs: Outputs = DEFAULT_OUTPUTS, json: Json = False) -> None:
    """List the runs of the outputs folder, the newest first."""
    folder_of_runs(outputs)
    Supervisor(outputs).end_the_dead()
    printing.print_runs(history.newest_first(outputs, ListedRun.of), outputs, as_json=json)


def show(
    run_dir: RunArgument,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: Json = False,
    frontier: Annotated[
        bool,
        typer.Option(
            "--frontier", help="Sample texts first, to say what was possible at its KL; their figures are kept."
        ),
    ] = False,
    update: Annotated[
        int | None,
        typer.Option(help="Show this update instead: its scores as a histogram, and some of its texts.", min=1),
    ] = None,
) -> None:
    """Show one run: state, settings, last numbers, warnings, before and after."""
    run = find_run(run_dir, outputs)
    Supervisor(run.path.parent).end_the_dead()
    if update is not None:
        rollout_printing.print_update(run, update, as_json=json)
        return
    if frontier:
        with contextlib.closing(ModelService(run.path.parent)) as service:
            for drawn in frontier_samples.draw(run, service):
                complain(drawn["phase"] + (f": {drawn['done']} of {drawn['of']}" if drawn["of"] else ""))
    printing.print_run(run, as_json=json)


def generate(
    source: Annotated[str, typer.Argument(metavar="RUN_DIR|MODEL", help="A run, a model's name or a model folder.")],
    prompt: Annotated[str, typer.Option(help="The text to continue.")],
    n: Annotated[int, typer.Option("--n", help="How many completions on each side.", min=1, max=MOST_SAMPLES)] = 4,
    seed: Annotated[int, typer.Option(help="Random seed, the same on both sides.", min=0)] = 0,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON line per completion.")] = False,
) -> None:
    """Complete a prompt, before and after training side by side with the same random numbers."""
    answers: list[GeneratedSample] = []
    try:
        generator = find_run(source, outputs).path.resolve()
    except RunNotFound:
        generator = catalog.model_folder(source).resolve()
    for sample in completions(generator, prompt, n, seed, outputs):
        answers.append(sample)
        if json:
            print_json(sample._asdict())
    if not json:
        printing.print_answers(answers)


def completions(source: Path, prompt: str, n: int, seed: int, outputs: Path) -> Iterator[GeneratedSample]:
    """What a run, before and after, or a model makes of a prompt. Raises: PromptsUnusable, ServiceUnavailable."""
    if not prompt.strip():
        raise PromptsUnusable("The prompt is empty. Type the beginning of a text.")
    with contextlib.closing(ModelService(outputs)) as service:
        try:
            yield from service.compare(source, prompt, num_samples=n, seed=seed)
        except ServiceUnavailable as error:  # the service's own sentence about the prompt, or a service that is gone
            if str(error).startswith("The prompt "):
                raise PromptsUnusable(str(error)) from None
            raise error from None


def diagnose(
    run_dir: Annotated[
        str | None, typer.Argument(metavar="RUN_DIR", help="A run folder, or the id of a run in the outputs folder.")
    ] = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another threshold, for example kl_red=0.8. Repeatable."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what is quiet or was not measured.")] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            help="Judge the log of another trainer instead: trainer_state.json, a file or folder of TensorBoard, CSV "
            "or JSON lines.",
            metavar="FILE",
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OURS=THEIRS,...",
            help="With --log: which of its columns is which of our figures; run=NAME chooses one of several runs.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Is the run healthy? Every check that is lit, with its rule, what was seen, the likely cause and what to try."""
    thresholds = yaml_io.overridden({}, set_ or [], Thresholds)
    if (run_dir is None) == (log is None):
        raise InvalidConfig(
            [Problem("", "Name a run (diagnose RUN_DIR), or a log (diagnose --log FILE): one of them.")]
        )
    if log is not None:
        alert_printing.print_judged_log(log, columns or [], thresholds, everything=everything, as_json=json)
        return
    run = find_run(str(run_dir), outputs)
    alerts = alerts_of(Records(run.config(), run.metrics(), run.samples(), run.events(), thresholds))
    alert_printing.print_alerts(alerts, everything=everything, as_json=json)
