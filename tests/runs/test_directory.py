"""A run on disk: making it, who is alive, what its files say, and what survives damage."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidConfig, OutputsNotWritable, RunExists, RunNotFound
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import make_outputs, read_records, write_atomically
from playground.runs.folder.records import Label, Sample, Status
from playground.runs.folder.writer import RunWriter
from tests.support import at_once, small_config, update_metrics, wait_until

HOLD_LOCK = "import fcntl, sys; f = open(sys.argv[1], 'wb'); fcntl.flock(f, 2); print('held', flush=True); input()"


@contextmanager
def lock_holder(run: RunDirectory) -> Iterator[subprocess.Popen[str]]:
    """A living process that holds the run's lock, as a worker does."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD_LOCK, str(run.lock_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def write_status(run: RunDirectory, **fields: object) -> None:
    run.status_path.write_text(Status.model_validate({"state": "running", **fields}).model_dump_json())


def test_a_new_run_is_queued_and_keeps_its_configuration(outputs: Path) -> None:
    config = small_config("My Run: ü!")
    run = RunDirectory.create(outputs, config)
    assert run.config() == config
    assert run.id.startswith("my-run-")
    assert run.control_path.is_dir() and not run.stop_requested
    on_disk = Status.model_validate_json(run.status_path.read_bytes())
    assert (on_disk.state, on_disk.num_updates) == ("queued", 3)
    assert (run.metrics(), run.samples(), run.events(), run.log_tail(), run.latest_checkpoint()) == (
        [],
        [],
        [],
        "",
        None,
    )


def test_runs_made_in_the_same_second_get_different_names(outputs: Path) -> None:
    assert len({RunDirectory.create(outputs, small_config()).id for _ in range(5)}) == 5


def test_a_name_that_is_taken_is_refused(outputs: Path) -> None:
    RunDirectory.create(outputs, small_config(), "one")
    with pytest.raises(RunExists, match="already a run `one`"):
        RunDirectory.create(outputs, small_config(), "one")


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "A", "-a", "a b", "a\n", "é", "x" * 61, ".bin", "a\0"])
def test_an_id_that_is_not_a_plain_name_is_refused(outputs: Path, run_id: str) -> None:
    with pytest.raises(InvalidConfig, match="run-id: Use 1 to 60"):
        RunDirectory.create(outputs, small_config(), run_id)
    assert list(outputs.iterdir()) == []


@pytest.mark.parametrize("long", ["prompts", "rewards"])
def test_settings_that_nobody_could_read_back_are_refused_before_there_is_a_folder(long: str, outputs: Path) -> None:
    """As many as a form takes: 960 typed prompts of 100 characters, 8 lists of words."""
    words = {"kind": "keyword", "words": [f"{number:03}{'x' * 90}" for number in range(200)]}
    too_long: dict[str, Any] = {
        "prompts": {"source": "typed", "typed": [f"{number:03} {'x' * 96}" for number in range(960)]},
        "rewards": [words] * 8,
    }
    config = small_config(**{long: too_long[long]})
    with pytest.raises(InvalidConfig, match=r"characters as text .* of which at most 100,000 are read"):
        RunDirectory.create(outputs, config, "one")
    assert not (outputs / "one").exists()
    some = small_config(prompts={"source": "typed", "typed": too_long["prompts"]["typed"][:900]})
    assert RunDirectory.create(outputs, some, "one").config() == some


def test_a_reserved_folder_is_not_a_run_before_it_is_published(outputs: Path) -> None:
    run = RunDirectory.reserve(outputs, small_config(), "one")
    with pytest.raises(RunNotFound):
        RunDirectory.open(run.path)
    run.publish(small_config())
    assert RunDirectory.open(run.path).config() == small_config()


@pytest.mark.parametrize("inside", ["file", "file/deeper"])
def test_outputs_that_cannot_be_made_are_refused_in_words(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputsNotWritable, match="Choose another one with --outputs"):
        RunDirectory.create(tmp_path / inside, small_config())


def test_outputs_that_cannot_be_written_are_refused_in_words() -> None:
    with pytest.raises(OutputsNotWritable, match="Cannot write"):  # not even root can write there
        make_outputs("/proc/self/task")


def test_many_threads_may_ask_for_the_same_outputs_folder(outputs: Path) -> None:
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            for _ in range(50):
                make_outputs(outputs)
        except OutputsNotWritable as error:
            errors.append(error)

    at_once(*[ask] * 8)
    assert errors == [] and list(outputs.iterdir()) == []


def test_a_folder_without_a_configuration_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match="is not a run folder"):
        RunDirectory.open(tmp_path)


