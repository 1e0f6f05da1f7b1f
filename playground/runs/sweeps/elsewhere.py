"""The way to other machines: `playground.cluster`, where that is there.

What is handed over is a list of runs that are published and wait, or have ended, and nothing else: a driver holds their
locks from then on and keeps their folders as mirrors, so whoever watches a run need not know where it is computed. It
is looked up by name, because it stands above this package. `sweep_making` calls this.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playground.errors import InvalidConfig, Problem
from playground.runs.folder.directory import RunDirectory

MODULE = "playground.cluster"


def check(place: str) -> None:
    """Can runs be computed there? Raises: InvalidConfig, where not, with what to do."""
    cluster = _cluster(place)
    cluster.check(place, cluster.Options())


def hand_over(outputs: Path, name: str, runs: Sequence[RunDirectory], place: str) -> None:
    """Have these runs of a sweep computed there; returns at once. Raises: PlaygroundError, OSError."""
    _cluster(place).hand_over(outputs, name, [run.id for run in runs], place)


def _cluster(place: str) -> Any:
    if importlib.util.find_spec(MODULE) is None:
        sentence = f"`{place}` is not installed here. Leave it out, and the runs wait in this machine's queue."
        raise InvalidConfig([Problem("on", sentence)])
    return importlib.import_module(MODULE)
