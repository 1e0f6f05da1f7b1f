"""Limits of time and memory for untrusted programs: a tokenizer's rules, a chat template, a model's configuration.

A loop inside the interpreter can hold off every thread and Python's own handlers of signals, so the kernel keeps the
time: SIGALRM ends the process, after faulthandler has written where it was; `runs.folder.exit_reasons` and
`runs.model_service` read the exit code. Memory is limited as address space. No process is limited before `begin`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

from playground.errors import ModelNotFound, PlaygroundError
from playground.setup import catalog

SECONDS = 30.0
MORE_BYTES = 1_500_000_000  # than the process held before; the largest tokenizer's file, 64 MB, takes 0.9 GB
STATM = Path("/proc/self/statm")  # the first number: pages of address space
PANIC = "PanicException"  # of a library in Rust that breaks off; no `except Exception` catches it
PROBE = "Review of the film: the 2nd half wasn't bad, " + "a" * 200  # a rule that runs away does so on a long word

_seconds = 0.0  # that a program may take in this process; 0: there are no limits here
_inside = False  # one of them is at work


def begin(seconds: float = SECONDS) -> None:
    """From now on a program that takes longer ends this process."""
    global _seconds
    _seconds = seconds
    faulthandler.register(signal.SIGALRM, file=2, chain=True)  # which ends the process then


def end() -> None:
    """Nothing is limited any more."""
    global _seconds
    _seconds = 0.0
    faulthandler.unregister(signal.SIGALRM)


@contextlib.contextmanager
def limited(
    what: str,
    folder: Path | str | None = None,
    kind: type[PlaygroundError] = ModelNotFound,
    *,
    mapped_bytes: int = 0,
) -> Iterator[None]:
    """Around a stranger's program: it may take so long and so much memory, and what it raises becomes one sentence that
    begins with `what`. `folder`: where it comes from; what ships with the playground is not limited. `mapped_bytes`: of
    files that it maps, which take address space and no memory. Raises: `kind`."""
    global _inside
    ours = folder is not None and Path(folder).is_relative_to(catalog.POCKET_MODELS)
    with in_one_sentence(what, kind):
        if not _seconds or _inside or ours:
            yield
            return
        before = resource.getrlimit(resource.RLIMIT_AS)
        _inside = True
        try:
            signal.setitimer(signal.ITIMER_REAL, _seconds)
            with contextlib.suppress(OSError, ValueError):  # elsewhere than on Linux
                resident = int(STATM.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
                resource.setrlimit(resource.RLIMIT_AS, (resident + MORE_BYTES + mapped_bytes, before[1]))
            yield
        except MemoryError:  # not named as the cause: the machine has not run out of memory
            raise kind(f"{what}: it took more than {MORE_BYTES / 1e9:g} GB of memory.") from None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            resource.setrlimit(resource.RLIMIT_AS, before)
            _inside = False


@contextlib.contextmanager
def in_one_sentence(what: str, kind: type[PlaygroundError] = ModelNotFound) -> Iterator[None]:
    """Whatever a library raises over a stranger's file -> one sentence that begins with `what`; bare exceptions too
    (`tokenizers` raises no others), but not that memory ran out, which has its own end."""
    try:
        yield
    except BaseException as error:
        name = type(error).__name__
        ours = isinstance(error, (PlaygroundError, MemoryError)) or name == "OutOfMemoryError"
        if ours or "allocate memory" in str(error) or not (isinstance(error, Exception) or name == PANIC):
            raise
        raise kind(f"{what}: {first_line(error)[:300]}") from error


def first_line(error: BaseException) -> str:
    """What a library says first, or else the name of its error."""
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return " ".join(line.strip() for line in lines[: 1 + lines[0].rstrip().endswith(":")])