def test_a_run_lives_exactly_as_long_as_its_process(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    assert not run.is_alive()
    with lock_holder(run) as worker:
        write_status(run, pid=worker.pid)
        assert run.is_alive() and run.status().state == "running"
        worker.kill()
        wait_until(lambda: not run.is_alive())
        assert (run.status().state, run.status().reason) == ("interrupted", "killed")
        assert "worker.log" in run.status().message


def test_the_lock_is_believed_and_not_the_process_id(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    write_status(run, pid=os.getpid())  # alive, and innocent: the number was given to somebody else
    assert run.status().state == "interrupted"
    with lock_holder(run):
        write_status(run, pid=2**22 + 1)  # no such process, yet the worker lives
        assert run.status().state == "running"


def test_looking_at_a_run_does_not_disturb_its_lock(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    with lock_holder(run):
        assert all(run.is_alive() for _ in range(100))


@pytest.mark.parametrize("state", ["finished", "stopped", "failed", "interrupted"])
def test_an_ended_run_stays_ended_without_its_worker(outputs: Path, state: str) -> None:
    run = RunDirectory.create(outputs, small_config())
    write_status(run, state=state, message="why")
    run.request_stop()
    assert (run.status().state, run.status().message) == (state, "why")


def test_a_stop_request_shows_at_once(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    with lock_holder(run):
        write_status(run)
        run.request_stop()
        run.request_stop()
        assert run.stop_requested and run.status().state == "stopping"


@pytest.mark.parametrize("content", [b"", b"{", b"\x00\xff", b"[]", b'{"state": "dancing"}', None])
def test_a_damaged_status_is_an_interrupted_run(outputs: Path, content: bytes | None) -> None:
    run = RunDirectory.create(outputs, small_config())
    if content is None:
        run.status_path.unlink()
    else:
        run.status_path.write_bytes(content)
    assert (run.status().state, run.status().reason) == ("interrupted", "damaged")


def test_a_reader_never_sees_half_a_status(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    writer = RunWriter(run, num_updates=3)
    looks = 0

    def write() -> None:
        for number in range(400):
            writer.set_status(update=number, message="x" * (number % 7) * 1000)

    thread = threading.Thread(target=write)
    thread.start()
    while thread.is_alive():
        Status.model_validate_json(run.status_path.read_bytes())
        looks += 1
    thread.join()
    assert looks > 0 and Status.model_validate_json(run.status_path.read_bytes()).update == 399
    assert [path.name for path in run.path.iterdir() if path.name.startswith(".")] == []


def test_two_threads_may_replace_the_same_file(tmp_path: Path) -> None:
    path, errors = tmp_path / "file", []

    def write(text: str) -> None:
        try:
            for _ in range(200):
                write_atomically(path, text)
        except OSError as error:
            errors.append(error)

    at_once(*(partial(write, name * 1000) for name in "abcd"))
    assert errors == []
    assert path.read_text() in {name * 1000 for name in "abcd"}


def test_records_survive_a_torn_last_line_and_damaged_ones(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    writer = RunWriter(run, num_updates=3)
    writer.metrics(update_metrics(1))
    with open(run.metrics_path, "ab") as file:
        file.write(b'{"update": 2}\nnull\n\x00\x00\n\xff\xfe\n')  # a line of another shape, and no lines at all
    writer.metrics(update_metrics(3))
    with open(run.metrics_path, "ab") as file:
        file.write(b'{"update": 4, "epis')
    assert run.metrics() == [update_metrics(1), update_metrics(3)]


def test_fields_of_a_newer_version_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(
        '{"update": 0, "stage": "before", "prompt_id": 1, "prompt": "p", "completion": "c", "seed": 2, '
        '"score": 1.5, "kl": null, "colour": "blue"}\n'
    )
    assert read_records(path, Sample) == [
        Sample(update=0, stage="before", prompt_id=1, prompt="p", completion="c", seed=2, score=1.5, kl=None)
    ]


def test_the_log_tail_is_the_end_of_the_log(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    run.log_path.write_bytes(b"early\n" + b"\xff" + b"late\n")
    assert run.log_tail(max_bytes=6) == "\ufffdlate\n"


def test_only_a_checkpoint_with_a_manifest_counts(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config())
    for name in ("update-000009", "update-000010", "update-000011"):
        (run.checkpoints_path / name).mkdir(parents=True)
    for name in ("update-000009", "update-000010"):
        (run.checkpoints_path / name / "MANIFEST.json").touch()
    assert run.latest_checkpoint() == run.checkpoints_path / "update-000010"


def test_a_label_is_kept_within_its_limits_and_a_damaged_one_is_none(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config("Mine"), "one")
    assert run.label() == Label() and run.title(run.config()) == "Mine"
    assert run.write_label("Third try", "why\nnot") == run.label() == Label(name="Third try", note="why not")
    assert run.title(run.config()) == "Third try"
    with pytest.raises(InvalidConfig, match="at most 80 characters \\(got 81\\)"):
        run.write_label("x" * 81, "")
    with pytest.raises(InvalidConfig, match="at most 300 characters"):
        run.write_label("", "x" * 301)
    assert run.label().name == "Third try", "what is refused changes nothing"
    for damaged in ("", "[]", '{"name": 5}', json.dumps({"name": "x" * 81}), '{"name": "' + "x" * 2_000_000 + '"}'):
        run.label_path.write_text(damaged)
        assert run.label() == Label() and run.title(run.config()) == "Mine"
