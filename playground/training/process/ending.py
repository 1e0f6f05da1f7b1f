"""How a run ends: everything that can go wrong -> a reason (`runs.folder.exit_reasons`), and a sentence about what
happened and what to do. The traceback goes to worker.log, the sentence to the person. Imports no torch.
"""

from __future__ import annotations

import contextlib
import errno
import faulthandler
import gc
import os
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import NoReturn

from playground.errors import LESS_MEMORY, PlaygroundError
from playground.runs.folder import logs, processes
from playground.runs.folder.exit_reasons import DISK_WORDS, state_after
from playground.runs.folder.writer import RunWriter

LEAVE_SECONDS = 10  # the longest that the end of the process may take once the run has ended
# What the machine refuses: the classes of errors, their numbers, and the words of libraries in other languages.
GPU_WORDS = ("CUDA out of memory", "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "backend out of memory")
MEMORY_WORDS = ("allocate memory", "not enough memory", "std::bad_alloc", "(os error 12)")
REFUSALS: dict[str, tuple[str, set[int], tuple[str, ...]]] = {
    "out_of_gpu_memory": ("OutOfMemoryError", set(), GPU_WORDS),  # PyTorch's class, which is about GPUs only
    "out_of_memory": ("MemoryError", {errno.ENOMEM}, MEMORY_WORDS),
    "disk_full": ("", {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}, DISK_WORDS),
}
STOPPED = "Stopped after update {}."


class StopRequested(Exception):
    """The run is to end before it is done; raised between two micro-batches. `sentence`: what is said of it, with a gap
    for the update; empty for what `reported` says of a stop."""

    def __init__(self, reason: str = "stopped", sentence: str = "") -> None:
        super().__init__(reason)
        self.reason, self.sentence = reason, sentence


@contextlib.contextmanager
def reported(
    writer: RunWriter, stopped: str = STOPPED, memory_advice: Callable[[], str] = lambda: LESS_MEMORY
) -> Iterator[None]:
    """Every way a run can end -> a terminal state with a reason and a sentence that says what to do. `stopped`: that of
    a run that was asked to stop; {} is the update it was at."""
    try:
        writer.reserve()
        print(logs.attempt_line(writer.status.attempt), flush=True)
        yield
        writer.finish("finished", message=writer.status.message)
    except GeneratorExit:
        raise
    except (StopRequested, KeyboardInterrupt) as asked:
        stop = asked if isinstance(asked, StopRequested) else StopRequested()
        writer.finish(state_after(stop.reason), stop.reason, (stop.sentence or stopped).format(writer.status.update))
    except BaseException as error:  # also the panics of libraries written in Rust, and a library that calls exit
        reason, message = diagnosis(error, memory_advice)
        if reason == "disk_full":
            message += clear_half_written(writer)
        with contextlib.suppress(OSError, MemoryError):
            traceback.print_exc()
        writer.finish(state_after(reason), reason, message)


def diagnosis(error: BaseException, memory_advice: Callable[[], str]) -> tuple[str, str]:
    """The exit reason and the sentence for an error. What the machine refused counts more than who passed it on: a
    model that cannot be loaded for want of memory is a matter of memory."""
    causes = list(_causes(error))
    refused = next((name for name in REFUSALS if any(_is_refusal(cause, *REFUSALS[name]) for cause in causes)), "")
    if refused == "disk_full":
        return refused, "The disk is full: there was no room for the run's files."
    if refused:
        what, advice = "GPU" if refused == "out_of_gpu_memory" else "machine", LESS_MEMORY
        with contextlib.suppress(MemoryError, OSError, RuntimeError):  # there is none left to think with
            advice = memory_advice()
        return refused, f"The {what} ran out of memory. {advice}"
    if isinstance(error, PlaygroundError):
        return error.reason, str(error)
    return "bug", f"Unexpected {type(error).__name__}: {error}. The full traceback is in worker.log."


def clear_half_written(writer: RunWriter) -> str:
    """Remove the checkpoint that did not fit; says which one is there."""
    run = writer.run
    for folder in run.checkpoints_path.glob(".tmp-*"):
        shutil.rmtree(folder, ignore_errors=True)
    if newest := run.latest_checkpoint():
        return f" The last whole checkpoint is {newest.name}."
    return " There is no checkpoint."


def leave(code: int) -> NoReturn:
    """End this process, with all that it has started, and within `LEAVE_SECONDS` whatever hangs."""
    faulthandler.dump_traceback_later(LEAVE_SECONDS, exit=True)  # no thread of Python's has to run for this
    gc.freeze()  # the interpreter's end would look through all of PyTorch for garbage: seconds on a busy machine
    processes.end_own_family()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a full disk; the interpreter would try again, and fail with another exit code
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and what it was raised from, or in the handling of."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)


def _is_refusal(error: BaseException, kind: str, numbers: set[int], words: tuple[str, ...]) -> bool:
    if kind in (base.__name__ for base in type(error).__mro__) or getattr(error, "errno", None) in numbers:
        return True
    return not isinstance(error, PlaygroundError) and any(word in str(error) for word in words)
