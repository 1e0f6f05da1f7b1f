"""The process of one run: `python -m playground.training.worker RUN_DIR`.

Loads the models, drives the trainer update by update, writes the run directory, listens to its control folder. It
never waits for a reader. The one broad `except` of the project is here: the traceback goes to worker.log, one sentence
to the person.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from playground import checks, estimates, redaction
from playground.config import RunConfig
from playground.errors import PlaygroundError, TrainingDiverged
from playground.runs.directory import RunDirectory
from playground.runs.launcher import adopt_lock, take_lock
from playground.runs.writer import RunWriter
from playground.training import guard


class StopRequested(Exception):
    """Somebody asked the run to stop; raised between two micro-batches."""


class TimeIsUp(StopRequested):
    """The run's own time limit (`max_minutes`) was reached; the message says so. It ends as if it had been stopped."""


def main(arguments: list[str] | None = None) -> int:
    """Run the worker. Exit code: 0 finished, 1 failed, 3 stopped."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print("usage: python -m playground.training.worker RUN_DIR", file=sys.stderr)
        return 2
    try:
        run = RunDirectory.open(Path(arguments[0]))
        config = run.config()
    except PlaygroundError as error:
        print(error, file=sys.stderr)
        return 2
    lock = adopt_lock() or take_lock(run)
    if lock is None:
        print(f"Another worker is training {run.id}.", file=sys.stderr)
        return 2
    redaction.cover_streams()
    guard.watch_run(run, lock)
    writer = RunWriter(run, config.ppo.num_updates, run.status().attempt)
    with lock, reported(writer, memory_advice=lambda: estimates.advice(config, run.path.parent)):
        train(run, config, writer)
    return {"finished": 0, "stopped": 3}.get(writer.status.state, 1)


def train(run: RunDirectory, config: RunConfig, writer: RunWriter) -> None:
    """Everything between starting and ending.

    Raises:
        StopRequested, PlaygroundError, and whatever the machine throws; `reported` turns each into a terminal state.
    """
    checks.check(config, run.path.parent)
    between = interruptions(run, config.max_minutes)

    def tell_download(text: str) -> None:
        between()
        if text != writer.status.phase:
            writer.set_status(phase=text)

    signal.signal(signal.SIGTERM, lambda *_: run.request_stop())
    checks.fetch(checks.needs(config, run.path.parent), tell_download)
    writer.set_status(phase="loading PyTorch")
    from playground.training.session import Session  # seconds of imports, after the page knows that we are alive

    writer.set_status(phase="loading the model")
    session = Session(run, config, writer, between)
    session.begin()
    try:
        session.look_if_due()
        writer.set_status(state="running", phase="training")
        session.train()
    except StopRequested:
        writer.set_status(phase="saving")
        session.save()
        raise


def interruptions(run: RunDirectory, max_minutes: float | None) -> Callable[[], None]:
    """What is called between two micro-batches: it raises once somebody asked for a stop, or the time is up.

    The time is that of this process, from now on: a resumed run gets it again. Asking is a request, so it is told
    first where both are true.
    """
    deadline = None if max_minutes is None else time.monotonic() + 60 * max_minutes

    def between() -> None:
        if run.stop_requested:
            raise StopRequested
        if deadline is not None and time.monotonic() >= deadline:
            unit = "minute" if max_minutes == 1 else "minutes"
            raise TimeIsUp(f"Its time limit of {max_minutes:g} {unit} (max_minutes) was reached after update {{}}.")

    return between


@contextlib.contextmanager
def reported(
    writer: RunWriter,
    stopped: str = "Stopped after update {}.",
    memory_advice: Callable[[], str] = lambda: "Use smaller batches or a smaller model.",
) -> Iterator[None]:
    """Every way a run can end -> a terminal state with a reason and a sentence that says what to do.

    Args:
        stopped: what is said of a run that was asked to stop; {} is the update it was at.
        memory_advice: what to do when memory has run out.
    """
    try:
        yield
        writer.finish("finished", message=writer.status.message)
    except TimeIsUp as error:
        writer.finish("stopped", "time_limit", str(error).format(writer.status.update))
    except (StopRequested, KeyboardInterrupt):
        writer.finish("stopped", "stopped", stopped.format(writer.status.update))
    except TrainingDiverged as error:
        writer.finish("failed", "diverged", str(error))
    except PlaygroundError as error:
        traceback.print_exc()
        writer.finish("failed", "invalid", str(error))
    except Exception as error:
        traceback.print_exc()
        reason, message = _diagnosis(error, memory_advice)
        writer.finish("failed", reason, message)


def _diagnosis(error: Exception, memory_advice: Callable[[], str]) -> tuple[str, str]:
    if _is_out_of_memory(error):
        return "out_of_memory", f"Out of memory. {memory_advice()}"
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "disk_full", "The disk is full. Free some space, or set checkpoint.every to 0, and start again."
    return "bug", f"Unexpected {type(error).__name__}: {error}. The whole story is in worker.log."


def _is_out_of_memory(error: Exception) -> bool:
    """PyTorch has a class of its own for GPUs, and for main memory only a sentence."""
    told = isinstance(error, RuntimeError) and "allocate memory" in str(error)
    return told or isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    sys.exit(main())
