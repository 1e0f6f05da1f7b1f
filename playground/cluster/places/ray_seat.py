"""What Ray starts on a node for each attempt of a run: an actor with a seat in it.

It needs two threads (max_concurrency=2): one tells the news for as long as the attempt lasts, one takes requests.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

from playground.cluster.news import News
from playground.cluster.seat import Seat, fresh_folder
from playground.runs.start import lifeline


class RaySeat:
    """One attempt, in a process of Ray's; the worker below it does not outlive that."""

    def __init__(self) -> None:
        lifeline.choose("die")
        self._seat: Seat | None = None
        self._left = False

    def ready(self) -> None:
        """Returns once there is a node, and the project is on it."""

    def news(self, run_id: str, parcel: bytes, checkpoint_seconds: float) -> Iterator[list[News]]:
        """Begin the attempt, and tell of it to its end. Raises: see `Seat`."""
        from ray import get_runtime_context

        node = f"{socket.gethostname()} ({get_runtime_context().get_node_id()[:8]})"
        self._seat = Seat(parcel, fresh_folder(run_id), checkpoint_seconds, node=node)
        if self._left:  # while it was made
            self._seat.leave()
            return
        yield from self._seat.news()

    def control(self, name: str, data: bytes | None) -> None:
        """A request for the worker."""
        if self._seat is not None:
            self._seat.control(name, data)

    def leave(self) -> None:
        """End the worker and delete its folder."""
        self._left = True
        if self._seat is not None:
            self._seat.leave()
