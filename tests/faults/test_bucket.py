"""What a restart of a Space leaves: runs come back from the bucket whole, and go on bit by bit; torn, full or gone
buckets cost no run that trains."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from playground.errors import InvalidConfig
from playground.runs import bucket, supervisor
from playground.runs.bucket import BucketThread, Keeper
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.ui.auth import visitors
from tests.faults import resuming
from tests.figures import Figure


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An outputs folder with a run that died in its sixth update."""
    outputs, before = tmp_path_factory.mktemp("first"), torch.get_num_threads()
    config = resuming.config(resuming.tiny_model(outputs / ".model"), checkpoint={"every": 1, "keep": 4})
    resuming.broken_off(RunDirectory.create(outputs, config, "run"), 5)
    torch.set_num_threads(before)
    return outputs


@pytest.fixture
def run(tmp_path: Path, broken_off: Path) -> RunDirectory:
    """A copy of it, in an outputs folder of its own."""
    return RunDirectory(shutil.copytree(broken_off / "run", tmp_path / "outputs" / "run"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The bucket."""
    folder = tmp_path / "bucket"
    folder.mkdir()
    return folder


@pytest.fixture
def keeper(run: RunDirectory, place: Path) -> Keeper:
    """One that has not looked yet."""
    return Keeper(run.path.parent, place)


@pytest.fixture
def restarted(tmp_path: Path) -> Callable[[Path], Path]:
    """A new machine: an empty outputs folder, filled from a bucket."""
    made: list[Path] = []

    def restart(place: Path) -> Path:
        made.append(tmp_path / f"restart-{len(made)}")
        made[-1].mkdir()
        bucket.restore(place, made[-1])
        return made[-1]

    return restart


def records(run: RunDirectory) -> list[Any]:
    return [run.metrics(), run.samples(), run.evaluations(), run.all_events(), run.status_on_disk(), run.config()]


def test_a_run_comes_back_and_goes_on_bit_identical(
    tmp_path: Path, run: RunDirectory, keeper: Keeper, place: Path, restarted: Any, figure: Figure
) -> None:
    before = torch.get_num_threads()
    undisturbed = RunDirectory.create(tmp_path, run.config(), "whole")
    resuming.attempt(undisturbed)
    assert keeper.look() == ["run"]
    back = RunDirectory(restarted(place) / "run")
    assert records(back) == records(run)
    assert not back.is_alive()
    assert not back.lock_path.exists()
    found = checkpoints.search(back).found
    assert found is not None
    assert found.update == 5
    ended = supervisor.Supervisor(back.path.parent).end_the_dead()
    assert [one.id for one in ended] == ["run"]
    assert back.status().state == "interrupted"
    resuming.queue_again(back)
    resuming.attempt(back)
    torch.set_num_threads(before)
    same = resuming.weights(back) == resuming.weights(undisturbed)
    same &= resuming.figures(back) == resuming.figures(undisturbed)
    figure("runs of a Space that went on after a restart, bit-identical", 1, int(same))


class Died(BaseException):
    """The page's process is gone in the middle of a copy."""


def test_a_copy_that_is_torn_at_any_file_leaves_the_one_before_it(
    tmp_path: Path, run: RunDirectory, keeper: Keeper, place: Path, restarted: Any, figure: Figure
) -> None:
    whole_run = Path(shutil.copytree(run.path, tmp_path / "aside"))
    newest = run.checkpoints()[-1]
    shutil.rmtree(newest)  # the first copy is of a moment before it
    run.metrics_path.write_bytes(b"".join(run.metrics_path.read_bytes().splitlines(keepends=True)[:-1]))
    keeper.look()
    earlier = records(RunDirectory(restarted(place) / "run"))
    shutil.rmtree(run.path)
    shutil.copytree(whole_run, run.path)
    later, write, tried, survived = records(run), bucket._write, 0, 0
    left = [0]

    def torn(target: Path, pieces: Iterable[bytes]) -> Any:
        """The copy of one file is torn: half of it is there, and the process is gone."""
        left[0] -= 1
        done = write(target, pieces)
        if left[0]:
            return done
        os.truncate(target, target.stat().st_size // 2)
        raise Died

    for number in range(1, 100):
        torn_place = Path(shutil.copytree(place, tmp_path / f"bucket-{number}"))
        left[0] = number
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bucket, "_write", torn)
            try:
                Keeper(run.path.parent, torn_place).look()
                break
            except Died:
                tried += 1
        back = RunDirectory(restarted(torn_place) / "run")
        found = checkpoints.search(back).found
        survived += records(back) == earlier and found is not None and not checkpoints.problem_of(found.path)
        assert Keeper(run.path.parent, torn_place).look() == ["run"]  # and the next copy mends it
        mended = RunDirectory(restarted(torn_place) / "run")
        assert records(mended) == later
        assert checkpoints.can_go_on(mended.checkpoints_path / newest.name)
    assert earlier != later
    assert tried > 10
    figure("copies into a bucket, torn at each file: the one before it came back", tried, survived)


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_copy_is_passed_over_for_the_one_before_it_and_a_damaged_checkpoint_is_left_out(
    run: RunDirectory, keeper: Keeper, place: Path, restarted: Any, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keeper.look()
    run.write_label("Another name", "")
    assert keeper.look() == ["run"]
    copies = sorted((place / "runs/run/records").iterdir())
    assert len(copies) == bucket.KEPT_COPIES
    (weights,) = (place / "runs/run/checkpoints/update-000005").glob("model*.safetensors")
    for path in (copies[-1] / "metrics.jsonl", weights):
        data = path.read_bytes()
        path.write_bytes(b"x" + data[1:])
        if damage == "missing":
            path.unlink()
    back = RunDirectory(restarted(place) / "run")
    assert back.metrics() == run.metrics()
    assert not back.label_path.exists()
    assert not (back.checkpoints_path / "update-000005").exists()
    assert "update-000005" in capsys.readouterr().err
    for copy in copies:
        (copy / "MANIFEST.json").write_text("[]")
    assert list(restarted(place).iterdir()) == []
    assert "The run run could not" in capsys.readouterr().err


def test_only_the_newest_and_the_best_checkpoint_are_kept_and_nothing_is_copied_without_need(
    run: RunDirectory, keeper: Keeper, place: Path
) -> None:
    def written() -> dict[Path, int]:
        folder = place / "runs/run/checkpoints"
        return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}

    keeper.look()
    best = checkpoints.best(run.checkpoints())
    assert best is not None
    assert len(run.checkpoints()) > 2
    assert {path.name for path in (place / "runs/run/checkpoints").iterdir()} == {best.name, "update-000005"}
    before = written()
    assert keeper.look() == []
    assert Keeper(run.path.parent, place).look() == ["run"]  # a new process knows nothing; whole checkpoints stay
    assert written() == before


def test_a_run_that_is_deleted_here_goes_there_too_and_what_was_never_here_stays(
    keeper: Keeper, place: Path, restarted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper.look()
    shutil.copytree(place / "runs/run", place / "runs/theirs")
    (place / "runs/theirs/records/000001/MANIFEST.json").unlink()  # it cannot be brought back
    again = restarted(place)
    (again / "run/metrics.jsonl").write_text("newer")
    assert bucket.restore(place, again) == []
    assert (again / "run/metrics.jsonl").read_text() == "newer"
    keeper = Keeper(again, place)
    keeper.knows(["run"])
    kept = sorted(place.rglob("*"))
    shutil.rmtree(again / "run")
    with monkeypatch.context() as patch, pytest.raises(OSError, match="Too many open files"):
        patch.setattr(bucket.os, "scandir", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
        keeper.look()  # a list of runs that cannot be read empties no bucket
    assert sorted(place.rglob("*")) == kept
    keeper.look()
    assert [path.name for path in (place / "runs").iterdir()] == ["theirs"]


def test_links_and_strange_names_in_a_bucket_are_not_followed(
    run: RunDirectory, keeper: Keeper, place: Path, restarted: Any, tmp_path: Path
) -> None:
    keeper.look()
    records_there = place / "runs/run/records/000001"
    text = (records_there / "MANIFEST.json").read_text()
    (records_there / "MANIFEST.json").write_text(text.replace('"metrics.jsonl"', '"../../outside.jsonl"'))
    shutil.copy(records_there / "metrics.jsonl", place / "runs/run/outside.jsonl")
    shutil.copytree(run.path, tmp_path / "secret")
    (place / "runs" / "linked").symlink_to(tmp_path / "secret")
    (place / "runs" / "..up").mkdir()
    again = restarted(place)
    assert list(again.iterdir()) == []
    assert not (again.parent / "outside.jsonl").exists()


def test_a_full_bucket_is_reported_and_tried_again_and_the_last_look_is_at_the_end_of_the_page(
    run: RunDirectory, place: Path, restarted: Any, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    copy, thread = bucket._copy, BucketThread(run.path.parent, place, [])

    def no_room(source: Path, target: Path) -> Any:
        """There is room for the checkpoints, and not for the records."""
        if target.name == "metrics.jsonl":
            target.write_bytes(b"a part")
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        return copy(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(bucket, "_copy", no_room)
        assert thread.look() == bucket.RETRY_SECONDS
        assert not list(place.glob("runs/run/records/*"))
    assert "No space left on device" in capsys.readouterr().err
    thread.start()
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before
    run.write_label("Just now", "")
    thread.close()
    back = RunDirectory(restarted(place) / "run")
    assert records(back) == records(run)
    assert back.label().name == "Just now"


def test_a_bucket_that_cannot_be_written_keeps_the_page_from_starting(place: Path) -> None:
    assert bucket.of_environment({}) is None
    assert bucket.of_environment({bucket.VARIABLE: ""}) is None
    with pytest.raises(InvalidConfig, match="no such folder"):
        bucket.of_environment({bucket.VARIABLE: str(place / "missing")})
    for outputs in (place, place / "outputs", place.parent):
        with pytest.raises(InvalidConfig, match="the folder of the runs"):
            bucket.of_environment({bucket.VARIABLE: str(place)}, outputs)
    assert bucket.of_environment({bucket.VARIABLE: str(place)}, place.parent / "outputs") == place


def test_visitors_know_their_runs_again(run: RunDirectory, keeper: Keeper, place: Path, restarted: Any) -> None:
    assert bucket.KEY_FILE == visitors.KEY_FILE
    key = visitors.visitors_key(run.path.parent)
    keeper.look()
    back = restarted(place)
    assert visitors.visitors_key(back) == key
    assert (back / visitors.KEY_FILE).stat().st_mode & 0o077 == 0
