"""What a restart of a Space leaves: runs come back from the bucket whole, and go on bit by bit; torn, full or gone
buckets cost no run that trains."""

import errno
import os
import shutil
import tempfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from playground.errors import InvalidConfig
from playground.runs import bucket, supervisor
from playground.runs.bucket import BucketThread, Keeper
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.ui.auth import visitors
from tests.faults import resuming


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory, model):
    """A run that died in its sixth update."""
    config = resuming.config(model, checkpoint={"every": 1, "keep": 4})
    run = RunDirectory.create(tmp_path_factory.mktemp("first"), config, "run")
    resuming.broken_off(run, 5)
    return run


@pytest.fixture
def run(tmp_path, broken_off):
    """A copy of it, in an outputs folder of its own."""
    return RunDirectory(shutil.copytree(broken_off.path, tmp_path / "outputs" / "run"))


@pytest.fixture
def place(tmp_path):
    """The bucket."""
    (tmp_path / "bucket").mkdir()
    return tmp_path / "bucket"


@pytest.fixture
def keeper(run, place):
    return Keeper(run.path.parent, place)


def restarted(place):
    """A new machine: an empty outputs folder, filled from a bucket; the run in it."""
    outputs = Path(tempfile.mkdtemp(dir=place.parent))
    bucket.restore(place, outputs)
    return RunDirectory(outputs / "run")


def records(run):
    of_updates = [run.metrics(), run.samples(), run.evaluations(), run.all_events()]
    return [*of_updates, run.status_on_disk(), run.config(), run.label()]


def test_a_run_comes_back_and_goes_on_bit_identical(tmp_path, run, keeper, place, figure):
    undisturbed = RunDirectory.create(tmp_path, run.config(), "whole")
    resuming.attempt(undisturbed)
    assert keeper.look() == ["run"]
    back = restarted(place)
    assert records(back) == records(run)
    assert not back.is_alive()
    assert not back.lock_path.exists()
    assert [ended.id for ended in supervisor.Supervisor(back.path.parent).end_the_dead()] == ["run"]
    assert back.status().state == "interrupted"
    resuming.resume(back)
    assert resuming.resumed_at(back) == [5]
    same = resuming.are_same(back, undisturbed)
    figure("runs of a Space that went on after a restart, bit-identical", 1, int(same))


def test_a_copy_that_is_torn_at_any_file_leaves_the_one_before_it(tmp_path, run, keeper, place, figure, monkeypatch):
    newest = run.checkpoints()[-1]
    aside = newest.rename(tmp_path / "aside")  # the first copy is of a moment before it
    keeper.look()
    earlier = records(restarted(place))
    aside.rename(newest)
    run.write_label("Later", "")
    later = records(run)
    write, tried, survived = bucket._write, 0, 0
    left = [0]

    def torn(target, pieces):
        """The copy of one file is torn: half of it is there, and the process is gone."""
        left[0] -= 1
        facts = write(target, pieces)
        if left[0]:
            return facts
        os.truncate(target, target.stat().st_size // 2)
        raise resuming.Interrupted

    for number in range(1, 100):
        torn_place = Path(shutil.copytree(place, tmp_path / f"bucket-{number}"))
        left[0] = number
        with monkeypatch.context() as patch:
            patch.setattr(bucket, "_write", torn)
            try:
                Keeper(run.path.parent, torn_place).look()
                break
            except resuming.Interrupted:
                tried += 1
        back = restarted(torn_place)
        usable = checkpoints.search(back).found
        survived += records(back) == earlier and usable is not None and not checkpoints.problem_of(usable.path)
        assert Keeper(run.path.parent, torn_place).look() == ["run"]  # and the next copy mends it
        mended = restarted(torn_place)
        assert records(mended) == later
        assert checkpoints.can_go_on(mended.checkpoints_path / newest.name)
    assert earlier != later
    assert tried > 10
    figure("copies into a bucket, torn at each file: the one before it came back", tried, survived)


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_a_damaged_copy_is_passed_over_and_a_damaged_checkpoint_is_left_out(run, keeper, place, damage, capsys):
    keeper.look()
    run.write_label("Another name", "")
    assert keeper.look() == ["run"]
    copies = sorted((place / "runs/run/records").iterdir())
    assert len(copies) == bucket.KEPT_COPIES
    (weights,) = (place / "runs/run/checkpoints/update-000005").glob("model*.safetensors")
    for path in (copies[-1] / "metrics.jsonl", weights):
        path.write_bytes(b"x" + path.read_bytes()[1:])
        if damage == "missing":
            path.unlink()
    back = restarted(place)
    assert back.metrics() == run.metrics()
    assert not back.label_path.exists()
    assert not (back.checkpoints_path / "update-000005").exists()
    assert "update-000005" in capsys.readouterr().err
    for copy in copies:
        (copy / "MANIFEST.json").write_text("[]")
    assert not restarted(place).path.exists()
    assert "The run run could not" in capsys.readouterr().err


def test_only_the_newest_and_the_best_checkpoint_are_kept_and_nothing_is_copied_without_need(run, keeper, place):
    folder = place / "runs/run/checkpoints"

    def written():
        return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}

    keeper.look()
    assert len(run.checkpoints()) > 2
    assert {path.name for path in folder.iterdir()} == {checkpoints.best(run.checkpoints()).name, "update-000005"}
    before = written()
    assert keeper.look() == []
    assert Keeper(run.path.parent, place).look() == ["run"]  # a new process knows nothing; whole checkpoints stay
    assert written() == before


