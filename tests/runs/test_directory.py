"""A run on disk: making it, who is alive, what its files say, what the worker writes, and what survives damage."""

import json
import os
import threading
from pathlib import Path

import psutil
import pytest

from playground.errors import InvalidConfig, OutputsNotWritable, RunExists, RunNotFound
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import make_outputs, read_records
from playground.runs.folder.records import Label, Sample, Status, to_json_line
from playground.runs.folder.writer import RunWriter, name_worker
from playground.runs.launcher import take_lock
from tests.runs.test_half_made import idle
from tests.support import sample, small_config, update_metrics, wait_until


@pytest.fixture
def run(outputs):
    return RunDirectory.create(outputs, small_config("Mine"), "one")


def write_status(run, **fields):
    run.status_path.write_text(Status.model_validate({"state": "running", **fields}).model_dump_json())


def test_an_id_that_is_not_a_plain_name_is_refused(outputs):
    for run_id in ("", "..", "a/b", "A", "-a", "a b", "a\n", "\u00e9", "x" * 61, ".bin", "a\0"):
        with pytest.raises(InvalidConfig, match="run-id"):
            RunDirectory.create(outputs, small_config(), run_id)
    assert list(outputs.iterdir()) == []


def test_a_name_that_is_taken_and_a_folder_that_is_no_run_are_refused(run, tmp_path):
    with pytest.raises(RunExists, match="`one`"):
        RunDirectory.create(run.path.parent, small_config(), "one")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(RunNotFound, match="is not a run folder"):
        RunDirectory.open(tmp_path)
    reserved = RunDirectory.reserve(run.path.parent, small_config(), "two")
    with pytest.raises(RunNotFound):
        RunDirectory.open(reserved.path)
    reserved.publish(small_config())
    assert RunDirectory.open(reserved.path).config() == small_config()


def test_outputs_that_cannot_be_made_or_written_are_refused(tmp_path):
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file/deeper", Path("/proc/self/task")):  # not even root writes there
        with pytest.raises(OutputsNotWritable, match="--outputs"):
            make_outputs(folder)


def test_a_run_lives_exactly_as_long_as_its_process(run):
    assert not run.is_alive()
    with take_lock(run) as lock:
        process = idle(run, lock)
    write_status(run, pid=process.pid)
    assert all(run.is_alive() for _ in range(100))
    assert run.status().state == "running"
    write_status(run, pid=2**22 + 1)  # no such process, yet the worker lives
    assert run.status().state == "running"
    run.request_stop()
    run.request_stop()
    assert run.stop_requested
    assert run.status().state == "stopping"
    (run.control_path / "stop").unlink()
    process.kill()
    wait_until(lambda: not run.is_alive())
    process.wait()
    assert (run.status().state, run.status().reason) == ("interrupted", "killed")
    write_status(run, pid=os.getpid())  # alive, and innocent: the number was given to another process
    assert run.status().state == "interrupted"


def test_an_ended_run_stays_ended_and_a_damaged_status_is_an_interrupted_run(run):
    run.request_stop()
    for state in ("finished", "stopped", "failed", "interrupted"):
        write_status(run, state=state, message="why")
        assert (run.status().state, run.status().message) == (state, "why")
    for content in (b"", b"{", b"\x00\xff", b"[]", b'{"state": "dancing"}'):
        run.status_path.write_bytes(content)
        assert (run.status().state, run.status().reason) == ("interrupted", "damaged")


def test_a_reader_never_sees_half_a_status(run):
    writer = RunWriter(run, num_updates=3)

    def write():
        for number in range(150):
            writer.set_status(update=number, message="x" * (number % 7) * 1000)

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        Status.model_validate_json(run.status_path.read_bytes())
    assert run.status_on_disk().update == 149
    assert [path.name for path in run.path.iterdir() if path.name.startswith(".")] == []


def test_what_is_written_is_strict_json_a_line_each_and_fields_of_a_newer_version_are_ignored(run, tmp_path):
    terms = {"length": float("inf"), "truth": 1.0}
    line = to_json_line(update_metrics(1, score_mean=float("nan"), terms=terms))
    item = json.loads(line, parse_constant=pytest.fail)
    assert item["score_mean"] is None
    assert item["terms"] == {"length": None, "truth": 1.0}
    hostile = sample(0, "before", 1.0, completion="a\nb\r\u2028c\x00 <b>'\"")
    RunWriter(run, 3).samples([hostile, sample(1, "before", 2.0)])
    assert run.samples_path.read_bytes().count(b"\n") == 2
    assert run.samples() == [hostile, sample(1, "before", 2.0)]
    text = sample(1, "before", 1.5)
    (tmp_path / "samples.jsonl").write_text(json.dumps({**text.model_dump(), "colour": "blue"}) + "\n")
    assert read_records(tmp_path / "samples.jsonl", Sample) == [text]


def test_a_label_is_kept_within_its_limits_and_a_damaged_one_is_none(run):
    assert (run.label(), run.title(run.config())) == (Label(), "Mine")
    assert run.write_label("Third try", "why\nnot") == run.label() == Label(name="Third try", note="why not")
    assert run.title(run.config()) == "Third try"
    for name, note in (("x" * 81, ""), ("", "x" * 301)):
        with pytest.raises(InvalidConfig, match=r"at most (80|300) characters"):
            run.write_label(name, note)
    assert run.label().name == "Third try", "what is refused changes nothing"
    for damaged in ("", "[]", '{"name": 5}', json.dumps({"name": "x" * 81}), '{"name": "' + "x" * 2_000_000 + '"}'):
        run.label_path.write_text(damaged)
        assert (run.label(), run.title(run.config())) == (Label(), "Mine")


def test_what_a_quick_worker_writes_while_its_launcher_names_it_stands(run, monkeypatch):
    worker = threading.Thread(target=lambda: RunWriter(run, 3).finish("failed", "bug", "At once."))
    before = run.status_on_disk()

    def slow_look():
        monkeypatch.undo()
        worker.start()
        worker.join(0.2)
        return before

    monkeypatch.setattr(run, "status_on_disk", slow_look)
    name_worker(run, os.getpid())
    worker.join()
    assert run.status_on_disk().state == "failed"


def test_a_change_of_state_is_an_event_and_a_change_of_figures_is_not(run):
    writer = RunWriter(run, 3)
    named = (writer.status.state, writer.status.pid, writer.status.pid_started_at)
    assert named == ("starting", os.getpid(), psutil.Process().create_time())
    writer.set_status(state="running", phase="training")
    writer.set_status(update=2)
    writer.event("warning", "Careful.", evidence=1.5)
    writer.finish("failed", "diverged", "It blew up.")
    writer.finish("stopped", "stopped", "Later.")  # the first end stands
    writer.set_status(state="running")
    assert [(event.seq, event.kind, event.update, event.message, event.data) for event in run.events()] == [
        (0, "state", 0, "", {"state": "running", "reason": ""}),
        (1, "warning", 2, "Careful.", {"evidence": 1.5}),
        (2, "state", 2, "It blew up.", {"state": "failed", "reason": "diverged"}),
    ]
    status = run.status()
    assert (status.state, status.phase, status.reason, status.update) == ("failed", "", "diverged", 2)
