"""What a restart of a Space leaves: runs come back from the bucket whole, and go on bit by bit; torn, full or gone
buckets cost no run that trains."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch

from playground.errors import InvalidConfig
from playground.runs import bucket, supervisor
from playground.runs.bucket import BucketThread, Keeper
from playground.runs.folder import checkpoints, writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.sweeps import sweep_making, sweep_record
from playground.sweeps.sweep_progress import progress_of
from playground.ui.door import visitors
from tests.faults import resuming
from tests.figures import Figure
from tests.support import wait_until
from tests.ui import fake_run


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return resuming.tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Path:
    """An outputs folder with a run that died in its sixth update."""
    outputs = tmp_path_factory.mktemp("first")
    before = torch.get_num_threads()
    config = resuming.config(model, checkpoint={"every": 1, "keep": 4})
    resuming.broken_off(RunDirectory.create(outputs, config, "run"), 5)
    torch.set_num_threads(before)
    return outputs


@pytest.fixture
def outputs(tmp_path: Path, broken_off: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(broken_off, tmp_path / "outputs"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The bucket."""
    folder = tmp_path / "bucket"
    folder.mkdir()
    return folder


@pytest.fixture
def restarted(tmp_path: Path) -> Iterator[Callable[[Path], Path]]:
    """A new machine: an empty outputs folder, filled from a bucket."""
    made: list[Path] = []

    def restart(place: Path) -> Path:
        made.append(tmp_path / f"restart-{len(made)}")
        made[-1].mkdir()
        bucket.restore(place, made[-1])
        return made[-1]

    yield restart


def records(run: RunDirectory) -> list[Any]:
    return [run.metrics(), run.samples(), run.evaluations(), run.all_events(), run.status_on_disk(), run.config()]


def test_a_run_comes_back_and_goes_on_bit_identical(
    tmp_path: Path, model: Path, outputs: Path, place: Path, restarted: Callable[[Path], Path], figure: Figure
) -> None:
    before = torch.get_num_threads()
    undisturbed = RunDirectory.create(tmp_path, RunDirectory(outputs / "run").config(), "whole")
    resuming.attempt(undisturbed)
    assert Keeper(outputs, place).look() == ["run"]
    run = RunDirectory(restarted(place) / "run")
    assert records(run) == records(RunDirectory(outputs / "run"))
    assert not run.is_alive() and not run.lock_path.exists()
    found = checkpoints.search(run).found
    assert found is not None and found.update == 5
    run_ended = supervisor.Supervisor(run.path.parent).end_the_dead()
    assert [ended.id for ended in run_ended] == ["run"] and run.status().state == "interrupted"
    resuming.queue_again(run)
    resuming.attempt(run)
    torch.set_num_threads(before)
    same = (resuming.weights(run), resuming.figures(run)) == (
        resuming.weights(undisturbed), resuming.figures(undisturbed),
    )  # fmt: skip
    figure("runs of a Space that went on after a restart, bit-identical", 1, int(same))


class Died(BaseException):
    """The page's process is gone in the middle of a copy."""


