"""What a worker died of, from exit code, log, heartbeat and requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from playground.process_identity import boot_id
from playground.runs.folder import exit_reasons, heartbeat
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.heartbeat import Killed
from playground.runs.folder.records import Status
from tests.support import small_config

GB = 10**9
TRACEBACK = "Traceback (most recent call last):\n  File 'x'\n"


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, small_config(), "r")


def status(**changes: object) -> Status:
    return Status(**{"state": "running", "pid": 4242, "boot_id": boot_id(), "update": 2, "num_updates": 3, **changes})


def held(run: RunDirectory, held_gb: float = 1, **changes: object) -> None:
    """The worker was seen last with so much of 8 GB."""
    facts = {"boot_id": boot_id(), "pid": 4242, "resident_bytes": int(held_gb * GB), "limit_bytes": 8 * GB}
    heartbeat.write(run.path, heartbeat.Heartbeat(**{**facts, **changes}))


def reason(run: RunDirectory, exit_code: int | None, **changes: object) -> str:
    return exit_reasons.of_death(exit_code, status(**changes), run.path)[0]


@pytest.mark.parametrize("exit_code", [-9, None])
@pytest.mark.parametrize(
    ("held_gb", "changes", "expected"),
    [
        (7.5, {}, "out_of_memory"),
        (6.0, {}, "killed"),
        (7.5, {"pid": 17}, "killed"),  # of another process
        (7.5, {"boot_id": "another"}, "killed"),
        (7.5, {"attempt": 2}, "killed"),
        (0, {"limit_bytes": 0}, "killed"),  # of a version that noted none
    ],
)
def test_a_kill_is_most_likely_want_of_memory_where_nearly_all_was_held(run, held_gb, changes, expected, exit_code):
    held(run, held_gb, **changes)
    found, sentence = exit_reasons.of_death(exit_code, status(), run.path)
    assert found == expected
    if found == "out_of_memory":
        assert "most likely" in sentence
        assert "7.5 GB" in sentence
        assert "0.5 GB" in sentence
    assert reason(run, -15) == "killed", "who sends another signal is not the kernel"


WORDS = {"state": "queued", "pid": 0, "boot_id": "", "update": 0}
CASES = [  # exit code, status, reason, a word of the sentence
    (-15, {}, "killed", "SIGTERM"),
    (-9, {}, "killed", "SIGKILL"),
    (-14, {}, "model", "update 2"),
    (-11, {}, "bug", "SIGSEGV"),
    (1, {}, "bug", "exit code 1"),
    (0, {}, "bug", "exit code 0"),
    (None, {}, "killed", "its exit code is unknown"),
    (None, {"boot_id": "yesterday"}, "killed", "machine was restarted"),
    (None, WORDS, "killed", "before its first update"),
    (None, {"state": "starting", "update": 0, "phase": "loading the model"}, "killed", "while loading the model"),
    (None, {"state": "starting", "update": 0, "phase": "saving it, 9 % done"}, "killed", "while saving it, and"),
]


@pytest.mark.parametrize(("exit_code", "changes", "expected", "word"), CASES)
def test_an_exit_code_and_a_status_say_what_is_known(run, exit_code, changes, expected, word):
    found, sentence = exit_reasons.of_death(exit_code, status(**changes), run.path)
    assert found == expected
    assert word in sentence


@pytest.mark.parametrize(
    ("log", "expected", "word"),
    [
        (f"{TRACEBACK}KeyError: 'a'\n", "bug", "KeyError: 'a'."),
        (f"{TRACEBACK}OSError: [Errno 28] No space left on device\n", "disk_full", "No space"),
        (f"{TRACEBACK}SafetensorError: Io: File too large (os error 27)\n", "disk_full", "File too large"),
        (f"{TRACEBACK}KeyError: 'a'\nand on it went\n", "killed", "its exit code is unknown"),
        (f"--- attempt 1\n{TRACEBACK}KeyError\n--- attempt 2\nhello\n", "killed", "its exit code is unknown"),
    ],
)
def test_the_end_of_the_log_speaks_where_the_end_was_not_seen(run, log, expected, word):
    run.log_path.write_text(log)
    found, sentence = exit_reasons.of_death(None, status(), run.path)
    assert found == expected
    assert word in sentence
    assert reason(run, -9) == "killed", "a kill is no matter of the log"


def test_what_an_earlier_attempt_left_says_nothing_about_a_later_one(run):
    held(run, 7.9, on_server_death="die")
    run.log_path.write_text(f"--- attempt 1, 2026-01-31 10:15:00 ---\n{'x' * 20_000}\n{TRACEBACK}KeyError")
    assert "KeyError" in exit_reasons.of_death(None, status(), run.path)[1], "its own attempt's"
    run.queue_again(status(), 3)
    asked = run.status_on_disk()
    assert (asked.attempt, asked.pid) == (2, 0)
    assert [exit_reasons.of_death(code, asked, run.path)[0] for code in (None, -9, 1)] == ["killed", "killed", "bug"]
    held(run, on_server_death="die", attempt=2)
    assert reason(run, None, attempt=2, pid=0, boot_id="") == "server_lost"


def test_a_worker_that_was_asked_to_stop_or_ended_by_us_has_not_had_an_accident(run):
    run.request_stop()
    assert [reason(run, code) for code in (-15, -9, None, -11, 1)] == ["stopped", "stopped", "stopped", "bug", "bug"]
    note = heartbeat.killed_path(run.path)
    note.write_text(Killed(reason="stalled", message="Silent for 40 s.").model_dump_json())
    assert exit_reasons.of_death(-9, status(), run.path) == ("stalled", "Silent for 40 s.")
    (run.control_path / "stop").unlink()
    assert reason(run, -9, attempt=2) == "killed", "the note is of an earlier attempt"
