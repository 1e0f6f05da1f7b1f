"""From the folder in which a worker is at work to the folder that mirrors it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from playground.cluster import pump as pumps
from playground.cluster.mirror import Mirror
from playground.cluster.news import Appended, News, Over, Piece, Replaced, Taken, Whole
from playground.cluster.pump import Pump
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.runs.folder.writer import RunWriter
from playground.runs.steer import changes
from tests.cluster.places import make_checkpoint, new_run, status
from tests.support import update_metrics


def told(pump: Pump, over: bool = False) -> list[News]:
    return [news for batch in pump.look(over) for news in batch]


def names(news: list[News]) -> list[str]:
    return [getattr(item, "name", "") for item in news]


def carried(pump: Pump, mirror: Mirror, over: bool = False) -> None:
    for news in told(pump, over):
        mirror.write(news)


@pytest.fixture
def node(tmp_path: Path) -> RunDirectory:
    return new_run(tmp_path / "node", "one")


def test_what_a_status_says_is_told_before_it(node: RunDirectory) -> None:
    pump = Pump(node.path, checkpoint_seconds=0)
    writer = RunWriter(node, 3)
    writer.metrics(update_metrics(1))
    writer.set_status(state="running", update=1)
    make_checkpoint(node.checkpoints_path, 1)
    news = told(pump)
    assert names(news)[-1] == "status.json" and b'"update":1' in news[-1].data
    pieces = [item for item in news if isinstance(item, Piece)]
    assert pieces[-1].name == "update-000001/MANIFEST.json" and news[-2] == Whole("update-000001")
    assert {"metrics.jsonl", "events.jsonl"} <= set(names(news))
    assert told(pump) == []

    writer.metrics(update_metrics(2))
    for batch in pump.look():  # the worker is at work meanwhile
        for item in batch:
            assert item.name != "status.json" or b'"update":1' in item.data
        writer.metrics(update_metrics(3))
        writer.set_status(update=3)
    assert names(told(pump))[-1] == "status.json"


def test_an_end_is_told_only_when_nothing_can_follow(node: RunDirectory) -> None:
    pump = Pump(node.path, checkpoint_seconds=0)
    writer = RunWriter(node, 3)
    writer.finish("stopped", "stopped", "Asked by the node.")
    assert "status.json" not in names(told(pump))
    assert names(told(pump, over=True)) == ["status.json"]


def test_bytes_are_told_once_whatever_their_size(node: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pumps, "READ_BYTES", 10)
    node.log_path.write_bytes(b"of an attempt before\n")
    pump = Pump(node.path, checkpoint_seconds=0)
    grown = b""
    for text in (b"0123456789012345678901234", b"", b"torn", b" line\n"):
        with open(node.log_path, "ab") as log:
            log.write(text)
        grown += b"".join(item.data for item in told(pump) if isinstance(item, Appended))
    assert grown == b"0123456789012345678901234torn line\n"
    node.log_path.write_bytes(b"cut\n")  # its middle went
    assert told(pump) == []
    with open(node.log_path, "ab") as log:
        log.write(b"after\n")
    assert told(pump) == [Appended("worker.log", b"after\n")]


def test_of_checkpoints_the_newest_and_the_best_are_told_and_not_too_often(node: RunDirectory) -> None:
    pump = Pump(node.path, checkpoint_seconds=0)
    for update, reward in ((1, 0.1), (2, 0.9), (3, 0.5), (4, 0.2)):
        make_checkpoint(node.checkpoints_path, update, reward)
    whole = [news.name for news in told(pump) if isinstance(news, Whole)]
    assert whole == ["update-000002", "update-000004"]
    seldom = Pump(node.path, checkpoint_seconds=1000)
    make_checkpoint(node.checkpoints_path, 5)
    assert told(seldom) == []
    assert Whole("update-000005") in told(seldom, over=True)


def test_a_checkpoint_that_is_deleted_meanwhile_is_left_out(node: RunDirectory) -> None:
    pump = Pump(node.path, checkpoint_seconds=0)
    gone = make_checkpoint(node.checkpoints_path, 1)
    news: list[News] = []
    for batch in pump.look():
        (gone / "trainer.json").unlink(missing_ok=True)
        news += batch
    assert not [item for item in news if isinstance(item, Whole)]


def test_the_mirror_reads_like_the_original(node: RunDirectory, outputs: Path) -> None:
    run = new_run(outputs, "one")
    pump, mirror = Pump(node.path, checkpoint_seconds=0), Mirror(run)
    writer = RunWriter(node, 3)
    writer.set_status(state="running", phase="training")
    for update in (1, 2, 3):
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
        make_checkpoint(node.checkpoints_path, update, reward=float(update == 1))
        carried(pump, mirror)
        assert run.status_on_disk().update == update
    (node.path / "traces").mkdir()
    (node.path / "traces/update-000002.json").write_text("{}")
    writer.finish("finished")
    carried(pump, mirror, over=True)
    assert run.metrics() == node.metrics() and run.events() == node.events()
    assert (run.traces_path / "update-000002.json").read_text() == "{}"
    assert [path.name for path in run.checkpoints()] == ["update-000001", "update-000003"]  # the best and the newest
    assert not list(run.checkpoints_path.glob(".*"))
    assert mirror.end is not None and mirror.end.state == "finished"
    assert run.status_on_disk().state == "running"  # the driver writes the end, when it is one


def test_the_mirror_names_no_process(outputs: Path) -> None:
    run = new_run(outputs, "one")
    Mirror(run).write(status("running", 1, pid=os.getpid(), boot_id="x", pid_ticks=5))
    found = run.status_on_disk()
    assert (found.state, found.pid, found.pid_ticks, found.boot_id) == ("running", 0, 0, "")


@pytest.mark.parametrize(
    "news",
    [
        Appended("config.yaml", b"x"),
        Appended("../other/metrics.jsonl", b"x"),
        Replaced("config.yaml", b"x"),
        Replaced("traces/../config.yaml", b"x"),
        Replaced("status.json", b"[]"),
        Piece("update-000001/../../config.yaml", b"x", True),
        Piece("../update-000001/model.safetensors", b"x", True),
        Whole(".."),
        Taken("../config.yaml"),
        Over(),
    ],
)
def test_a_node_writes_nothing_else_into_a_run(outputs: Path, news: News) -> None:
    run = new_run(outputs, "one")
    before = {path: path.read_bytes() for path in outputs.rglob("*") if path.is_file()}
    with pytest.raises(ValueError):
        Mirror(run).write(news)
    assert {path: path.read_bytes() for path in outputs.rglob("*") if path.is_file()} == before


def test_a_checkpoint_that_came_damaged_gets_no_name(outputs: Path, node: RunDirectory) -> None:
    run = new_run(outputs, "one")
    mirror = Mirror(run)
    pump = Pump(node.path, checkpoint_seconds=0)
    make_checkpoint(node.checkpoints_path, 2)
    *news, whole = [item for item in told(pump) if isinstance(item, (Piece, Whole))]
    for item in news:
        mirror.write(item._replace(data=item.data[:-1]) if item.name.endswith("model.safetensors") else item)
    with pytest.raises(ValueError, match="came damaged"):
        mirror.write(whole)
    assert run.checkpoints() == []


def test_a_request_is_there_until_the_worker_has_taken_it(outputs: Path, node: RunDirectory) -> None:
    run = new_run(outputs, "one")
    mirror = Mirror(run)
    mirror.write_status(Status(state="running"))
    (run.control_path / "pause").write_text("{}")
    (run.control_path / ".half").write_text("no request")
    assert mirror.asked() == [("pause", b"{}")]
    assert mirror.asked() == []
    mirror.write(Taken("pause"))
    assert not (run.control_path / "pause").exists()
    (run.control_path / "pause").write_text("{}")
    mirror.asked()
    (run.control_path / "pause").unlink()  # taken back: the last word counts
    (run.control_path / "resume").write_text("{}")
    assert mirror.asked() == [("pause", None), ("resume", b"{}")]


def test_a_request_that_was_made_again_meanwhile_stays(outputs: Path) -> None:
    run = new_run(outputs, "one")
    mirror = Mirror(run)
    (run.control_path / "step").write_text("{}")
    mirror.asked()
    os.utime(run.control_path / "step", ns=(1, 1))
    mirror.write(Taken("step"))
    assert mirror.asked() == [("step", b"{}")]


def test_requests_reach_the_worker_in_the_order_in_which_they_were_made(outputs: Path) -> None:
    run = new_run(outputs, "one")
    mirror = Mirror(run)
    for number, name in enumerate(["set-2.json", "set-1.json", "stop"]):
        (run.control_path / name).write_text("{}")
        os.utime(run.control_path / name, ns=(number, number))
    assert [name for name, _ in mirror.asked()] == ["set-2.json", "set-1.json", "stop"]


@pytest.mark.parametrize("name", ["stop", *changes.COMMANDS, changes.TRACE])
def test_every_request_that_there_is_reaches_the_worker(outputs: Path, name: str) -> None:
    run = new_run(outputs, "one")
    (run.control_path / name).write_text("{}")
    assert Mirror(run).asked() == [(name, b"{}")]
