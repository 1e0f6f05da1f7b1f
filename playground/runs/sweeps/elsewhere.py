"""The way to engines that compute a sweep on other machines: `playground.cluster`, where that is installed.

What is handed over is a list of runs that are published and wait, and nothing else: the engine holds their locks from
then on, and mirrors what its workers write into their folders, so whoever watches a run need not know where it is.
Looked up by name, because engines stand above this package. `sweep_making` calls it.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path

from playground.errors import InvalidConfig, Problem
from playground.runs.folder.directory import RunDirectory

MODULE = "playground.cluster"
Engine = Callable[[Path, str, Sequence[RunDirectory]], None]  # outputs, the sweep's name, its runs; returns at once


def engine(on: str) -> Engine:
    """What starts runs there: `start_on(place)` of the module. Raises: InvalidConfig, where that is not installed."""
    if importlib.util.find_spec(MODULE) is None:
        raise InvalidConfig(
            [Problem("on", f"`{on}` is not installed here. Leave it out, and the runs wait in this machine's queue.")]
        )
    found: Engine = importlib.import_module(MODULE).start_on(on)
    return found
