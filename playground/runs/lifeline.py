"""What becomes of a run when the server that started it dies: `survive` (the default) or `die`.

Under `die` the watch of every worker checks that its server is there; if not, the run ends with a checkpoint. (Linux's
"signal me when my parent dies" is about the thread that forked; those in which a page handles clicks end.)
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
    """The policy of workers that this process starts. Raises: InvalidConfig, for a word that there is not, with which
    they survive."""
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
    """The variable that names this process to a worker; empty under `survive`, unless it is `bound` to us anyway."""
    ends = bound or os.environ.get(POLICY_VARIABLE) == "die"
    return {SERVER_VARIABLE: json.dumps(identity(os.getpid())) if ends else ""}


def server() -> Identity | None:
    """In the worker: the process with which it ends; None where it survives."""
    named = os.environ.pop(SERVER_VARIABLE, "")
    if named:
        return Identity(*json.loads(named))
    return None


def is_gone(server: Identity) -> bool:
    """True once that process has ended."""
    living = identity(server.pid)
    return living is None or not living.is_same(server)
