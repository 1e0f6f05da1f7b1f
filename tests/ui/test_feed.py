"""One tailer per watched run, snapshot first, then deltas that everybody shares."""

import asyncio
import concurrent.futures
import json
import threading
import time

import pytest

from playground.errors import RunNotFound
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.ui.live import feed, run_feed, wire
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
    writer.samples(fake_run.samples(0, 40, 8, 0.1))
    writer.metrics(fake_run.metrics(1, config, 3.0))
    return run, writer, config


def run_scene(scene):
    """Like asyncio.run, in a thread: the browser tests leave a running loop in this one."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(scene())).result()


def parse(message):
    fields = dict(line.split(": ", 1) for line in message.decode().strip().split("\n") if ": " in line)
    return fields.get("event"), fields.get("id"), json.loads(fields["data"]) if "data" in fields else None


async def next_of(stream):
    async with asyncio.timeout(10):
        return parse(await anext(stream))


def test_a_viewer_is_told_when_somebody_names_the_run(started):
    run, _, config = started
    live = run_feed.RunFeed(run)
    live.poll()
    assert live.poll() is None
    run.write_label("Third try", "")
    title = {"title": "Third try", "told": "Kinder reviews", "note": ""}
    assert live.poll() == {"run": {**title, "story": f"Kinder reviews: {config.about.story}"}}
    assert live.snapshot()["run"]["title"] == "Third try" and live.poll() is None


def test_the_slider_of_a_living_run_has_its_marks_before_and_after_its_first_update(tmp_path):
    config = catalog.preset("kinder-reviews")
    run = RunDirectory.create(tmp_path, config, "begins")
    writer = RunWriter(run, config.ppo.num_updates, 1)
    live = run_feed.RunFeed(run)
    live.poll()
    assert live.snapshot()["regimes"] is None  # not all of its reference is known yet: what is shown first stays
    writer.samples(fake_run.samples(0, 40, 64, 0.25))
    writer.metrics(fake_run.metrics(1, config, 1.0))
    told = live.poll()["regimes"]
    assert 0 < told["loose"] < told["tight"] and live.snapshot()["regimes"] == told
    writer.metrics(fake_run.metrics(2, config, 2.0))
    assert "regimes" not in live.poll()


def test_a_viewer_gets_a_snapshot_and_then_what_is_new(started, tmp_path):
    _, writer, config = started

    async def scene():
        hub = feed.Hub(tmp_path)
        stream = hub.stream("one")
        kind, _, data = await next_of(stream)
        assert kind == "snapshot"
        assert data["run"]["title"] == "Kinder reviews" and data["status"]["state"] == "running"
        assert data["metrics"]["update"] == [1] and len(data["prompts"]) == 8 and data["updates"] == [0]
        writer.metrics(fake_run.metrics(2, config, 4.0))
        writer.samples(fake_run.samples(2, 40, 8, 0.1))
        seen = {}
        while not {"metrics", "moments"} <= set(seen):
            kind, _, data = await next_of(stream)
            assert kind == "delta"
            seen.update(data)
        assert seen["metrics"]["update"] == [2]
        assert seen["updates"] == [0, 2] and seen["moments"][0]["update"] == 2
        await stream.aclose()
        await hub.close()

    run_scene(scene)


def test_however_many_runs_are_opened_those_that_are_open_go_on(started, tmp_path, monkeypatch):
    _, writer, config = started
    many, go_on, read_all = 50, threading.Event(), feed._read_all
    for number in range(many):
        RunDirectory.create(tmp_path, config, f"large-{number}")

    def waits(run, recorded):
        assert go_on.wait(60)
        return read_all(run, recorded)

    async def scene():
        hub = feed.Hub(tmp_path)
        stream = hub.stream("one")
        await next_of(stream)
        monkeypatch.setattr(feed, "_read_all", waits)
        opening = [asyncio.create_task(hub.channel(f"large-{number}")) for number in range(many)]
        await asyncio.sleep(0.05)
        writer.metrics(fake_run.metrics(2, config, 4.0))
        try:
            _, _, data = await next_of(stream)
            assert data["metrics"]["update"] == [2] and not any(task.done() for task in opening)
        finally:
            go_on.set()
        assert len({channel.feed.id for channel in await asyncio.gather(*opening)}) == many
        await stream.aclose()
        await hub.close()

    run_scene(scene)


def test_a_run_that_is_taken_up_again_shows_nothing_of_what_it_makes_again(started, tmp_path):
    run, writer, config = started
    for update in (2, 3, 4):
        writer.metrics(fake_run.metrics(update, config, 3.0 + update))
        writer.set_status(update=update)
        writer.event("edit", f"after {update}", field="kl.coef", old=0.1, value=update / 10)
    writer.samples(fake_run.samples(4, 40, 8, 0.1))

    async def scene():
        hub = feed.Hub(tmp_path)
        stream, late = hub.stream("one"), hub.stream("one")
        _, _, data = await next_of(stream)
        assert data["metrics"]["update"] == [1, 2, 3, 4] and data["updates"] == [0, 4]
        again = RunWriter(run, 40, attempt=2)
        again.set_status(update=2)
        again.event("resumed", "Resumed after update 2.", checkpoint="update-000002", seconds=5.0)
        kind = "delta"
        while kind == "delta":  # of the status, perhaps
            kind, _, data = await next_of(stream)
        assert kind == "snapshot" and data["metrics"]["update"] == [1, 2] and data["updates"] == [0]
        assert [item["update"] for item in data["events"] if item["kind"] == "edit"] == []
        assert data["live"]["kl.coef"] == config.kl.coef
        again.metrics(fake_run.metrics(3, config, 9.0))
        metrics = None
        while metrics is None:
            kind, _, data = await next_of(stream)
            metrics = data.get("metrics")
        assert kind == "delta" and metrics["update"] == [3]
        _, _, data = await next_of(late)
        assert data["metrics"]["update"] == [1, 2, 3] and data["metrics"]["seconds"][-1] == 9.0
        for one in (stream, late):
            await one.aclose()
        await hub.close()

    run_scene(scene)
    assert [(item.attempt, item.update) for item in run.metrics()] == [(1, 1), (1, 2), (2, 3)]


def test_many_viewers_share_one_tailer_and_its_bytes(started, tmp_path, monkeypatch):
    _, writer, config = started
    monkeypatch.setattr(feed, "SNAPSHOT_SECONDS", 60.0)
    made = []
    snapshot = run_feed.RunFeed.snapshot
    monkeypatch.setattr(run_feed.RunFeed, "snapshot", lambda self: made.append(1) or snapshot(self))

    async def scene():
        hub = feed.Hub(tmp_path)
        streams = [hub.stream("one") for _ in range(30)]
        first = [await anext(stream) for stream in streams]
        assert len(set(first)) == 1
        assert hub.watched == 1 and len(hub._tasks) == 1
        writer.metrics(fake_run.metrics(2, config, 4.0))
        async with asyncio.timeout(10):
            second = await asyncio.gather(*(anext(stream) for stream in streams))
        assert len(set(second)) == 1 and made == [1]
        for stream in streams:
            await stream.aclose()
        await hub.close()

    run_scene(scene)


def test_who_comes_later_is_told_how_long_the_run_has_taken_by_then(started, tmp_path, monkeypatch):
    """By a snapshot, and where only deltas were missed. Nothing has changed in the run meanwhile."""
    monkeypatch.setattr(feed, "SNAPSHOT_SECONDS", 0.2)
    clock = time.time
    monkeypatch.setattr(wire.time, "time", lambda: clock() + ahead[0])
    ahead = [0.0]

    async def scene():
        hub = feed.Hub(tmp_path)
        early, late = hub.stream("one"), hub.stream("one")
        _, cursor, data = await next_of(early)
        assert data["status"]["elapsed"] < 60
        await asyncio.sleep(0.25)
        ahead[0] = 3600.0
        _, _, data = await next_of(late)
        assert data["status"]["elapsed"] > 3590
        back = hub.stream("one", cursor)
        kind, again, data = await next_of(back)
        assert (kind, again) == ("delta", cursor) and data["status"]["elapsed"] > 3590
        for stream in (early, late, back):
            await stream.aclose()
        await hub.close()

    run_scene(scene)


class Ragged:
    """A feed whose columns are not of one length while it reads, as all are."""

    ended, rewritten = False, 0

    def __init__(self):
        self.columns = {"update": [], "score": []}

    def poll(self):
        self.columns["update"].append(len(self.columns["update"]))
        time.sleep(0.002)
        self.columns["score"].append(0.0)
        return {"metrics": {}}

    def snapshot(self):
        return {name: list(values) for name, values in self.columns.items()}


def test_a_snapshot_is_never_taken_in_the_middle_of_a_reading():
    async def scene():
        channel = feed.Channel(Ragged())

        async def reads():
            for _ in range(60):
                await channel._read_on()

        async def looks():
            found = []
            while not reading.done():
                found.append((await channel.snapshot(), await channel.read(lambda ragged: ragged.snapshot())))
            return found

        reading = asyncio.create_task(reads())
        found = await looks()
        await reading
        assert len(found) > 10
        for shot, seen in found:
            for columns in (json.loads(shot.body), seen):
                assert len(columns["update"]) == len(columns["score"])
            assert len(json.loads(shot.body)["update"]) == shot.seq  # it holds what its number says

    run_scene(scene)


def test_a_long_run_that_is_being_opened_holds_up_no_other(started, tmp_path, monkeypatch):
    fake_run.write_run(tmp_path, "long")
    opened = threading.Event()
    read_all = feed._read_all

    def slow(run, recorded):
        if run.id == "long":
            assert opened.wait(30)
        return read_all(run, recorded)

    monkeypatch.setattr(feed, "_read_all", slow)
    monkeypatch.setattr(feed, "LINGER_SECONDS", 60.0)  # reading may take long beside other load

    async def scene():
        hub = feed.Hub(tmp_path)
        both = [asyncio.create_task(hub.channel("long")) for _ in range(2)]
        await asyncio.sleep(0.05)
        async with asyncio.timeout(10):
            await hub.channel("one")
        both[0].cancel()  # who asked first goes away
        opened.set()
        assert (await both[1]).feed.run.id == "long" and not hub._opening and hub.watched == 2
        await hub.close()

    run_scene(scene)


@pytest.mark.parametrize("number", ["\u00b2", "\u0663", "-1", "", "1" * 16, "1.0", " 1"])
def test_a_cursor_that_is_no_number_gets_a_snapshot(started, tmp_path, number):
    async def scene():
        hub = feed.Hub(tmp_path)
        channel = await hub.channel("one")
        assert channel.since(f"{channel.generation}-{number}") is None
        await hub.close()

    run_scene(scene)


def test_the_tailer_ends_when_nobody_watches(started, tmp_path):
    async def scene():
        hub = feed.Hub(tmp_path)
        stream = hub.stream("one")
        await anext(stream)
        await stream.aclose()
        async with asyncio.timeout(10):
            while hub.watched:
                await asyncio.sleep(0.01)

    run_scene(scene)


def test_a_viewer_that_comes_back_gets_only_what_it_missed(started, tmp_path):
    _, writer, config = started

    async def scene():
        hub = feed.Hub(tmp_path)
        staying, leaving = hub.stream("one"), hub.stream("one")
        await anext(staying)
        _, cursor, _ = parse(await anext(leaving))
        await leaving.aclose()
        writer.metrics(fake_run.metrics(2, config, 4.0))
        await next_of(staying)
        back = hub.stream("one", cursor)
        kind, _, data = await next_of(back)
        assert kind == "delta" and data["metrics"]["update"] == [2]
        stranger = hub.stream("one", "00000000-1")
        kind, _, data = await next_of(stranger)
        assert kind == "snapshot" and data["metrics"]["update"] == [1, 2]
        for stream in (staying, back, stranger):
            await stream.aclose()
        await hub.close()

    run_scene(scene)


def test_a_deleted_run_is_said_to_be_gone(started, tmp_path):
    run, _, _ = started

    async def scene():
        hub = feed.Hub(tmp_path)
        stream = hub.stream("one")
        await anext(stream)
        run.path.rename(tmp_path / "elsewhere")
        kind = "delta"
        while kind == "delta":
            kind, _, _ = await next_of(stream)
        assert kind == "gone"
        await hub.close()

    run_scene(scene)


def test_viewers_of_a_run_that_cannot_be_read_for_a_moment_come_back_to_all_of_it(started, tmp_path, monkeypatch):
    _, writer, config = started
    read = run_feed.RunFeed.poll
    short = [False]

    def poll(self):
        if short[0]:
            self._tails["events"].read_new()  # what one file has given when the next cannot be opened
            raise OSError(24, "Too many open files")
        return read(self)

    monkeypatch.setattr(run_feed.RunFeed, "poll", poll)

    async def scene():
        hub = feed.Hub(tmp_path)
        streams = [hub.stream("one") for _ in range(3)]
        cursors = [(await next_of(stream))[1] for stream in streams]
        short[0] = True
        writer.event("warning", "Not to be missed.")
        for stream in streams:
            with pytest.raises(StopAsyncIteration):  # let go, not left with a picture that stands still
                await next_of(stream)
        short[0] = False
        writer.metrics(fake_run.metrics(2, config, 3.0))
        kind, _, data = await next_of(hub.stream("one", cursors[0]))
        assert kind == "snapshot" and data["metrics"]["update"] == [1, 2]
        assert "Not to be missed." in [event["message"] for event in data["events"]]
        await hub.close()

    run_scene(scene)


def test_an_evaluation_read_in_two_parts_ends_up_whole(started, tmp_path):
    run, writer, _ = started
    live = run_feed.RunFeed(run)
    live.poll()
    rows = fake_run.samples(5, 40, 8, 0.1)
    writer.samples(rows[:3])
    assert len(live.poll()["moments"][-1]["rows"]) == 3
    writer.samples(rows[3:])
    assert len(live.poll()["moments"][-1]["rows"]) == 8


@pytest.mark.parametrize("run_id", ["../one", "..", "One", "a/b", "", "_other", "x" * 100, "one\x00"])
def test_ids_that_are_not_run_ids_are_not_found(run_id, tmp_path):
    with pytest.raises(RunNotFound):
        feed.Hub(tmp_path).find(run_id)


def test_the_recorded_run_brings_all_its_moments(tmp_path):
    fake_run.write_run(tmp_path / "recorded", "no-leash", catalog.preset("no-leash"))
    hub = feed.Hub(tmp_path / "empty", tmp_path / "recorded")
    live = run_feed.RunFeed(hub.find("_recorded-no-leash"), recorded=True)
    live.poll()
    snapshot = live.snapshot()
    assert snapshot["run"]["recorded"] and snapshot["run"]["id"] == "_recorded-no-leash"
    assert [item["update"] for item in snapshot["moments"]] == snapshot["updates"] == [0, *range(5, 41, 5)]
    outcome = snapshot["status"]["outcome"]
    assert 0 < outcome.index(" of 64 answers") < outcome.index("Score +") < outcome.index("ower than expected")


def test_applied_changes_and_pauses_show_after_a_reload(started):
    run, writer, _ = started
    writer.set_status(update=1)
    writer.event("edit", "Leash (beta) 0.25 \u2192 0.5", field="kl.coef", old=0.25, value=0.5)
    writer.set_status(state="paused")
    writer.set_status(state="running")
    live = run_feed.RunFeed(run)
    live.poll()
    snapshot = live.snapshot()
    assert snapshot["live"]["kl.coef"] == 0.5 and snapshot["run"]["can_steer"]
    assert [(event["kind"], event["update"]) for event in snapshot["events"]] == [("edit", 1), ("paused", 1)]


def test_hundreds_of_checkpoints_do_not_hide_a_warning(started, monkeypatch):
    monkeypatch.setattr(run_feed, "MAX_EVENTS", 20)
    run, writer, _ = started
    writer.event("warning", "Look here.")
    live = run_feed.RunFeed(run)
    for number in range(30):
        writer.event("checkpoint", f"Saved {number}.")
        if number % 10 == 0:
            live.poll()
    live.poll()
    kinds = [event["kind"] for event in live.snapshot()["events"]]
    assert kinds == ["warning", *["checkpoint"] * 20]
    assert live.snapshot()["events"][-1]["message"] == "Saved 29."


def test_an_ended_run_offers_no_live_settings(tmp_path):
    live = run_feed.RunFeed(fake_run.write_run(tmp_path, "done"))
    live.poll()
    assert live.snapshot()["live"] == {}