def dies_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The copy of that file is torn: half of it is there, and nobody is left."""
    left = [number]
    copy, write = bucket._copy, bucket._write

    def torn(target: Path, whole: Callable[[], Any]) -> Any:
        left[0] -= 1
        done = whole()
        if left[0]:
            return done
        target.write_bytes(target.read_bytes()[: target.stat().st_size // 2])
        raise Died

    monkeypatch.setattr(bucket, "_copy", lambda source, target: torn(target, lambda: copy(source, target)))
    monkeypatch.setattr(bucket, "_write", lambda target, data: torn(target, lambda: write(target, data)))


def test_a_copy_that_is_torn_at_any_file_leaves_the_one_before_it(
    tmp_path: Path, outputs: Path, place: Path, restarted: Callable[[Path], Path], figure: Figure
) -> None:
    run = RunDirectory(outputs / "run")
    whole_run = tmp_path / "aside"
    shutil.copytree(run.path, whole_run)
    newest = run.checkpoints()[-1]
    shutil.rmtree(newest)  # the first copy is of a moment before it
    run.metrics_path.write_bytes(b"".join(run.metrics_path.read_bytes().splitlines(keepends=True)[:-1]))
    Keeper(outputs, place).look()
    earlier = records(RunDirectory(restarted(place) / "run"))
    shutil.rmtree(run.path)
    shutil.copytree(whole_run, run.path)
    later = records(run)
    assert earlier != later
    tried = survived = 0
    for number in range(1, 100):
        torn_place = Path(shutil.copytree(place, tmp_path / f"bucket-{number}"))
        with pytest.MonkeyPatch.context() as patch:
            dies_at(patch, number)
            try:
                Keeper(outputs, torn_place).look()
                break
            except Died:
                tried += 1
        back = RunDirectory(restarted(torn_place) / "run")
        found = checkpoints.search(back).found
        assert found is not None
        survived += records(back) == earlier and not checkpoints.problem_of(found.path)
        assert Keeper(outputs, torn_place).look() == ["run"]  # and the next copy mends it
        mended = RunDirectory(restarted(torn_place) / "run")
        assert records(mended) == later and checkpoints.can_go_on(mended.checkpoints_path / newest.name)
    assert tried > 10
    figure("copies into a bucket, torn at each file: the one before it came back", tried, survived)


def test_the_checkpoint_is_whole_before_the_status_that_tells_of_it_and_manifests_are_last(
    outputs: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    copy, write = bucket._copy, bucket._write
    monkeypatch.setattr(bucket, "_copy", lambda source, target: (written.append(str(target)), copy(source, target))[1])
    monkeypatch.setattr(bucket, "_write", lambda target, data: (written.append(str(target)), write(target, data))[1])
    Keeper(outputs, place).look()
    names = [path.removeprefix(f"{place}/runs/run/") for path in written]
    assert names[-2:] == ["records/000001/status.json", "records/000001/MANIFEST.json"]
    manifests = [
        number for number, name in enumerate(names) if name.startswith("check") and name.endswith("MANIFEST.json")
    ]
    first_record = next(number for number, name in enumerate(names) if name.startswith("records"))
    assert manifests and max(manifests) == first_record - 1
    assert len(set(names)) == len(names)  # nothing is written twice, appended to or renamed
    assert not any("worker.lock" in name or "vitals" in name or "/." in name for name in names)


@pytest.mark.parametrize("damage", ["cut", "changed", "missing"])
def test_a_damaged_copy_is_passed_over_for_the_one_before_it_and_a_damaged_checkpoint_is_left_out(
    outputs: Path, place: Path, restarted: Callable[[Path], Path], damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    keeper, run = Keeper(outputs, place), RunDirectory(outputs / "run")
    keeper.look()
    run.write_label("Another name", "")
    assert keeper.look() == ["run"]
    copies = sorted((place / "runs/run/records").iterdir())
    assert len(copies) == bucket.KEPT_COPIES
    (weights,) = (place / "runs/run/checkpoints/update-000005").glob("model*.safetensors")
    for path in (copies[-1] / "metrics.jsonl", weights):
        data = path.read_bytes()
        path.write_bytes({"cut": data[:-10], "changed": b"x" + data[1:], "missing": b""}[damage])
        if damage == "missing":
            path.unlink()
    back = RunDirectory(restarted(place) / "run")
    assert back.metrics() == run.metrics() and not back.label_path.exists()
    assert not (back.checkpoints_path / "update-000005").exists()
    assert "update-000005 of run is not whole" in capsys.readouterr().err
    for copy in copies:
        (copy / "MANIFEST.json").write_text("[]")
    assert list(restarted(place).iterdir()) == []
    assert "The run run could not be brought back" in capsys.readouterr().err


def test_only_the_newest_and_the_best_checkpoint_are_kept_and_nothing_without_need(outputs: Path, place: Path) -> None:
    keeper, run = Keeper(outputs, place), RunDirectory(outputs / "run")
    keeper.look()
    assert len(run.checkpoints()) > 2
    kept = {path.name for path in (place / "runs/run/checkpoints").iterdir()}
    best = checkpoints.best(run.checkpoints())
    assert best is not None and kept == {best.name, "update-000005"}
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    assert keeper.look() == []
    assert Keeper(outputs, place).look() == ["run"]  # a new process knows nothing; whole checkpoints stay
    after = {
        path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file() and "records" not in path.parts
    }
    assert after == {path: moment for path, moment in before.items() if "records" not in path.parts}


def test_a_run_without_checkpoint_or_end_is_not_kept_and_its_end_is(place: Path, tmp_path: Path, model: Path) -> None:
    run = RunDirectory.create(tmp_path / "new", resuming.config(model), "young")
    keeper = Keeper(tmp_path / "new", place)
    assert keeper.look() == []
    writer.write_end(run, run.status_on_disk(), "stopped", "stopped", "Stopped.")
    assert keeper.look() == ["young"] and keeper.look() == []


def test_a_run_that_is_deleted_here_goes_there_too_and_what_was_never_here_stays(
    outputs: Path, place: Path, restarted: Callable[[Path], Path]
) -> None:
    Keeper(outputs, place).look()
    shutil.copytree(place / "runs/run", place / "runs/theirs")
    (place / "runs/theirs/records/000001/MANIFEST.json").unlink()  # it cannot be brought back
    again = restarted(place)
    keeper = Keeper(again, place)
    keeper.knows(["run"])
    shutil.rmtree(again / "run")
    keeper.look()
    assert [path.name for path in (place / "runs").iterdir()] == ["theirs"]


def test_a_list_of_runs_that_cannot_be_read_empties_no_bucket(
    outputs: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(outputs, place)
    keeper.look()
    kept = sorted(place.rglob("*"))

    def refused(path: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="Too many open files"):
        patch.setattr(bucket.os, "scandir", refused)
        keeper.look()
    assert sorted(place.rglob("*")) == kept and keeper.look() == []


def test_a_run_that_is_here_is_not_overwritten(outputs: Path, place: Path) -> None:
    Keeper(outputs, place).look()
    (outputs / "run/metrics.jsonl").write_text("newer")
    assert bucket.restore(place, outputs) == []
    assert (outputs / "run/metrics.jsonl").read_text() == "newer"


def test_links_and_strange_names_in_a_bucket_are_not_followed(
    outputs: Path, place: Path, restarted: Callable[[Path], Path], tmp_path: Path
) -> None:
    Keeper(outputs, place).look()
    records_there = place / "runs/run/records/000001"
    text = (records_there / "MANIFEST.json").read_text()
    (records_there / "MANIFEST.json").write_text(text.replace('"metrics.jsonl"', '"../../outside.jsonl"'))
    shutil.copy(records_there / "metrics.jsonl", place / "runs/run/outside.jsonl")
    shutil.copytree(outputs / "run", tmp_path / "secret")
    (place / "runs" / "linked").symlink_to(tmp_path / "secret")
    (place / "runs" / "..up").mkdir()
    again = restarted(place)
    assert list(again.iterdir()) == [] and not (again.parent / "outside.jsonl").exists()


def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for the checkpoints, and not for the records."""
    copy = bucket._copy

    def no_room(source: Path, target: Path) -> Any:
        if bucket.RECORDS in target.parts and target.name == "metrics.jsonl":
            target.write_bytes(b"a part")
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        return copy(source, target)

    monkeypatch.setattr(bucket, "_copy", no_room)


