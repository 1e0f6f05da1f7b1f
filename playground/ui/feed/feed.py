"""The live feed: one tailer for each watched run, whatever the number of viewers; what it reads is in `run_feed`.

A viewer gets a snapshot first and then deltas, each encoded once as bytes and shared by all. A tailer starts with the
first viewer and ends soon after the last one.
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
from playground.lessons import mysteries
from playground.lessons.loading import Lessons
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui.feed.run_feed import RunFeed, recorded_id
from playground.ui.feed.run_serializer import encode

TICK_SECONDS = 0.4
ENDED_TICK_SECONDS = 2.0
LINGER_SECONDS = 10.0
HEARTBEAT_SECONDS = 15.0
SNAPSHOT_SECONDS = 1.0  # how old what it says of the time may be
SEQ = re.compile(r"[0-9]{1,15}")
KEPT_DELTAS = 300
OPENERS = 2  # threads

T = TypeVar("T")
RECORDED = catalog.RECORDED


class Message(NamedTuple):
    """One encoded state or change of a run, and its number."""

    kind: str  # snapshot or delta
    seq: int
    body: bytes


class Channel:
    """A feed, its recent deltas, and those who wait for the next one. `linger`: how many seconds it is read on without
    viewers."""

    def __init__(self, feed: RunFeed, linger: float) -> None:
        self.feed, self.linger = feed, linger
        self.generation = secrets.token_hex(4)
        self.viewers = 0
        self.last_seen = time.monotonic()
        self.seq = 0
        self.deltas: deque[Message] = deque(maxlen=KEPT_DELTAS)
        self.changed = asyncio.Condition()
        self.gone = False
        self.closing = False
        self._reading = asyncio.Lock()  # of what `feed` knows, which is not whole while it reads
        self._snapshot: Message | None = None
        self._snapshot_at = 0.0

    def cursor(self, seq: int) -> str:
        """What a client hands back to go on from here."""
        return f"{self.generation}-{seq}"

    async def read(self, ask: Callable[[RunFeed], T]) -> T:
        """What `ask` finds in the feed, in a thread, while nothing is read into it."""
        async with self._reading:
            return await asyncio.to_thread(ask, self.feed)

    async def snapshot(self) -> Message:
        """Encoded once for each state of the run, and again after a while: it says how long the run has taken."""
        async with self._reading:
            old = not self.feed.ended and time.monotonic() - self._snapshot_at > SNAPSHOT_SECONDS
            if self._snapshot is None or self._snapshot.seq != self.seq or old:
                body = await asyncio.to_thread(lambda: encode(self.feed.snapshot()))
                self._snapshot, self._snapshot_at = Message("snapshot", self.seq, body), time.monotonic()
            return self._snapshot

    async def after(self, cursor: str, *, with_status: bool = False) -> list[Message]:
        """What leads from a cursor to now: deltas, or a snapshot where the cursor is from another life or too old.
        `with_status`: behind deltas, the status as it is now, for a viewer who comes back."""
        missed = self.since(cursor)
        if missed is None:
            return [await self.snapshot()]
        if with_status and not self.feed.ended:
            now = await self.read(lambda feed: encode({"status": feed.status_now()}))
            missed.append(Message("delta", missed[-1].seq if missed else _seq_of(cursor), now))
        return missed

    def since(self, cursor: str) -> list[Message] | None:
        """The deltas after a cursor; None where a snapshot is due."""
        generation, _, number = cursor.partition("-")
        if generation != self.generation or not SEQ.fullmatch(number):
            return None
        seq = int(number)
        oldest = self.seq + 1
        if self.deltas:
            oldest = self.deltas[0].seq
        if seq > self.seq or seq + 1 < oldest:
            return None
        return [item for item in self.deltas if item.seq > seq]

    async def wait(self, cursor: str) -> bool:
        """Wait for something newer than a cursor; False after a while without."""
        seq = _seq_of(cursor)
        try:
            async with asyncio.timeout(HEARTBEAT_SECONDS), self.changed:
                await self.changed.wait_for(lambda: self.seq > seq or self.gone or self.closing)
                return True
        except TimeoutError:
            return False

    async def tail(self) -> None:
        """Read the run until it has not been watched for a while. If it cannot be read, the viewers are let go: each
        comes back by itself, and all is read again."""
        with contextlib.suppress(OSError):
            while not self.gone and (self.viewers or time.monotonic() - self.last_seen < self.linger):
                await asyncio.sleep(ENDED_TICK_SECONDS if self.feed.ended else TICK_SECONDS)
                self.gone = not self.feed.run.config_path.exists()
                if self.gone or await self.read_on():
                    await self._notify()

    async def close(self) -> None:
        """Let the viewers go."""
        self.closing = True
        await self._notify()

    async def read_on(self) -> bool:
        """Read what is new in the run; False if nothing is."""
        async with self._reading:
            rewritten = self.feed.rewritten
            delta = await asyncio.to_thread(self.feed.poll)
            if delta is None:
                return False
            self.seq += 1
            if self.feed.rewritten == rewritten:
                self.deltas.append(Message("delta", self.seq, encode(delta)))
            else:
                self.deltas.clear()  # no delta leads there: every viewer gets a snapshot
            return True

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()


class Hub:
    """All watched runs of one outputs folder, beside the recorded ones, and the lessons that are about such runs."""

    def __init__(self, outputs: Path, recorded: Path = RECORDED, lessons: Lessons | None = None) -> None:
        self.outputs, self.lessons, self.linger = Path(outputs), lessons or Lessons(), LINGER_SECONDS
        order = {preset: index for index, preset in enumerate(catalog.stories())}
        paths = sorted(recorded.glob("*/config.yaml"), key=lambda path: order.get(path.parent.name, len(order)))
        self.recorded = {recorded_id(path.parent.name): path.parent for path in paths}
        self.mysteries = {recorded_id(path.name): path for path in mysteries.recorded()}
        self._openers = ThreadPoolExecutor(OPENERS, "opener")  # of whole runs; what living ones write waits for none
        self._channels: dict[str, Channel] = {}
        self._opening: dict[str, asyncio.Task[Channel]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def shipped(self, run_id: str) -> Path | None:
        """The folder of a recorded run; None for any other id."""
        return self.recorded.get(run_id) or self.mysteries.get(run_id)

    def find(self, run_id: str) -> RunDirectory:
        """The folder of a run id, those of recorded runs included. Raises: RunNotFound."""
        if shipped := self.shipped(run_id):
            return RunDirectory.open(shipped)
        try:
            return history.find_run(self.outputs, run_id)
        except RunNotFound:
            raise RunNotFound(
                f"There is no run `{run_id[:60]}` here. It may have been deleted; the Runs page lists the "
                "existing ones."
            ) from None

    async def channel(self, run_id: str) -> Channel:
        """The channel of a run, opened for its first viewer. Raises: RunNotFound, InvalidConfig."""
        channel = self._channels.get(run_id)
        if channel is None or channel.gone:
            opening = self._opening.get(run_id)
            if opening is None:  # all who ask meanwhile wait for the same; other runs do not
                opening = self._opening[run_id] = asyncio.create_task(self._open(run_id))
                opening.add_done_callback(lambda _: self._opening.pop(run_id, None))
            channel = await asyncio.shield(opening)
        channel.last_seen = time.monotonic()
        return channel

    async def _open(self, run_id: str) -> Channel:
        run = self.find(run_id)
        loop = asyncio.get_running_loop()
        feed = await loop.run_in_executor(self._openers, _read_all, run, self.shipped(run_id) is not None)
        channel = Channel(feed, self.linger)
        self._channels[run_id] = channel
        task = asyncio.create_task(self._tail(run_id, channel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return channel

    async def stream(self, run_id: str, cursor: str = "") -> AsyncIterator[bytes]:
        """Server-sent events of one viewer: a snapshot, or what was missed since `cursor`, then deltas, forever."""
        channel = await self.channel(run_id)
        channel.viewers += 1
        try:
            messages = await channel.after(cursor, with_status=True)
            while True:
                for item in messages:
                    cursor = channel.cursor(item.seq)
                    yield b"event: %s\nid: %s\ndata: %s\n\n" % (item.kind.encode(), cursor.encode(), item.body)
                if channel.gone:
                    yield b"event: gone\ndata: {}\n\n"
                    return
                if not await channel.wait(cursor):
                    yield b": still here\n\n"
                if channel.closing:
                    return
                messages = await channel.after(cursor)
        finally:
            channel.viewers -= 1
            channel.last_seen = time.monotonic()

    @property
    def watched(self) -> int:
        """How many runs are being tailed."""
        return len(self._channels)

    async def close(self) -> None:
        """End all streams and tailers."""
        for channel in list(self._channels.values()):
            await channel.close()
        for task in [*self._tasks, *self._opening.values()]:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _tail(self, run_id: str, channel: Channel) -> None:
        try:
            await channel.tail()
        finally:
            if self._channels.get(run_id) is channel:
                del self._channels[run_id]
            if not channel.gone:  # of which its viewers hear
                await channel.close()


def _seq_of(cursor: str) -> int:
    """The number in a cursor that `since` has taken."""
    return int(cursor.partition("-")[2])


def _read_all(run: RunDirectory, recorded: bool) -> RunFeed:
    feed = RunFeed(run, recorded=recorded)
    feed.poll()
    return feed
