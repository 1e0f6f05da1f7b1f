"""Runs as jobs of a hub that is a folder here."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from playground.cluster.news import Appended, News, Replaced, Taken, decode, encode
from playground.cluster.place import Needs, Options
from playground.cluster.places import job_side, jobs_place
from playground.cluster.places.jobs_bucket import Bucket
from playground.cluster.places.jobs_place import JobsPlace
from playground.errors import PlaceUnavailable
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher
from tests.cluster.fake_hub import FakeHub, HubAway
from tests.cluster.places import Driving, new_run
from tests.support import wait_until

OPTIONS = Options(
    image="hf.co/spaces/me/playground", bucket="me/runs", flavor="t4-small", minutes=45, checkpoint_seconds=0
)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    made = FakeHub(tmp_path / "hub")
    yield made
    for job in made.jobs:
        job.kill()
        job.wait()


def driving(hub: FakeHub, *runs: RunDirectory, options: Options = OPTIONS) -> Driving:
    return Driving(JobsPlace(options, "sweep", hub, poll_seconds=0.05), list(runs), retries=options.retries)


def test_runs_are_computed_in_jobs_whose_time_is_always_told(outputs: Path, hub: FakeHub) -> None:
    runs = [new_run(outputs, name, name="finish") for name in ("one", "two")]
    driving(hub, *runs).join()
    assert [run.status().state for run in runs] == ["finished"] * 2
    assert [item.update for item in runs[1].metrics()] == [1, 2, 3] and len(runs[0].samples()) == 4
    asked = {name: hub.asked[0][name] for name in ("image", "flavor", "timeout", "secrets", "labels")}
    assert asked == {
        "image": "hf.co/spaces/me/playground", "flavor": "t4-small", "timeout": "2700s",
        "secrets": {"HF_TOKEN": "hf_of_a_test"}, "labels": {"playground-run": "one"},
    }  # fmt: skip
    assert [path.name for path in (hub.folder / "me/runs").rglob("*") if path.is_file()] == ["leash"]


def test_a_stop_travels_to_the_job(outputs: Path, hub: FakeHub) -> None:
    run = new_run(outputs, "one", name="wait")
    going = driving(hub, run)
    wait_until(lambda: run.status().state == "running")
    launcher.stop(run)
    going.join()
    assert (run.status().state, run.status().message) == ("stopped", "Stopped after update 1.")


def test_a_job_that_is_gone_is_a_loss(outputs: Path, hub: FakeHub) -> None:
    run = new_run(outputs, "one", name="wait")
    going = driving(hub, run)
    wait_until(lambda: run.status().state == "running")
    hub.jobs[0].kill()
    wait_until(lambda: len(hub.jobs) == 2)
    assert "its job job-1 ended as ERROR" in run.events_path.read_text()
    wait_until(lambda: run.status().state == "running" and run.status().attempt == 2)
    launcher.stop(run)
    going.join()


def test_a_hub_that_is_away_for_a_moment_costs_nothing(outputs: Path, hub: FakeHub) -> None:
    run = new_run(outputs, "one", name="wait")
    going = driving(hub, run)
    wait_until(lambda: run.status().state == "running")
    hub.failing = 3
    launcher.stop(run)
    going.join()
    assert (run.status().state, run.status().attempt) == ("stopped", 1)


@pytest.mark.parametrize("bad", range(13))
def test_whichever_call_fails_all_is_heard_and_asked_once(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, bad: int
) -> None:
    monkeypatch.setattr(hub, "run_job", lambda **_: SimpleNamespace(id="job-1"))
    monkeypatch.setattr(hub, "inspect_job", lambda **_: SimpleNamespace(status=SimpleNamespace(stage="RUNNING")))
    place = JobsPlace(OPTIONS, "sweep", hub, poll_seconds=0)
    place.begin("one", lambda: b"", Needs(1, None))
    (parcel,) = hub.folder.rglob("parcel")
    job = Bucket(hub, "me/runs", str(parcel.parent.relative_to(hub.folder / "me/runs")))
    told: list[News] = [Appended("metrics.jsonl", b"%d" % number) for number in range(5)]
    for number, news in enumerate(told, 1):
        job.put(f"news/{number:09d}", encode([news]))
    asked = [("stop", b"1"), ("pause", b"2"), ("pause", None)]
    for name, data in asked:
        place.control("one", name, data)
    calls = itertools.count()

    def _call() -> None:
        if next(calls) == bad:
            raise HubAway("the hub is away")

    monkeypatch.setattr(hub, "_call", _call)
    heard = [news for _ in range(4) for _, batch in place.news(0) for news in batch]
    monkeypatch.undo()
    assert heard == told and next(calls) > bad
    assert [decode(job.get(name)) for name in job.names("asked")] == [
        [Taken(name) if data is None else Replaced(name, data)] for name, data in asked
    ]


def test_jobs_are_cancelled_whatever_the_hub_answers_to_the_first(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers: list[str] = []

    def cancel_job(job_id: str) -> None:
        answers.append(job_id)
        if len(answers) == 1:
            raise HubAway("the hub is away")

    monkeypatch.setattr(hub, "run_job", lambda labels, **_: SimpleNamespace(id=labels["playground-run"]))
    monkeypatch.setattr(hub, "cancel_job", cancel_job)
    place = JobsPlace(OPTIONS, "sweep", hub)
    for name in ("one", "two"):
        place.begin(name, lambda: b"", Needs(1, None))
    place.close()
    assert answers == ["one", "two"] and "The job one could not be cancelled" in capsys.readouterr().out


def test_a_hub_that_stays_away_ends_the_sweep(outputs: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs_place, "GONE_SECONDS", 0.2)
    run = new_run(outputs, "one", name="wait")
    going = driving(hub, run)
    wait_until(lambda: run.status().state == "running")
    hub.failing = 10**6
    going.join()
    assert run.status().reason == "place_lost" and "The hub has not answered" in run.status().message


def test_what_the_hub_refuses_is_said(outputs: Path, hub: FakeHub) -> None:
    hub.failing = 1
    with pytest.raises(PlaceUnavailable, match=r"The bucket me/runs cannot be used \(HubAway: the hub is away\)"):
        JobsPlace(OPTIONS, "sweep", hub)
    hub.token = ""
    with pytest.raises(PlaceUnavailable, match="hf auth login"):
        JobsPlace(OPTIONS, "sweep", hub)


def test_sending_is_tried_again_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(job_side.time, "sleep", waited.append)
    answers = iter([OSError(), OSError(), b"there"])

    def one() -> bytes:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    assert job_side.insisted(one) == b"there" and waited == [1, 2]

    def never() -> bytes:
        raise OSError("away")

    with pytest.raises(OSError, match="away"):
        job_side.insisted(never)
    assert waited[2:] == [1, 2, 4, 8, 16]


def test_a_bucket_lists_what_is_in_its_folder_only(hub: FakeHub) -> None:
    hub.create_bucket("me/runs", private=True, exist_ok=True)
    mine, other = Bucket(hub, "me/runs", "a/1"), Bucket(hub, "me/runs", "a/10")
    other.put("news/000000001", b"x")
    mine.put("news/000000002", b"y")
    assert mine.names() == ["news/000000002"] and mine.names("asked") == []
    assert mine.get("news/000000002") == b"y"
    mine.delete(mine.names())
    assert mine.names() == [] and other.names() == ["news/000000001"]


def test_a_job_ends_its_run_before_the_hub_does(tmp_path: Path, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.create_bucket("me/runs", private=True, exist_ok=True)
    bucket = Bucket(hub, "me/runs", "a/1")
    bucket.put("parcel", b"x")
    now, let_go_at, left_at = [0.0], [], []

    class Seat:
        """At work until the lifeline is let go of."""

        over = False

        def __init__(self, *_: object) -> None:
            """Nothing to start."""

        def look(self) -> Iterator[list[object]]:
            self.over = bool(let_go_at)
            yield from ()

        def leave(self) -> None:
            left_at.append(now[0])

    monkeypatch.setattr(job_side, "Seat", Seat)
    monkeypatch.setattr(job_side.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(job_side.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    monkeypatch.setattr(job_side.lifeline, "let_go", lambda: let_go_at.append(now[0]))
    monkeypatch.setattr(job_side.lifeline, "choose", lambda policy: None)
    monkeypatch.setattr(job_side, "PATIENCE_SECONDS", 1e9)
    job_side.compute(bucket, bucket, "one", seconds=1800, checkpoint_seconds=0, look_seconds=10)
    assert let_go_at[0] == 1800 - 180 + 10  # the first look behind the margin
    assert left_at and left_at[0] < 1800