def test_a_full_bucket_is_told_of_once_and_tried_again_while_the_run_goes_on(
    outputs: Path, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    restarted: Callable[[Path], Path],
) -> None:  # fmt: skip
    before = {path: path.read_bytes() for path in outputs.rglob("*") if path.is_file()}
    monkeypatch.setattr(bucket, "RETRY_SECONDS", 0.01)
    thread = BucketThread(outputs, place, [])
    with monkeypatch.context() as patch:
        full(patch)
        thread.start()
        wait_until(lambda: thread.trouble)
        wait_until(lambda: not list(place.glob("runs/run/records/*")))
    wait_until(lambda: not thread.trouble)
    thread.close()
    said = capsys.readouterr().err
    assert said.count("No space left on device") == 1 and "can be written again" in said
    assert {path: path.read_bytes() for path in outputs.rglob("*") if path.is_file()} == before
    assert records(RunDirectory(restarted(place) / "run")) == records(RunDirectory(outputs / "run"))


def test_a_bucket_that_is_gone_for_a_while_has_everything_afterwards(
    outputs: Path, place: Path, monkeypatch: pytest.MonkeyPatch, restarted: Callable[[Path], Path]
) -> None:
    monkeypatch.setattr(bucket, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(bucket, "LOOK_SECONDS", 0.01)
    keeper = Keeper(outputs, place)
    keeper.look()
    shutil.rmtree(place)
    RunDirectory(outputs / "run").write_label("Another name", "")
    with pytest.raises(FileNotFoundError):
        keeper.look()
    place.mkdir()  # another one, which is empty
    assert keeper.look() == ["run"]
    assert records(RunDirectory(restarted(place) / "run")) == records(RunDirectory(outputs / "run"))


@pytest.mark.parametrize("name", ["label.json", "frontier.json"])
def test_what_viewers_add_to_a_run_that_has_ended_is_kept_too(outputs: Path, place: Path, name: str) -> None:
    keeper = Keeper(outputs, place)
    assert keeper.look() == ["run"] and keeper.look() == []
    (outputs / "run" / name).write_text("{}")
    assert keeper.look() == ["run"] and keeper.look() == []
    assert (max((place / "runs/run/records").iterdir()) / name).read_text() == "{}"


def test_the_last_look_is_at_the_end_of_the_page(outputs: Path, place: Path) -> None:
    thread = BucketThread(outputs, place, [])
    thread.start()
    wait_until(lambda: list(place.glob("runs/run/records/000001/MANIFEST.json")))
    RunDirectory(outputs / "run").write_label("Just now", "")
    thread.close()
    newest = max((place / "runs/run/records").iterdir())
    assert "Just now" in (newest / "label.json").read_text()


def test_a_bucket_that_cannot_be_written_keeps_the_page_from_starting(place: Path) -> None:
    assert bucket.of_environment({}) is None and bucket.of_environment({bucket.VARIABLE: ""}) is None
    assert bucket.of_environment({bucket.VARIABLE: str(place)}) == place
    with pytest.raises(InvalidConfig, match=r"PLAYGROUND_BUCKET.*there is no such folder\. Attach a bucket"):
        bucket.of_environment({bucket.VARIABLE: str(place / "missing")})
    for outputs in (place, place / "outputs", place.parent):
        with pytest.raises(InvalidConfig, match="the folder of the runs"):
            bucket.of_environment({bucket.VARIABLE: str(place)}, outputs)
    assert bucket.of_environment({bucket.VARIABLE: str(place)}, place.parent / "outputs") == place


def test_visitors_know_their_runs_again(outputs: Path, place: Path, restarted: Callable[[Path], Path]) -> None:
    assert bucket.KEY_FILE == visitors.KEY_FILE
    key = visitors.visitors_key(outputs)
    Keeper(outputs, place).look()
    back = restarted(place)
    assert visitors.visitors_key(back) == key
    assert (back / visitors.KEY_FILE).stat().st_mode & 0o077 == 0


def test_a_sweep_comes_back_and_what_was_not_kept_of_it_can_be_made_again(
    place: Path, tmp_path: Path, restarted: Callable[[Path], Path]
) -> None:
    assert bucket.SWEEPS == sweep_record.FOLDER
    outputs = tmp_path / "outputs"
    fake_run.write_sweep(outputs, "leash", {"kl.coef": [0.1, 0.25, 0.5]})
    fake_run.write_sweep(outputs, "whole", {"kl.coef": [0.1]})
    fake_run.write_sweep(outputs, "gone", {"kl.coef": [0.1]})
    waiting, deleted = RunDirectory(outputs / "leash-3"), RunDirectory(outputs / "gone-1")
    waiting.status_path.write_text(Status(state="queued").model_dump_json())
    shutil.rmtree(waiting.checkpoints_path, ignore_errors=True)
    keeper = Keeper(outputs, place)
    keeper.look()
    shutil.rmtree(deleted.path)
    before = (place / bucket.SWEEPS / "leash.json").stat().st_mtime_ns
    keeper.look()
    assert (place / bucket.SWEEPS / "leash.json").stat().st_mtime_ns == before, "written once"
    assert (place / bucket.SWEEPS / "gone.json").exists()
    os.utime(sweep_record.path_of(outputs, "gone"), (1, 1))
    sweep_making.forget_gone(outputs)
    keeper.look()
    assert not (place / bucket.SWEEPS / "gone.json").exists()
    (place / bucket.SWEEPS / "torn.json").write_text('{"name": "to')
    (place / bucket.SWEEPS / "link.json").symlink_to("/etc/passwd")

    back = restarted(place)
    bucket.restore_sweeps(place, back)
    assert sorted(sweep.name for sweep in sweep_record.every(back)) == ["leash", "whole"]
    sweep = sweep_record.find(back, "leash")
    assert [run.id for run in sweep_record.runs_of(back, sweep)] == ["leash-1", "leash-2"]
    assert progress_of(back, sweep, sweep_record.statuses(back, sweep)).words == "2 of 3 done; 1 not made yet"
    assert bucket.restore_sweeps(place, back) == [], "what is here is not overwritten"
    found = sweep_making.resume_all(back, sweep, Mock(side_effect=OSError(11, "no process to be had")))
    assert found.going == ["leash-3"] and RunDirectory(back / "leash-3").config().kl.coef == 0.5
