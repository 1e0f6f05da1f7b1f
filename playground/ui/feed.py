"""The live feed: one tailer for each watched run, whatever the number of viewers.

A viewer gets a snapshot first and then deltas, each encoded once as bytes and shared by all. A tailer starts with the
first viewer and ends soon after the last one. Nothing here is the truth about a run: it is all read from its folder.
What is read of a run is in `run_feed`. Knows nothing of HTTP or gradio. `routes` calls it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from playground.errors import RunNotFound
from playground.runs import history
from playground.runs.directory import RunDirectory
from playground.ui import wire
from playground.ui.run_feed import RECORDED_ID, RunFeed

TICK_SECONDS = 0.4
ENDED_TICK_SECONDS = 2.0
LINGER_SECONDS = 10.0
HEARTBEAT_SECONDS = 15.0
KEPT_DELTAS = 300

RECORDED = Path(__file__).parent / "recorded" / "kinder-reviews"


class Delta(NamedTuple):
    """One encoded change and its number."""

    seq: int
    body: bytes


class Channel:
    """A feed, its recent deltas, and those who wait for the next one."""

    def __init__(self, feed: RunFeed) -> None:
        self.feed = feed
        self.generation = secrets.token_hex(4)
        self.viewers = 0
        self.last_seen = time.monotonic()
        self.seq = 0
        self.deltas: deque[Delta] = deque(maxlen=KEPT_DELTAS)
        self.changed = asyncio.Condition()
        self.gone = False
        self.closing = False
        self._snapshot: Delta | None = None

    def cursor(self, seq: int) -> str:
        """What a client hands back to go on from here."""
        return f"{self.generation}-{seq}"

    def snapshot(self) -> Delta:
        """Encoded once for each state of the run, however many ask."""
        if self._snapshot is None or self._snapshot.seq != self.seq:
            self._snapshot = Delta(self.seq, wire.encode(self.feed.snapshot()))
        return self._snapshot

    def since(self, cursor: str) -> list[Delta] | None:
        """The deltas after a cursor; None if it is from another life or too old, so that a snapshot is due."""
        generation, _, number = cursor.partition("-")
        if generation != self.generation or not number.isdigit():
            return None
        seq = int(number)
        oldest = self.deltas[0].seq if self.deltas else self.seq + 1
        return None if seq > self.seq or seq + 1 < oldest else [item for item in self.deltas if item.seq > seq]

    async def tail(self) -> None:
        """Read the run until nobody has watched it for a while."""
        while self.viewers or time.monotonic() - self.last_seen < LINGER_SECONDS:
            await asyncio.sleep(ENDED_TICK_SECONDS if self.feed.ended else TICK_SECONDS)
            if not self.feed.run.config_path.exists():
                self.gone = True
            rewritten = self.feed.rewritten
            delta = None if self.gone else await asyncio.to_thread(self.feed.poll)
            async with self.changed:
                if delta:
                    self.seq += 1
                    if self.feed.rewritten == rewritten:
                        self.deltas.append(Delta(self.seq, wire.encode(delta)))
                    else:
                        self.deltas.clear()  # no delta leads there: every viewer gets a snapshot
                if delta or self.gone:
                    self.changed.notify_all()
            if self.gone:
                return


class Hub:
    """All watched runs of one outputs folder."""

    def __init__(self, outputs: Path, recorded: Path = RECORDED) -> None:
        self.outputs = Path(outputs)
        self.recorded = recorded
        self._channels: dict[str, Channel] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._opening = asyncio.Lock()

    def find(self, run_id: str) -> RunDirectory:
        """The folder of a run id, the recorded run included.

        Raises:
            RunNotFound: also for ids that try to be paths.
        """
        if run_id == RECORDED_ID:
            return RunDirectory.open(self.recorded)
        try:
            return history.find_run(self.outputs, run_id)
        except RunNotFound:
            raise RunNotFound(
                f"There is no run `{run_id[:60]}` here. It may have been deleted; the Runs page lists those there are."
            ) from None

    async def channel(self, run_id: str) -> Channel:
        """The channel of a run; opened, read and tailed if this is its first viewer.

        Raises:
            RunNotFound, InvalidConfig (a damaged configuration).
        """
        async with self._opening:
            channel = self._channels.get(run_id)
            if channel is None or channel.gone:
                run = self.find(run_id)
                feed = await asyncio.to_thread(_read_all, run, run_id == RECORDED_ID)
                channel = self._channels[run_id] = Channel(feed)
                task = asyncio.create_task(self._run(run_id, channel))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            channel.last_seen = time.monotonic()
            return channel

    async def stream(self, run_id: str, cursor: str = "") -> AsyncIterator[bytes]:
        """Server-sent events of one viewer: a snapshot (or what was missed since `cursor`), then deltas, for ever."""
        channel = await self.channel(run_id)
        channel.viewers += 1
        try:
            missed = channel.since(cursor)
            if missed is None:
                first = channel.snapshot()
                missed = []
                seq = first.seq
                yield _event_bytes("snapshot", channel.cursor(seq), first.body)
            else:
                seq = int(cursor.partition("-")[2])
            while True:
                for item in missed:
                    seq = item.seq
                    yield _event_bytes("delta", channel.cursor(seq), item.body)
                if channel.gone:
                    yield b"event: gone\ndata: {}\n\n"
                    return
                if not await _wait(channel, seq):
                    yield b": still here\n\n"
                if channel.closing:
                    return
                later = channel.since(channel.cursor(seq))
                if later is None:  # this viewer was too slow for the kept deltas
                    first = channel.snapshot()
                    seq, later = first.seq, []
                    yield _event_bytes("snapshot", channel.cursor(seq), first.body)
                missed = later
        finally:
            channel.viewers -= 1
            channel.last_seen = time.monotonic()

    @property
    def watched(self) -> int:
        """How many runs are being tailed."""
        return len(self._channels)

    async def close(self) -> None:
        """End all streams and tailers; a server that waits for its connections can then stop at once."""
        for channel in list(self._channels.values()):
            async with channel.changed:
                channel.closing = True
                channel.changed.notify_all()
        for task in list(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _run(self, run_id: str, channel: Channel) -> None:
        """Tail a run. If it cannot be read (too many open files, a disk that hiccups), what was read in part is dropped
        and the viewers are let go: each comes back by itself, and all is read anew."""
        try:
            with contextlib.suppress(OSError):
                await channel.tail()
        finally:
            if self._channels.get(run_id) is channel:
                del self._channels[run_id]
            if not channel.gone:  # of which they are told
                async with channel.changed:
                    channel.closing = True
                    channel.changed.notify_all()


async def _wait(channel: Channel, seq: int) -> bool:
    """Wait for something newer than `seq`; False after a while without."""
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS), channel.changed:
            await channel.changed.wait_for(lambda: channel.seq > seq or channel.gone or channel.closing)
            return True
    except TimeoutError:
        return False


def _read_all(run: RunDirectory, recorded: bool) -> RunFeed:
    feed = RunFeed(run, recorded=recorded)
    feed.poll()
    return feed


def _event_bytes(kind: str, cursor: str, body: bytes) -> bytes:
    return b"event: %s\nid: %s\ndata: %s\n\n" % (kind.encode(), cursor.encode(), body)
