"""Who computes a run: a worker that this process starts, or something elsewhere that is asked to.

The launcher goes by it for every start, resumption and place in the queue. Imports nothing that starts anything.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import IO, NamedTuple, Protocol

from playground.config import RunConfig
from playground.runs import queue
from playground.runs.folder.directory import RunDirectory

Spawn = Callable[[RunDirectory, IO[bytes]], subprocess.Popen[bytes]]


class Place(NamedTuple):
    """Where a run is computed. `slot`: what it takes there, for which others wait. `spawn`: starts its worker here, by
    default in a new process, and hands its lock down; or `ask` has it computed elsewhere, and returns at once."""

    slot: str
    spawn: Spawn | None = None
    ask: Callable[[RunDirectory], None] | None = None


class Workers(Protocol):
    """Who starts what computes a run."""

    def place(self, config: RunConfig) -> Place:
        """Where a run of these settings is computed. May ask a slow tool which devices there are."""


class Here(NamedTuple):
    """Workers on the devices of this machine. `spawn`: what makes them; by default a new process."""

    spawn: Spawn | None = None

    def place(self, config: RunConfig) -> Place:
        """On the devices that it names."""
        return Place(queue.slot_of(config), self.spawn)


class Elsewhere(NamedTuple):
    """What computes runs on other machines."""

    slot: str
    ask: Callable[[RunDirectory], None]

    def place(self, config: RunConfig) -> Place:
        """There, whatever it is."""
        return Place(self.slot, ask=self.ask)
