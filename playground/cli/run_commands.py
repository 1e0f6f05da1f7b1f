"""The commands on runs that are there: stop, set, pause, step, runs, show. `playground.cli` registers them."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from playground.cli import printing
from playground.cli.arguments import DEFAULT_OUTPUTS, FAILED, Json, Outputs, RunArgument, find_run
from playground.cli.terminal import plain
from playground.config import yaml_io
from playground.runs import history
from playground.runs.end import processes
from playground.runs.reconciler import Reconciler
from playground.runs.start import launcher
from playground.runs.steer import changes

STOP_POLL_SECONDS = 0.05


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
        told = processes.end(run, min(timeout, processes.GRACE_SECONDS))
        Reconciler(run.path.parent).end_the_dead()
        status = run.status()
        print(f"{run.id}: {told.sentence} {status.message}")
        if told.alive or told.survivors:
            raise typer.Exit(FAILED)
    deadline = time.monotonic() + timeout
    while not status.ended:
        if time.monotonic() > deadline:
            printing.complain(
                f"{run.id} has not stopped within {timeout:g} s. It was asked to and may still do so; "
                f"`stop --now` ends it by force. Its log is {run.log_path}."
            )
            raise typer.Exit(FAILED)
        time.sleep(STOP_POLL_SECONDS)
        status = run.status()
    Reconciler(run.path.parent).end_the_dead()
    status = run.status()
    print(f"{run.id} has ended: {status.state}, after update {status.update} of {status.num_updates}.")


def set_command(
    run_dir: RunArgument,
    edits: Annotated[
        list[str], typer.Argument(metavar="path=value...", help=f"One or more of {', '.join(changes.LIVE_FIELDS)}.")
    ],
    outputs: Outputs = DEFAULT_OUTPUTS,
) -> None:
    """Change settings of a run that is training, for example `set RUN_DIR kl.coef=0.2`. Applied at its next update."""
    run = find_run(run_dir, outputs)
    asked = changes.request_edits(run, [changes.Edit(*yaml_io.parse_override(text)) for text in edits])
    for field, value in asked:
        print(f"{run.id}: {field} becomes {value:g} at the next update.")


def pause(run_dir: RunArgument, outputs: Outputs = DEFAULT_OUTPUTS) -> None:
    """Let a run wait after the update it is in."""
    run = find_run(run_dir, outputs)
    changes.request_pause(run)
    print(f"{run.id} pauses after the update it is in.")


def step(run_dir: RunArgument, outputs: Outputs = DEFAULT_OUTPUTS) -> None:
    """Let a paused run do one more update."""
    run = find_run(run_dir, outputs)
    changes.request_step(run)
    print(f"{run.id} does one more update and pauses again.")


def rename(
    run_dir: RunArgument,
    name: Annotated[str | None, typer.Argument(help="What to call it; empty: as it was called when it began.")] = None,
    note: Annotated[str | None, typer.Option(help="A line about it.")] = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
) -> None:
    """Give a run a name and a note, which stand wherever the run does. Its folder keeps its name."""
    run = find_run(run_dir, outputs)
    old = run.label()
    label = run.write_label(old.name if name is None else name, old.note if note is None else note)
    print(f"{run.id} is called {plain(run.title(run.config()))}.{plain(f' Note: {label.note}') if label.note else ''}")


def runs(outputs: Outputs = DEFAULT_OUTPUTS, json: Json = False) -> None:
    """List the runs of the outputs folder, the newest first."""
    Reconciler(outputs).end_the_dead()
    printing.print_runs(history.list_runs(outputs), outputs, as_json=json)


def show(run_dir: RunArgument, outputs: Outputs = DEFAULT_OUTPUTS, json: Json = False) -> None:
    """Show one run: state, settings, last numbers, warnings, before and after."""
    run = find_run(run_dir, outputs)
    Reconciler(run.path.parent).end_the_dead()
    printing.print_run(run, as_json=json)
