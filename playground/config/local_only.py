"""Which kinds of reward are for a person's own machine only, and whether this process serves others.

The server names its mode to the processes it starts in PLAYGROUND_MODE. A process without it is a person's own.
"""

from __future__ import annotations

import os

MODE = "PLAYGROUND_MODE"
LOCAL = "local"
_WHY = {
    "python": "a function in Python runs code on this machine, so it can only be used in local mode. Write it as an "
    "expression (kind `expression`), or run the playground on your own machine.",
    "pattern": "a regular expression of this kind can take endless time, so it can only be used in local mode. Use "
    "matches_count in an expression (kind `expression`).",
}
KINDS = tuple(_WHY)


def is_local() -> bool:
    """True where the person at the keyboard owns the machine; any mode that is not known counts as not local."""
    return os.environ.get(MODE, LOCAL) == LOCAL


def refusal(kind: str) -> str | None:
    """Why a reward of this kind cannot be used here, as a sentence; None if it can."""
    why = _WHY.get(kind)
    if why is None or is_local():
        return None
    return f"This playground is shared, and {why}"
