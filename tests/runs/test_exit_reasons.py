"""What a worker died of, from exit code, log, heartbeat and requests."""

import pytest

from playground.process_identity import boot_id
from playground.runs.folder import exit_reasons, heartbeat
from playground.runs.folder.heartbeat import Killed
from playground.runs.folder.records import Status
from tests.support import data_beside

GB = 10**9
TRACEBACK = "Traceback (most recent call last):\n  File 'x'"
CASES = data_beside(__file__, "exit_reasons.yaml")


def status(**changes):
    return Status(**{"state": "running", "pid": 4242, "boot_id": boot_id(), "update": 2, "num_updates": 3, **changes})


def held(run, held_gb=1, **changes):
    """The worker was seen last with so much of 8 GB."""
    facts = {"boot_id": boot_id(), "pid": 4242, "resident_bytes": int(held_gb * GB), "limit_bytes": 8 * GB}
    heartbeat.write(run.path, heartbeat.Heartbeat(**{**facts, **changes}))


def reason(run, exit_code, **changes):
    return exit_reasons.of_death(exit_code, status(**changes), run.path)[0]


@pytest.mark.parametrize("exit_code", [-9, None])
@pytest.mark.parametrize(("held_gb", "changes", "expected"), CASES["memory"])
def test_a_kill_is_most_likely_want_of_memory_where_nearly_all_was_held(run, held_gb, changes, expected, exit_code):
    held(run, held_gb, **changes)
    cause, sentence = exit_reasons.of_death(exit_code, status(), run.path)
    assert cause == expected
    for words in ("most likely", "7.5 GB", "0.5 GB") if cause == "out_of_memory" else ():
        assert words in sentence
    assert reason(run, -15) == "killed", "who sends another signal is not the kernel"


@pytest.mark.parametrize(("exit_code", "changes", "expected", "words"), CASES["codes"])
def test_an_exit_code_and_a_status_say_what_is_known(run, exit_code, changes, expected, words):
    cause, sentence = exit_reasons.of_death(exit_code, status(**changes), run.path)
    assert cause == expected
    assert words in sentence


@pytest.mark.parametrize(("log", "expected", "words"), CASES["logs"])
def test_the_end_of_the_log_speaks_where_the_end_was_not_seen(run, log, expected, words):
    run.log_path.write_text(log.replace("TRACEBACK", TRACEBACK))
    cause, sentence = exit_reasons.of_death(None, status(), run.path)
    assert cause == expected
    assert words in sentence
    assert reason(run, -9) == "killed", "a kill is no matter of the log"


def test_what_an_earlier_attempt_left_says_nothing_about_a_later_one(run):
    held(run, 7.9, on_server_death="die")
    run.log_path.write_text(f"--- attempt 1, 2026-01-31 10:15:00 ---\n{'x' * 20_000}\n{TRACEBACK}\nKeyError")
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