def test_a_run_that_is_deleted_here_goes_there_too_and_what_was_never_here_stays(keeper, place, monkeypatch):
    keeper.look()
    shutil.copytree(place / "runs/run", place / "runs/theirs")
    (place / "runs/theirs/records/000001/MANIFEST.json").unlink()  # it cannot be brought back
    again = restarted(place)
    again.metrics_path.write_text("newer")
    assert bucket.restore(place, again.path.parent) == []
    assert again.metrics_path.read_text() == "newer"
    keeper = Keeper(again.path.parent, place)
    keeper.knows(["run"])
    files = sorted(place.rglob("*"))
    shutil.rmtree(again.path)
    with monkeypatch.context() as patch, pytest.raises(OSError, match="Too many open files"):
        patch.setattr(bucket.os, "scandir", Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
        keeper.look()  # a list of runs that cannot be read empties no bucket
    assert sorted(place.rglob("*")) == files
    keeper.look()
    assert [path.name for path in (place / "runs").iterdir()] == ["theirs"]


def test_links_and_strange_names_in_a_bucket_are_not_followed(run, keeper, place, tmp_path):
    keeper.look()
    there = place / "runs/run/records/000001"
    text = (there / "MANIFEST.json").read_text()
    (there / "MANIFEST.json").write_text(text.replace('"metrics.jsonl"', '"../../outside.jsonl"'))
    shutil.copy(there / "metrics.jsonl", place / "runs/run/outside.jsonl")
    shutil.copytree(run.path, tmp_path / "secret")
    (place / "runs" / "linked").symlink_to(tmp_path / "secret")
    (place / "runs" / "..up").mkdir()
    outputs = restarted(place).path.parent
    assert list(outputs.iterdir()) == []
    assert not (outputs.parent / "outside.jsonl").exists()


def test_a_full_bucket_is_reported_and_tried_again_until_the_end_of_the_page(run, place, monkeypatch, capsys):
    copy, thread = bucket._copy, BucketThread(run.path.parent, place, [])

    def no_room(source, target):
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
    run.write_label("Just now", "")
    thread.close()
    back = restarted(place)
    assert records(back) == records(run)


def test_a_bucket_that_cannot_be_written_keeps_the_page_from_starting(place):
    assert bucket.of_environment({}) is bucket.of_environment({bucket.VARIABLE: ""}) is None
    with pytest.raises(InvalidConfig, match="no such folder"):
        bucket.of_environment({bucket.VARIABLE: str(place / "missing")})
    for outputs in (place, place / "outputs", place.parent):
        with pytest.raises(InvalidConfig, match="the folder of the runs"):
            bucket.of_environment({bucket.VARIABLE: str(place)}, outputs)
    assert bucket.of_environment({bucket.VARIABLE: str(place)}, place.parent / "outputs") == place


def test_visitors_know_their_runs_again(run, keeper, place):
    assert bucket.KEY_FILE == visitors.KEY_FILE
    key = visitors.visitors_key(run.path.parent)
    keeper.look()
    outputs = restarted(place).path.parent
    assert visitors.visitors_key(outputs) == key
    assert (outputs / visitors.KEY_FILE).stat().st_mode & 0o077 == 0
