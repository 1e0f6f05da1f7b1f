"""One tailer for each watched run; a snapshot first, then deltas that all viewers share."""

import asyncio
import contextlib
import json
import threading

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.ui.feed import feed, run_feed
from tests.ui import fake_run


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(feed, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(feed, "ENDED_TICK_SECONDS", 0.01)
    monkeypatch.setattr(feed, "LINGER_SECONDS", 0.05)


@pytest.fixture
def started(tmp_path, monkeypatch):
    """A run in its first update, and its writer. It counts as alive."""
    monkeypatch.setattr(RunDirectory, "is_alive", lambda self: True)
    config = catalog.preset("kinder-reviews")
    run = RunDirectory.create(tmp_path, config, "one")
    writer = RunWriter(run, 40)
    writer.set_status(state="running", phase="writing and learning")
    writer.samples(fake_run.samples_of(config, 0)[:8])
    writer.metrics(fake_run.metrics(1, config, 3.0))
    return run, writer, config


@contextlib.asynccontextmanager
async def opened(folder):
    """The hub of a folder, and a function that views a run in it; all is closed afterwards."""
    hub = feed.Hub(folder)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(hub.close)

        def view(run_id="one", cursor=""):
            stream = hub.stream(run_id, cursor)
            stack.push_async_callback(stream.aclose)
            return stream

        yield hub, view


async def message(stream):
    """The next one of a stream: kind, cursor, data."""
    async with asyncio.timeout(60):
        text = (await anext(stream)).decode().strip()
    fields = dict(line.split(": ", 1) for line in text.split("\n") if ": " in line)
    return fields.get("event"), fields.get("id"), json.loads(fields["data"]) if "data" in fields else None


async def message_with(stream, name):
    while name not in (news := await message(stream))[2]:
        pass
    return news


def test_nobody_is_told_of_an_end_before_the_last_texts(started):
    run, writer, config = started
    reader = run_feed.RunFeed(run)
    reader.poll()
    writer.samples(fake_run.samples_of(config, 4)[:8])
    writer.finish("finished")
    assert (reader.snapshot()["status"]["state"], reader.snapshot()["updates"]) == ("running", [0])
    assert reader.status_now()["state"] == "running", "for a viewer who comes back"
    reader.poll()
    assert (reader.snapshot()["status"]["state"], reader.snapshot()["updates"]) == ("finished", [0, 4])


async def test_a_resumed_run_shows_nothing_of_what_it_makes_again(started, tmp_path):
    run, writer, config = started
    for update in (2, 3, 4):
        writer.metrics(fake_run.metrics(update, config, 3.0 + update))
        writer.set_status(update=update)
        writer.event("edit", f"after {update}", field="kl.coef", old=0.1, value=update / 10)
    writer.samples(fake_run.samples_of(config, 4)[:8])
    async with opened(tmp_path) as (_, view):
        stream = view()
        _, _, data = await message(stream)
        assert (data["metrics"]["update"], data["updates"]) == ([1, 2, 3, 4], [0, 4])
        again = RunWriter(run, 40, attempt=2)
        again.set_status(update=2)
        again.event("resumed", "Resumed after update 2.", checkpoint="update-000002", seconds=5.0)
        kind, _, data = await message_with(stream, "metrics")  # perhaps behind one of the status
        assert kind == "snapshot"
        assert data["metrics"]["update"] == [1, 2]
        assert data["updates"] == [0]
        assert [item["update"] for item in data["events"] if item["kind"] == "edit"] == []
        assert data["live"]["kl.coef"] == config.kl.coef
        again.metrics(fake_run.metrics(3, config, 9.0))
        kind, _, data = await message_with(stream, "metrics")
        assert (kind, data["metrics"]["update"]) == ("delta", [3])
        _, _, data = await message(view())
        assert (data["metrics"]["update"], data["metrics"]["seconds"][-1]) == ([1, 2, 3], 9.0)


async def test_many_viewers_share_one_tailer_and_its_bytes(started, tmp_path, monkeypatch):
    _, writer, config = started
    monkeypatch.setattr(feed, "SNAPSHOT_SECONDS", 60.0)
    snapshots = []
    snapshot = run_feed.RunFeed.snapshot
    monkeypatch.setattr(run_feed.RunFeed, "snapshot", lambda self: snapshots.append(1) or snapshot(self))
    async with opened(tmp_path) as (hub, view):
        streams = [view() for _ in range(30)]
        assert len({await anext(stream) for stream in streams}) == 1
        assert hub.watched == 1
        writer.metrics(fake_run.metrics(2, config, 4.0))
        async with asyncio.timeout(60):
            second = await asyncio.gather(*(anext(stream) for stream in streams))
        assert len(set(second)) == 1
        assert snapshots == [1]


async def test_long_runs_that_are_being_opened_hold_up_no_other(started, tmp_path, monkeypatch):
    _, writer, config = started
    many, go_on, opening = 50, threading.Event(), run_feed.RunFeed.poll
    for number in range(many):
        RunDirectory.create(tmp_path, config, f"large-{number}")
    monkeypatch.setattr(feed, "LINGER_SECONDS", 60.0)  # reading may take long beside other load

    def slow(self):
        assert self.id == "one" or go_on.wait(600)
        return opening(self)

    async with opened(tmp_path) as (hub, view):
        stream = view()
        await message(stream)
        monkeypatch.setattr(run_feed.RunFeed, "poll", slow)
        tasks = [asyncio.create_task(hub.channel(f"large-{number % many}")) for number in range(many + 1)]
        await asyncio.sleep(0.05)
        writer.metrics(fake_run.metrics(2, config, 4.0))
        try:
            _, _, data = await message_with(stream, "metrics")
            assert data["metrics"]["update"] == [2]
            assert not any(task.done() for task in tasks)
            tasks[0].cancel()  # the first who asked for this one goes away
        finally:
            go_on.set()
        channels = await asyncio.gather(*tasks[1:])
        assert len({channel.feed.id for channel in channels}) == many
        assert hub.watched == many + 1


async def test_the_tailer_ends_without_viewers(started, tmp_path):
    async with opened(tmp_path) as (hub, view):
        stream = view()
        await anext(stream)
        await stream.aclose()
        async with asyncio.timeout(60):
            while hub.watched:
                await asyncio.sleep(0.01)


async def test_a_viewer_that_comes_back_gets_only_what_it_missed(started, tmp_path):
    _, writer, config = started
    async with opened(tmp_path) as (_, view):
        staying, leaving = view(), view()
        await anext(staying)
        _, cursor, _ = await message(leaving)
        await leaving.aclose()
        writer.metrics(fake_run.metrics(2, config, 4.0))
        await message(staying)
        kind, _, data = await message(view(cursor=cursor))
        assert (kind, data["metrics"]["update"]) == ("delta", [2])
        kind, _, data = await message(view(cursor="00000000-1"))
        assert (kind, data["metrics"]["update"]) == ("snapshot", [1, 2])


async def test_a_deleted_run_is_said_to_be_gone(started, tmp_path):
    run, _, _ = started
    async with opened(tmp_path) as (_, view):
        stream = view()
        await anext(stream)
        run.path.rename(tmp_path / "elsewhere")
        kind = "delta"
        while kind == "delta":
            kind, _, _ = await message(stream)
        assert kind == "gone"
