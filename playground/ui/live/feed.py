"""The live feed: one tailer for each watched run, whatever the number of viewers.

A viewer gets a snapshot first and then deltas, each encoded once as bytes and shared by all. A tailer starts with the
first viewer and ends soon after the last one. Nothing here is the truth about a run: it is all read from its folder.
What is read of a run is in `run_feed`. Knows nothing of HTTP or gradio. `routes` calls it.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

from playground.errors import RunNotFound
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui.live import wire
from playground.ui.live.run_feed import RunFeed, recorded_id

TICK_SECONDS = 0.4
ENDED_TICK_SECONDS = 2.0
LINGER_SECONDS = 10.0
HEARTBEAT_SECONDS = 15.0
SNAPSHOT_SECONDS = 1.0  # how old what it says of the time may be
SEQ = re.compile(r"[0-9]{1,15}")
KEPT_DELTAS = 300
OPENERS = 2  # threads

T = TypeVar("T")
RECORDED = Path(__file__).parents[1] / "recorded"  # a finished run of each preset, in a folder named after it


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
        self._reading = asyncio.Lock()  # of what `feed` knows, which is not whole while it reads
        self._snapshot: Delta | None = None
        self._snapshot_at = 0.0

    def cursor(self, seq: int) -> str:
        """What a client hands back to go on from here."""
        return f"{self.generation}-{seq}"

    async def read(self, look: Callable[[RunFeed], T]) -> T:
        """What `look` finds in the feed, in a thread, while nothing is read into it."""
        async with self._reading:
            return await asyncio.to_thread(look, self.feed)

    async def snapshot(self) -> Delta:
        """Encoded once for each state of the run, and once more after a while, however many ask: it says how long the
        run has taken."""
        async with self._reading:
            old = not self.feed.ended and time.monotonic() - self._snapshot_at > SNAPSHOT_SECONDS
            if self._snapshot is None or self._snapshot.seq != self.seq or old:
                body = await asyncio.to_thread(lambda: wire.encode(self.feed.snapshot()))
                self._snapshot, self._snapshot_at = Delta(self.seq, body), time.monotonic()
            return self._snapshot

    async def catch_up(self, cursor: str) -> tuple[Delta | None, list[Delta]]:
        """For somebody who comes (back): the deltas after the cursor and the status as it is now, or a snapshot."""
        missed = self.since(cursor)
        if missed is None:
            return await self.snapshot(), []
        if not self.feed.ended:
            now = await self.read(lambda feed: wire.encode({"status": feed.status_now()}))
            missed.append(Delta(missed[-1].seq if missed else _seq_of(cursor), now))
        return None, missed

    def since(self, cursor: str) -> list[Delta] | None:
        """The deltas after a cursor; None if it is from another life or too old, so that a snapshot is due."""
        generation, _, number = cursor.partition("-")
        if generation != self.generation or not SEQ.fullmatch(number):
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
            changed = not self.gone and await self._read_on()
            if changed or self.gone:
                async with self.changed:
                    self.changed.notify_all()
            if self.gone:
                return

    async def _read_on(self) -> bool:
        """Read what is new in the run; False if nothing is."""
        async with self._reading:
            rewritten = self.feed.rewritten
            delta = await asyncio.to_thread(_polled, self.feed)
            if delta is None:
                return False
            self.seq += 1
            if self.feed.rewritten == rewritten:
                self.deltas.append(Delta(self.seq, delta))
            else:
                self.deltas.clear()  # no delta leads there: every viewer gets a snapshot
            return True


class Hub:
    """All watched runs of one outputs folder."""

    def __init__(self, outputs: Path, recorded: Path = RECORDED) -> None:
        self.outputs = Path(outputs)
        order = {preset: place for place, preset in enumerate(catalog.PRESET_ORDER)}
        found = sorted(recorded.glob("*/config.yaml"), key=lambda path: order.get(path.parent.name, len(order)))
        self.recorded = {recorded_id(path.parent.name): path.parent for path in found}
        self._openers = ThreadPoolExecutor(OPENERS, "opener")  # of whole runs; what living ones tell waits for none
        self._channels: dict[str, Channel] = {}
        self._opening: dict[str, asyncio.Task[Channel]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def find(self, run_id: str) -> RunDirectory:
        """The folder of a run id, those of recorded runs included.

        Raises:
            RunNotFound: also for ids that try to be paths.
        """
        if run_id in self.recorded:
            return RunDirectory.open(self.recorded[run_id])
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
        channel = self._channels.get(run_id)
        if channel is None or channel.gone:
            opening = self._opening.get(run_id)
            if opening is None:  # who asks meanwhile waits for the same; who asks for another run does not
                opening = self._opening[run_id] = asyncio.create_task(self._open(run_id))
                opening.add_done_callback(lambda _: self._opening.pop(run_id, None))
            channel = await asyncio.shield(opening)
        channel.last_seen = time.monotonic()
        return channel

    async def _open(self, run_id: str) -> Channel:
        run = self.find(run_id)
        loop = asyncio.get_running_loop()
        channel = Channel(await loop.run_in_executor(self._openers, _read_all, run, run_id in self.recorded))
        self._channels[run_id] = channel
        task = asyncio.create_task(self._run(run_id, channel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return channel

    async def stream(self, run_id: str, cursor: str = "") -> AsyncIterator[bytes]:
        """Server-sent events of one viewer: a snapshot (or what was missed since `cursor`), then deltas, for ever."""
        channel = await self.channel(run_id)
        channel.viewers += 1
        try:
            first, missed = await channel.catch_up(cursor)
            seq = first.seq if first else _seq_of(cursor)
            if first:
                yield _event_bytes("snapshot", channel.cursor(seq), first.body)
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
                    first = await channel.snapshot()
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
        for task in [*self._tasks, *self._opening.values()]:
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


def _seq_of(cursor: str) -> int:
    """The number in a cursor that `since` has taken."""
    return int(cursor.partition("-")[2])


def _read_all(run: RunDirectory, recorded: bool) -> RunFeed:
    feed = RunFeed(run, recorded=recorded)
    feed.poll()
    return feed


def _polled(feed: RunFeed) -> bytes | None:
    delta = feed.poll()
    return None if delta is None else wire.encode(delta)


def _event_bytes(kind: str, cursor: str, body: bytes) -> bytes:
    return b"event: %s\nid: %s\ndata: %s\n\n" % (kind.encode(), cursor.encode(), body)
