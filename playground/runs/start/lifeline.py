"""What becomes of a run when the server that started it dies: `survive` (the default) or `die`.

Under `die` the server holds the one writing end of a pipe that nothing is ever written to, and every worker the
reading end. However the server ends, the kernel closes its end, the worker's watch sees that, and ends the run with a
checkpoint. A trial (`runs.trial`) is bound so to whoever makes it, under both. (Linux's own "signal me when my parent
dies" is about the thread that forked, and the threads in which a page handles clicks end.)
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Literal, NamedTuple, cast

from playground.errors import InvalidConfig, Problem

Policy = Literal["survive", "die"]
POLICIES: tuple[Policy, ...] = ("survive", "die")
POLICY_VARIABLE = "PLAYGROUND_ON_SERVER_DEATH"
FD_VARIABLE = "PLAYGROUND_SERVER_FD"


class Handed(NamedTuple):
    """What a new worker gets from us: open files to pass on, and variables."""

    descriptors: tuple[int, ...]
    environment: dict[str, str]


_pipe: tuple[int, int] | None = None  # the reading and the writing end
_lock = threading.Lock()


def policy() -> Policy:
    """The policy of workers that this process starts. Raises: InvalidConfig."""
    return _checked(os.environ.get(POLICY_VARIABLE) or "survive")


def _checked(chosen: str) -> Policy:
    if chosen not in POLICIES:
        words = f"{POLICY_VARIABLE} must be one of {', '.join(POLICIES)} (got {chosen[:40]!r})."
        raise InvalidConfig([Problem("on-server-death", words)])
    return cast(Policy, chosen)


def choose(chosen: str) -> None:
    """Set the policy for all workers that this process starts from now on. Raises: InvalidConfig."""
    os.environ[POLICY_VARIABLE] = _checked(chosen)


def for_worker(bound: bool = False) -> Handed:
    """What to hand to a worker: nothing under `survive`, else the reading end. Raises: InvalidConfig.

    Args:
        bound: it is to end with us whatever the policy.
    """
    global _pipe
    if policy() == "survive" and not bound:
        return Handed((), {FD_VARIABLE: ""})
    with _lock:
        if _pipe is None:
            _pipe = os.pipe()  # neither end is inherited unless it is passed on
        return Handed((_pipe[0],), {FD_VARIABLE: str(_pipe[0])})


def let_go() -> None:
    """End what hangs on this process now, without waiting for its death: under `survive` no more than a trial."""
    global _pipe
    with _lock:
        pipe, _pipe = _pipe, None
    for descriptor in pipe or ():
        with contextlib.suppress(OSError):
            os.close(descriptor)


def adopt() -> int | None:
    """In the worker: the reading end, which is at its end once the server has gone; None under `survive`."""
    descriptor = os.environ.pop(FD_VARIABLE, "")
    if not descriptor:
        return None
    os.set_inheritable(int(descriptor), False)
    return int(descriptor)


def _close_in_child() -> None:
    """A forked child of the server must not keep the server's end open after it. Without the lock, which another
    thread may have held in the moment of the fork."""
    global _pipe
    pipe, _pipe = _pipe, None
    for descriptor in pipe or ():
        os.close(descriptor)


os.register_at_fork(after_in_child=_close_in_child)
