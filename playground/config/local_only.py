"""Which kinds of reward are refused where others are served, whether this process serves others, and what it then says.

The page names its mode to the processes it starts in PLAYGROUND_MODE (`limits.MODE_VARIABLE`); a process without it is
a person's own. What is said here holds also where no one asks `limits`: in a worker, and for a direct call.
"""

from __future__ import annotations

import os

from playground import redaction

MODE = "PLAYGROUND_MODE"
LOCAL, CLASSROOM = "local", "classroom"


_RULES = {  # kind of reward -> the modes in which it can be used, and why in no others
    "python": (
        {LOCAL},
        "a function in Python runs code on this machine, so it can only be used in local mode. Write it as an "
        "expression (kind `expression`), or run the playground on your own machine.",
    ),
    "pattern": (
        {LOCAL, CLASSROOM},
        "a regular expression of this kind can take forever, so visitors cannot use it. Use matches_count in an "
        "expression (kind `expression`).",
    ),
}


def refused_in(mode: str) -> frozenset[str]:
    """The kinds of reward that a mode refuses."""
    return frozenset(kind for kind, (modes, _) in _RULES.items() if mode not in modes)


def refusal(kind: str) -> str | None:
    """Why a reward of this kind cannot be used in this process, as a sentence; None if it can. An unknown mode counts
    as open to strangers."""
    modes, why = _RULES.get(kind, ({os.environ.get(MODE) or LOCAL}, ""))
    if (os.environ.get(MODE) or LOCAL) in modes:
        return None
    return f"This playground is shared, and {why}"


def shareable(message: str) -> str:
    """A message as this process may show it: redacted, and where it serves others without folders of this machine."""
    if is_shared():
        message = redaction.without_folders(message)
    return redaction.redact(message)


def is_shared() -> bool:
    """True for a process that serves others than the person whose machine it is."""
    return (os.environ.get(MODE) or LOCAL) != LOCAL
