"""A place on this machine: each run in a process of its own, below the driver. For tests, and for trying a sweep out.

The queue of the outputs folder, which gives each device to one run at a time, knows nothing of these; so at most
`at_once` of them compute at a time, on whatever device their configuration means.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from playground.cluster.news import Lost, News
from playground.cluster.place import Needs, Options
from playground.cluster.seat import LOOK_SECONDS, Seat, fresh_folder
from playground.errors import PlaygroundError
from playground.runs.start import lifeline
from playground.runs.start.launcher import Spawn


class LocalPlace:
    """See the module. `spawn`: what starts the workers (see `launcher.start`)."""

    def __init__(self, options: Options, spawn: Spawn | None = None) -> None:
        lifeline.choose("die")  # whatever becomes of the driver, no worker outlives it
        self._options, self._spawn = options, spawn
        self._wanted: dict[str, Callable[[], bytes]] = {}
        self._seats: dict[str, Seat] = {}

    def begin(self, run_id: str, parcel: Callable[[], bytes], needs: Needs) -> None:
        self._wanted[run_id] = parcel

    def news(self, seconds: float) -> list[tuple[str, list[News]]]:
        found: list[tuple[str, list[News]]] = []
        for run_id in list(self._wanted):
            parcel, folder = self._wanted.pop(run_id), fresh_folder(run_id)
            try:
                self._seats[run_id] = Seat(parcel(), folder, self._options.checkpoint_seconds, self._spawn)
            except (OSError, PlaygroundError) as error:
                found.append((run_id, [Lost(f"its worker could not be started here ({error})")]))
        for run_id, seat in list(self._seats.items()):
            found += [(run_id, batch) for batch in seat.look()]
            if seat.over:
                self.give_up(run_id)
        if not found:
            time.sleep(min(seconds, LOOK_SECONDS))
        return found

    def control(self, run_id: str, name: str, data: bytes | None) -> None:
        if seat := self._seats.get(run_id):
            seat.control(name, data)

    def give_up(self, run_id: str) -> None:
        self._wanted.pop(run_id, None)
        if seat := self._seats.pop(run_id, None):
            seat.leave()

    def close(self) -> None:
        lifeline.let_go()  # all of them at once, before each is waited for
        for run_id in list(self._seats):
            self.give_up(run_id)
