"""The live feed: one tailer for each watched run, whatever the number of viewers.

A viewer gets a snapshot first and then deltas, each encoded once as bytes and shared by all. A tailer starts with the
first viewer and ends soon after the last one. Nothing here is the truth about a run: it is all read from its folder.
Knows run directories and `wire`; nothing of HTTP or gradio. `routes` calls it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from playground.config import RunConfig
from playground.errors import InvalidConfig, RunNotFound
from playground.rewards.mixture import term_names
from playground.runs import control, history
from playground.runs.directory import JsonlTail, RunDirectory
from playground.runs.records import (
    RESUMED,
    Evaluation,
    Event,
    Resumption,
    Sample,
    UpdateMetrics,
    events_in_force,
    in_force,
    resumptions,
)
from playground.ui import standing, wire, wire_rewards

TICK_SECONDS = 0.4
ENDED_TICK_SECONDS = 2.0
LINGER_SECONDS = 10.0
HEARTBEAT_SECONDS = 15.0
KEPT_DELTAS = 300
MAX_EVENTS = 500

RECORDED = Path(__file__).parent / "recorded" / "kinder-reviews"
RECORDED_ID = "_recorded"  # not a possible run id, so it can never hide a run


class Delta(NamedTuple):
    """One encoded change and its number."""

    seq: int
    body: bytes


class RunFeed:
    """One run as the page needs it: columns of metrics, evaluations, events. `poll` reads what is new."""

    def __init__(self, run: RunDirectory, *, recorded: bool = False) -> None:
        self.run = run
        self.recorded = recorded
        self.config = run.config()
        self.status: dict[str, Any] = {}
        self.rewritten = 0  # how often the run was taken up again, so that what was shown no longer holds
        self._ended_seen = False
        self._status_key: tuple[Any, ...] = ()
        self._begin()

    def _begin(self) -> None:
        """Nothing has been read yet."""
        run = self.run
        self.columns = wire.new_columns(term_names(self.config.rewards))
        self.samples: list[Sample] = []
        self.evaluations: list[Evaluation] = []
        self.events: list[dict[str, Any]] = []
        self.edits: list[control.Edit] = []
        self._resumed: list[Resumption] = []
        self._waits: list[tuple[int, float]] = []  # (update after which it was paused, seconds)
        self._paused_since: float | None = None
        self._tails = {
            "metrics": JsonlTail(run.metrics_path),
            "samples": JsonlTail(run.samples_path),
            "evaluations": JsonlTail(run.evaluations_path),
            "events": JsonlTail(run.events_path),
        }

    @property
    def unit(self) -> str:
        """Unit of the score."""
        return "sd" if self.config.score.normalise == "reference" else "points"

    @property
    def waited(self) -> float:
        """Seconds of pauses between the first and the newest update that is written."""
        updates = self.columns["update"]
        return sum(seconds for update, seconds in self._waits if updates and updates[0] <= update < updates[-1])

    @property
    def ended(self) -> bool:
        """True once the run has ended and everything it wrote has been read."""
        return bool(self.status.get("ended")) and self._ended_seen

    def poll(self) -> dict[str, Any] | None:
        """Read what is new since the last call, as the content of a delta; None if nothing is."""
        status = self.run.status()  # first: whatever was written before an end is then surely read below
        delta: dict[str, Any] = {}
        happened = _records(self._tails["events"], Event)
        if any(event.kind == RESUMED for event in happened):
            self._begin()  # what was read of superseded updates goes: all is read once more
            self.rewritten += 1
            happened = _records(self._tails["events"], Event)
            self._resumed = resumptions(happened)
        before = len(self.columns["update"])
        metrics = in_force(_records(self._tails["metrics"], UpdateMetrics), self._resumed)
        for record in metrics:
            wire.append(self.columns, record)
        if metrics:
            start = max(0, min(before, len(self.columns["update"]) - len(metrics)))
            delta["metrics"] = {name: values[start:] for name, values in self.columns.items()}
            delta["farmed"] = wire_rewards.farmed(self.columns, self.config)
        samples = in_force(_records(self._tails["samples"], Sample), self._resumed)
        if samples:
            self.samples += samples
            delta.update(self._evaluations(min(item.update for item in samples)))
            delta["judged"] = wire_rewards.judged(self.samples, self.config)
        if evaluations := in_force(_records(self._tails["evaluations"], Evaluation), self._resumed):
            self.evaluations += evaluations
            delta["text"] = wire.text_perplexity(self.evaluations)
        if events := self._events(events_in_force(happened)):
            self.events = (self.events + events)[-MAX_EVENTS:]
            delta["events"] = events
        stands = standing.of(self.run, status)
        key = (
            status.state, status.phase, status.message, status.update, status.num_updates, status.attempt, stands.key
        )  # fmt: skip
        if key != self._status_key or metrics:
            self._status_key = key
            outcome = wire.outcome_sentence(self.samples, self.unit) if status.ended else ""
            self.status = wire.status_data(status, self.columns, outcome, self.waited, stands)
            delta["status"] = self.status
        self._ended_seen = status.ended
        return delta or None

    def snapshot(self) -> dict[str, Any]:
        """Everything so far: of the evaluations the first and the newest (a recorded run brings all, to be played)."""
        grouped = wire.moments(self.samples)
        wanted = list(grouped) if self.recorded else sorted({*list(grouped)[:1], *list(grouped)[-1:]})
        status = self.status
        if not status.get("ended"):
            now = self.run.status()
            status = wire.status_data(now, self.columns, waited=self.waited, standing=standing.of(self.run, now))
        return {
            "run": wire.run_summary(
                RECORDED_ID if self.recorded else self.run.id,
                self.config,
                recorded=self.recorded,
                can_ask=not self.recorded and self.run.latest_checkpoint() is not None,
            ),
            "status": status,
            "live": {} if self.recorded or status["ended"] else wire.live_values(self.current_config()),
            "metrics": wire.thinned(self.columns),
            "text": wire.text_perplexity(self.evaluations),
            "farmed": wire_rewards.farmed(self.columns, self.config),
            "judged": wire_rewards.judged(self.samples, self.config),
            "events": self.events,
            "prompts": wire.prompts(next(iter(grouped.values()), [])),
            "updates": list(grouped),
            "moments": [wire.moment(grouped[update]) for update in wanted],
        }

    def moment(self, update: int) -> dict[str, Any] | None:
        """One evaluation by its update."""
        found = wire.moments(self.samples).get(update)
        return wire.moment(found) if found else None

    def current_config(self) -> RunConfig:
        """The configuration with every change that was applied in mid-run."""
        try:
            return control.edited(self.config, self.edits)
        except InvalidConfig:  # events that somebody wrote by hand; the page can live with the first values
            return self.config

    def _events(self, events: list[Event]) -> list[dict[str, Any]]:
        """What the page shows of new events; edits and the time spent in pauses are kept."""
        self.edits += control.edits_of(events)
        found = []
        for event in events:
            if event.kind == RESUMED:  # the time in between is in nobody's clock
                self._waits = [item for item in self._waits if item[0] < event.update]
                self._paused_since = None
            elif event.kind == "state":
                self._count_pause(event)
            shown = wire.event_data(event)
            if shown:
                found.append(shown)
        return found

    def _count_pause(self, event: Event) -> None:
        if event.data.get("state") == "paused":
            self._paused_since = event.time
            return
        if self._paused_since is not None:
            self._waits.append((event.update, event.time - self._paused_since))
        self._paused_since = None

    def _evaluations(self, since: int) -> dict[str, Any]:
        grouped = wire.moments(item for item in self.samples if item.update >= since)
        newest = max(grouped)
        shown = [wire.moment(grouped[newest])]
        data: dict[str, Any] = {"updates": sorted({item.update for item in self.samples}), "moments": shown}
        if min(grouped) == 0:
            data["prompts"] = wire.prompts(grouped[0])
            if newest != 0:
                shown.insert(0, wire.moment(grouped[0]))
        return data


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
        try:
            await channel.tail()
        finally:
            if self._channels.get(run_id) is channel:
                del self._channels[run_id]


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


def _records(tail: JsonlTail, kind: type[Any]) -> list[Any]:
    found = []
    for item in tail.read_new():
        with contextlib.suppress(ValidationError):
            found.append(kind.model_validate(item))
    return found
