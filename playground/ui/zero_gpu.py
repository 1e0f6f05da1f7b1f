"""ZeroGPU, the kind of Space that has a GPU for seconds: a start or a resumption may be one call for it.

Models that a public page's processor can train are trained there, by workers as everywhere, and cost no quota; only for
others the GPU is called. The hub's package `spaces` makes the call in a fork of this process, which alone gets the GPU.
So here, and here only in the page, PyTorch and the training are loaded: a fork that had to import them would do it in
seconds of GPU. Whose quota pays, `spaces` learns from the request that is being answered; so a call is made in a copy
of that request's context.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import threading
from pathlib import Path

from playground.config import RunConfig
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.runs import history, launcher, queue
from playground.runs.folder import writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.spawning import Place
from playground.runs.standby import StandbyWorker
from playground.runs.supervisor import say
from playground.setup import estimates
from playground.setup.devices import Device, GpuCalls
from playground.setup.estimates import gpu_calls
from playground.setup.estimates.gpu_calls import LEAST_SECONDS, MOST_SECONDS, SAVING_SECONDS, SLOT

SECONDS_VARIABLE = "PLAYGROUND_ZEROGPU_SECONDS"
SECONDS = 60  # the most of a call; what a visitor has left of the day must be at least what is asked for
NO_GPU = "There was no GPU: {} Resume it to ask again."


def seconds_of_a_call() -> int:
    """How long a call may be at most. Raises: InvalidConfig."""
    text = os.environ.get(SECONDS_VARIABLE) or str(SECONDS)
    if not text.isdecimal() or not LEAST_SECONDS <= int(text) <= MOST_SECONDS:
        sentence = f"must be a whole number from {LEAST_SECONDS} to {MOST_SECONDS} (got {text[:40]!r})."
        raise InvalidConfig([Problem(SECONDS_VARIABLE, sentence)])
    return int(text)


class ZeroGpu(StandbyWorker):
    """A standby worker that asks for the GPU where a run needs it. `calls`: what a call gets. Raises: InvalidConfig."""

    def __init__(self, outputs: Path) -> None:
        super().__init__()
        most = seconds_of_a_call()
        try:
            import spaces
            from spaces.zero.config import get_config
        except ImportError as error:
            sentence = f"this is a ZeroGPU Space, which needs what requirements-zerogpu.txt names ({error})."
            raise InvalidConfig([Problem("spaces", sentence)]) from None
        from playground import worker
        from playground.training.process import session  # noqa: F401 - the forks have it then

        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # for workers and the model service; `spaces` sets it in its forks
        gpu = get_config()
        room = gpu["xlarge_threshold"] or gpu["memory"]
        self._outputs = outputs
        self.calls = GpuCalls(Device("cuda:0", f"ZeroGPU, {gpu['model']}", room, room), most, gpu["duration_factor"])
        # At least one such function has to be there when the page starts, or the hub takes the Space for broken.
        self._attempt = spaces.GPU(duration=lambda folder, seconds: seconds + SAVING_SECONDS)(worker.attempt)
        for entry in queue.entries(outputs):  # calls of an earlier page, which no one answers any more
            if entry.slot == SLOT:
                launcher.stop(RunDirectory(outputs / entry.run))

    def place(self, config: RunConfig) -> Place:
        """A call for the GPU, where the processor of a public page may not train it."""
        called = gpu_calls.asked(config, self.calls, self._outputs)
        if called:
            return Place(SLOT, ask=self._call)
        return super().place(config)

    def _call(self, run: RunDirectory) -> None:
        """Ask for a GPU and have an attempt made there, in a thread that knows who asks."""
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._made, run), name=f"call {run.id}", daemon=True).start()

    def _made(self, run: RunDirectory) -> None:
        try:
            self._attempt(str(run.path.resolve()), self._seconds_for(run) - SAVING_SECONDS)
        except Exception as error:  # whatever `spaces` and the hub's answers come to; the run must not wait forever
            why = getattr(error, "message", "") or str(error) or type(error).__name__  # of gradio's errors, the words
            say(f"The call for {run.id} has failed: {why}")
            with contextlib.suppress(PlaygroundError, OSError):
                if not why.endswith("."):
                    why = f"{why}."
                _end_waiting(run, NO_GPU.format(why))

    def _seconds_for(self, run: RunDirectory) -> int:
        """Of the next call for a run, as long as by the estimate its rest takes."""
        config, whole = run.config(), None
        with contextlib.suppress(PlaygroundError):  # nothing is known of its model
            timed = history.finished_runs(run.path.parent, trials=False)
            takes = estimates.estimate(config, run.path.parent, device=self.calls.device, finished=timed).seconds
            whole = takes and takes[1]
        return gpu_calls.seconds(config, self.calls, whole, run.status_on_disk().update)


def _end_waiting(run: RunDirectory, message: str) -> None:
    """Where no attempt has begun; one that has begun and died is found by its lock, like any other."""
    outputs = run.path.parent
    with launcher.one_at_a_time(outputs):
        if run.id in queue.waiting(outputs):
            writer.write_end(run, run.status_on_disk(), "stopped", "stopped", message)
            queue.leave(run)
