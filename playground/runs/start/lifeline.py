"""What becomes of a run when the server that started it dies: `survive` (the default) or `die`.

Under `die` the server holds the one writing end of a pipe that nothing is ever written to, and every worker the
reading end. However the server ends, the kernel closes its end, the worker's watch sees that, and ends the run with a
checkpoint. A trial (`runs.trial`) is bound so to whoever makes it, under both. (Linux's own "signal me when my parent
dies" is about the thread that forked, and the threads in which a page handles clicks end.)
"""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

from playground.errors import InvalidConfig, Problem

POLICIES = ("survive", "die")
POLICY_VARIABLE = "PLAYGROUND_ON_SERVER_DEATH"
FD_VARIABLE = "PLAYGROUND_SERVER_FD"


class Handed(NamedTuple):
    """What a new worker gets from us: open files to pass on, and variables."""

    descriptors: tuple[int, ...]
    environment: dict[str, str]


_pipes: list[tuple[int, int]] = []  # the reading and the writing end; more than one where two threads were as quick


def policy() -> str:
    """The policy of workers that this process starts. Raises: InvalidConfig."""
    return _checked(os.environ.get(POLICY_VARIABLE) or "survive")


def choose(chosen: str) -> None:
    """Set the policy for all workers that this process starts from now on. Raises: InvalidConfig."""
    os.environ[POLICY_VARIABLE] = _checked(chosen)


def _checked(chosen: str) -> str:
    if chosen not in POLICIES:
        words = f"{POLICY_VARIABLE} must be one of {', '.join(POLICIES)} (got {chosen[:40]!r})."
        raise InvalidConfig([Problem("on-server-death", words)])
    return chosen


def for_worker(bound: bool = False) -> Handed:
    """What to hand to a worker: nothing under `survive`, else the reading end. Raises: InvalidConfig.

    Args:
        bound: it is to end with us whatever the policy.
    """
    if policy() == "survive" and not bound:
        return Handed((), {FD_VARIABLE: ""})
    if not _pipes:
        _pipes.append(os.pipe())  # neither end is inherited unless it is passed on
    reading = _pipes[0][0]
    return Handed((reading,), {FD_VARIABLE: str(reading)})


def let_go() -> None:
    """End what hangs on this process now, without waiting for its death: under `survive` no more than a trial."""
    while _pipes:
        for descriptor in _pipes.pop():
            with contextlib.suppress(OSError):
                os.close(descriptor)


def adopt() -> int | None:
    """In the worker: the reading end, which is at its end once the server has gone; None under `survive`."""
    descriptor = os.environ.pop(FD_VARIABLE, "")
    if not descriptor:
        return None
    os.set_inheritable(int(descriptor), False)
    return int(descriptor)


os.register_at_fork(after_in_child=let_go)  # a forked child of the server must not keep its end open after it
