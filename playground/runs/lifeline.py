"""What becomes of a run when the server that started it dies: `survive` (the default) or `die`.

Under `die` every worker knows which process its server is, and its watch looks again and again whether that is still
there; if it is not, the run ends with a checkpoint. A trial (`runs.trial`) is bound so to who makes it, under both.
(Linux's own "signal me when my parent dies" is about the thread that forked, and the threads in which a page handles
clicks end.)
"""

from __future__ import annotations

import json
import os

from playground.errors import InvalidConfig, Problem
from playground.process_identity import Identity, identity

POLICIES = ("survive", "die")
POLICY_VARIABLE = "PLAYGROUND_ON_SERVER_DEATH"
SERVER_VARIABLE = "PLAYGROUND_SERVER"


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


def for_worker(bound: bool = False) -> dict[str, str]:
    """The variable that names this process to a worker, or is empty under `survive`. Raises: InvalidConfig.

    Args:
        bound: it is to end with us whatever the policy.
    """
    ends = policy() == "die" or bound
    return {SERVER_VARIABLE: json.dumps(identity(os.getpid())) if ends else ""}


def server() -> Identity | None:
    """In the worker: the process with which it ends; None where it survives."""
    named = os.environ.pop(SERVER_VARIABLE, "")
    return Identity(*json.loads(named)) if named else None


def is_gone(server: Identity) -> bool:
    """True once that process has ended."""
    found = identity(server.pid)
    return found is None or not found.is_same(server)
