"""ZeroGPU, the kind of Space that has a GPU for seconds: every start and every resumption is one call for it.

The hub's package `spaces` makes the call in a fork of this process, which alone gets the GPU. So here, and here only in
the page, PyTorch and the training are loaded: a fork that had to import them would do it in seconds of GPU. Whose quota
pays, `spaces` learns from the request that is being answered; so a call is made in a copy of that request's context.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from collections.abc import Mapping
from pathlib import Path

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.runs import launcher, queue
from playground.runs.folder import writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.launcher import Elsewhere
from playground.runs.standby import StandbyWorker
from playground.runs.supervisor import say

SLOT = "zerogpu"
SECONDS_VARIABLE = "PLAYGROUND_ZEROGPU_SECONDS"
SECONDS = 60  # of a call; what a visitor has left of the day must be at least that much
SAVING_SECONDS = 10  # of these, for the weights and whatever is slow
LEAST_SECONDS = 2 * SAVING_SECONDS
MOST_SECONDS = 1800
NO_GPU = "There was no GPU: {} Resume it to ask again."


def is_here(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this is a ZeroGPU Space, by what the hub sets there."""
    return environment.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def seconds_of_a_call(environment: Mapping[str, str] = os.environ) -> int:
    """How long each call may take. Raises: InvalidConfig."""
    given = environment.get(SECONDS_VARIABLE) or str(SECONDS)
    if not given.isdecimal() or not LEAST_SECONDS <= int(given) <= MOST_SECONDS:
        sentence = f"must be a whole number from {LEAST_SECONDS} to {MOST_SECONDS} (got {given[:40]!r})."
        raise InvalidConfig([Problem(SECONDS_VARIABLE, sentence)])
    return int(given)


class ZeroGpu(StandbyWorker):
    """In the place of the standby worker: asks for the GPU for each run. Raises: InvalidConfig."""

    def __init__(self, outputs: Path) -> None:
        super().__init__()
        self.seconds = seconds_of_a_call()
        try:
            import spaces
        except ImportError as error:
            sentence = f"this is a ZeroGPU Space, which needs what requirements-zerogpu.txt names ({error})."
            raise InvalidConfig([Problem("spaces", sentence)]) from None
        from playground import worker
        from playground.training.process import session  # noqa: F401 - the forks have it then

        self._attempt = spaces.GPU(duration=lambda folder, seconds: seconds + SAVING_SECONDS)(worker.attempt)
        self.worker_for = Elsewhere(SLOT, self._call)  # type: ignore[assignment, method-assign]
        for entry in queue.entries(outputs):  # calls of an earlier page, which no one answers any more
            if entry.slot == SLOT:
                launcher.stop(RunDirectory(outputs / entry.run))

    def prepare(self) -> None:
        """Nothing waits here."""

    def _call(self, run: RunDirectory) -> None:
        """Ask for a GPU and have an attempt made there, in a thread that knows who asks."""
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._made, run), name=f"call {run.id}", daemon=True).start()

    def _made(self, run: RunDirectory) -> None:
        try:
            self._attempt(str(run.path.resolve()), self._seconds_for(run.config()))
        except Exception as error:  # whatever `spaces` and the hub's answers come to; the run must not wait forever
            why = getattr(error, "message", "") or str(error) or type(error).__name__  # of gradio's errors, the words
            say(f"The call for {run.id} has failed: {why}")
            with contextlib.suppress(PlaygroundError, OSError):
                _end_waiting(run, NO_GPU.format(why if why.endswith(".") else f"{why}."))

    def _seconds_for(self, config: RunConfig) -> float:
        return min(60 * (config.max_minutes or MOST_SECONDS), self.seconds - SAVING_SECONDS)


def _end_waiting(run: RunDirectory, message: str) -> None:
    """Where no attempt has begun; one that has begun and died is found by its lock, like any other."""
    outputs = run.path.parent
    with launcher.one_at_a_time(outputs):
        if run.id in queue.waiting(outputs):
            writer.write_end(run, run.status_on_disk(), "stopped", "stopped", message)
            queue.leave(run)
