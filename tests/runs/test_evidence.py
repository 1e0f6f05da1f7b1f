from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from playground.runs.folder import evidence, vitals
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.end_reasons import ENDS
from playground.runs.folder.records import Status
from playground.safety.process_identity import boot_id
from playground.setup import estimates
from tests.support import PROJECT, small_config

GB = 10**9


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, small_config(ppo={"num_updates": 3, "micro_batch_size": 8}), "r")


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    path = tmp_path / "memory.events"
    path.write_text("low 0\nmax 3\noom 1\noom_kill 2\n")
    return path


def status(**changes: object) -> Status:
    return Status(**{"state": "running", "pid": 4242, "boot_id": boot_id(), "update": 2, "num_updates": 3, **changes})


def seen(run: RunDirectory, held_gb: float = 1, kills: int = 2, **changes: object) -> None:
    facts = {"boot_id": boot_id(), "pid": 4242, "resident_bytes": int(held_gb * GB), "limit_bytes": 8 * GB}
    vitals.write(run.path, vitals.Vitals(**{**facts, "kills": kills, **changes}))


def test_a_kill_without_evidence_is_called_a_kill(run, counter):
    seen(run)
    reason, sentence = evidence.of_death(-9, status(), run.path, counter=counter)
    assert reason == "killed"
    assert sentence == "The worker was killed by SIGKILL after update 2, and nothing tells who did it."


@pytest.mark.parametrize(
    ("held_gb", "kills", "likely"), [(1, 1, True), (7.5, 2, True), (7.5, 1, False), (7.1, 2, None), (1, 2, None)]
)
def test_signal_9_is_want_of_memory_where_the_kernel_counted_or_nearly_all_was_held(
    run, counter, held_gb, kills, likely
):
    seen(run, held_gb, kills)
    reason, sentence = evidence.of_death(-9, status(), run.path, counter=counter)
    assert reason == ("killed" if likely is None else "out_of_memory")
    assert ("most likely" in sentence) == bool(likely)
    if likely is not None:
        assert sentence.endswith(estimates.advice(run.config()))


def test_a_run_whose_place_in_the_queue_is_gone_is_not_said_to_have_had_a_worker(run):
    reason, sentence = evidence.of_death(None, Status(), run.path)
    assert reason == "killed" and "no worker of it is there" in sentence and "worker.log" not in sentence
    reason, sentence = evidence.of_death(None, Status(state="starting", pid=4_000_000), run.path)
    assert reason == "killed" and sentence.startswith("The worker ended without saying why before its first update")


def test_evidence_of_another_process_or_another_boot_counts_for_nothing(run, counter):
    for change in ({"pid": 17}, {"boot_id": "another"}):
        seen(run, 7.9, 0, **change)
        assert evidence.of_death(-9, status(), run.path, counter=counter)[0] == "killed"


def test_only_the_kernels_own_counters_are_read(run, counter):
    seen(run, kills=0, counter=str(counter))
    assert evidence.of_death(-9, status(), run.path)[0] == "killed"
    seen(run, kills=0, counter=f"/sys/fs/cgroup/../../..{counter}")
    assert evidence.of_death(-9, status(), run.path)[0] == "killed"


@pytest.mark.parametrize(
    ("exit_code", "reason", "word"),
    [
        (-15, "killed", "SIGTERM"),
        (137, "killed", "SIGKILL"),
        (-1, "killed", "SIGHUP"),
        (-11, "bug", "SIGSEGV"),
        (-6, "bug", "SIGABRT"),
        (1, "bug", "exit code 1"),
        (0, "bug", "exit code 0"),
    ],
)
def test_an_exit_code_is_told_by_its_name(run, exit_code, reason, word):
    found, sentence = evidence.of_death(exit_code, status(), run.path)
    assert found == reason and word in sentence


def test_without_an_exit_code_nothing_is_claimed(run, counter):
    seen(run, 7.9, 2)
    reason, sentence = evidence.of_death(None, status(), run.path, counter=counter)
    assert reason == "killed" and "without saying why" in sentence and "memory" not in sentence
    seen(run, 7.9, 1)
    reason, sentence = evidence.of_death(None, status(), run.path, counter=counter)
    assert reason == "out_of_memory" and "most likely" in sentence


def test_a_restart_of_the_machine_is_told(run):
    reason, sentence = evidence.of_death(None, status(boot_id="yesterday"), run.path)
    assert reason == "killed" and "machine was restarted" in sentence


def test_a_run_that_should_end_with_its_server_has_lost_it(run):
    seen(run, on_server_death="die")
    reason, sentence = evidence.of_death(None, status(), run.path)
    assert reason == "server_lost" and "nobody saw how" in sentence


@pytest.mark.parametrize(
    ("log", "reason", "word"),
    [
        ("Traceback (most recent call last):\n  File 'x'\n    f()\nKeyError: 'a'\n", "bug", "KeyError: 'a'."),
        ("Fatal Python error: Segmentation fault\n\nThread 0x1\n", "bug", "Segmentation fault"),
        (
            "Traceback (most recent call last):\n  File 'x'\nOSError: [Errno 28] No space left on device\n",
            "disk_full",
            "No space",
        ),
        (
            "Traceback (most recent call last):\n  File 'x'\nSafetensorError: Io: File too large (os error 27)\n",
            "disk_full",
            "File too large",
        ),
        ("Traceback (most recent call last):\n  File 'x'\nKeyError: 'a'\nand on it went\n", "killed", "without saying"),
        (
            "--- attempt 1\nTraceback (most recent call last):\n  File 'x'\nKeyError\n--- attempt 2\nhello\n",
            "killed",
            "without",
        ),
    ],
)
def test_the_end_of_the_log_speaks_where_nobody_saw_the_end(run, log, reason, word):
    run.log_path.write_text(log)
    found, sentence = evidence.of_death(None, status(), run.path)
    assert found == reason and word in sentence
    assert evidence.of_death(-9, status(), run.path)[0] == "killed", "a kill is no matter of the log"


CRASHING = """
import faulthandler, signal, sys
from playground.training.models.language_model import Tokens
from playground.training.rewards.formats import Format
faulthandler.enable()
class Crash:
    def __call__(self, *_, **__): signal.raise_signal(signal.SIGSEGV)
    decode = __call__
form = Format.__new__(Format)
form.tokenizer = Crash()
{"encode": lambda: Tokens(Crash(), 0, 0).encode("a"), "decode": lambda: Tokens(Crash(), 0, 0).decode([1]),
 "reward": lambda: form.tokenized("a"), "ours": Crash()}[sys.argv[1]]()
"""


@pytest.mark.parametrize(
    ("kind", "program"),
    [("encode", "this model"), ("decode", "this model"), ("reward", "this reward model"), ("ours", "")],
)
def test_a_crash_in_a_tokenizer_is_a_matter_of_the_model(run, kind, program):
    with open(run.log_path, "w") as log:
        code = subprocess.run([sys.executable, "-c", CRASHING, kind], cwd=PROJECT, stderr=log).returncode
    assert code == -signal.SIGSEGV
    for exit_code, crash in ((code, "SIGSEGV"), (None, "Segmentation fault")):
        found, sentence = evidence.of_death(exit_code, status(), run.path)
        if program:
            told = f"The tokenizer of {program} ended the worker ({crash}). Choose another model."
            assert (found, sentence) == ("model", told)
        else:
            assert found == "bug" and crash in sentence


TRACEBACK = "Traceback (most recent call last):\n  File 'x'\nKeyError: 'a'\n"


def test_what_an_earlier_attempt_left_is_not_evidence_about_a_later_one(run, counter):
    seen(run, 7.9, 1, on_server_death="die")
    run.log_path.write_text(f"--- attempt 1, 2026-01-31 10:15:00 ---\n{'x' * 20_000}\n{TRACEBACK.rstrip()}")
    before = status()
    assert "KeyError" in evidence.of_death(None, before, run.path, counter=counter)[1], "its own attempt's"
    run.queue_again(before, 3)
    asked = run.status_on_disk()
    assert (asked.attempt, asked.pid) == (2, 0)
    for code in (None, -9):
        assert evidence.of_death(code, asked, run.path, counter=counter)[0] == "killed"
    reason, sentence = evidence.of_death(1, asked, run.path, counter=counter)
    assert reason == "bug" and "KeyError" not in sentence and "exit code 1" in sentence
    with open(run.log_path, "a") as log:  # it came as far as to its imports
        log.write("warming up\n" + TRACEBACK.replace("KeyError", "ImportError"))
    assert "ImportError" in evidence.of_death(None, asked, run.path)[1]


@pytest.mark.parametrize(("attempt", "reason"), [(1, "killed"), (2, "server_lost")])
def test_the_vitals_count_for_their_own_attempt_only(run, attempt, reason):
    seen(run, on_server_death="die", attempt=attempt)
    assert evidence.of_death(None, status(attempt=2, pid=0, boot_id=""), run.path)[0] == reason


@pytest.mark.parametrize(("attempt", "reason"), [(1, "killed"), (2, "out_of_memory")])
def test_memory_that_an_earlier_attempt_held_explains_no_later_kill(run, counter, attempt, reason):
    seen(run, 7.9, 1, attempt=attempt)
    assert evidence.of_death(-9, status(attempt=2, pid=0, boot_id=""), run.path, counter=counter)[0] == reason


def test_a_worker_that_was_asked_to_stop_or_ended_by_us_has_not_had_an_accident(run):
    run.request_stop()
    assert evidence.of_death(-15, status(), run.path) == ("stopped", "Stopped after update 2.")
    assert evidence.of_death(-11, status(), run.path)[0] == "bug"
    note = vitals.Killed(silent_seconds=40, stalled=True)
    vitals.killed_path(run.path).write_text(note.model_dump_json())
    reason, sentence = evidence.of_death(-9, status(), run.path)
    assert reason == "stalled" and "40 s" in sentence
    (run.control_path / "stop").unlink()
    assert evidence.of_death(-9, status(attempt=2), run.path)[0] == "killed", "the note is of an earlier attempt"
    note = vitals.Killed(attempt=2, reason="model", message="Cannot load it.")
    vitals.killed_path(run.path).write_text(note.model_dump_json())
    assert evidence.of_death(-9, status(attempt=2), run.path) == ("model", "Cannot load it.")


def test_every_reason_is_one_that_people_are_told_about(run):
    codes = [None, *range(256), *(-number for number in signal.Signals)]
    assert {evidence.of_death(code, status(), run.path)[0] for code in codes} <= ENDS.keys()
    assert {evidence.state_after(reason) for reason in ENDS if reason} <= {"stopped", "failed", "interrupted"}


def test_control_groups_of_both_versions_and_none_at_all(tmp_path):
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "vmstat").write_text("nr_free_pages 1\noom_kill 9\n")
    assert vitals.memory_facts(groups, proc)[1:] == (str(proc / "vmstat"), 9)
    v2 = groups / "user/app"
    v2.mkdir(parents=True)
    (proc / "self/cgroup").write_text("0::/user/app\n")
    (v2 / "memory.events").write_text("oom 1\noom_kill 3\noom_group_kill 0\n")
    (v2 / "memory.max").write_text("max\n")
    (v2.parent / "memory.max").write_text("1000000\n")
    assert vitals.memory_facts(groups, proc) == (1_000_000, str(v2 / "memory.events"), 3)
    v1 = groups / "memory"
    v1.mkdir()
    (proc / "self/cgroup").write_text("7:cpu:/x\n4:memory:/not/there/in/a/container\n")
    (v1 / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
    (v1 / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    found = vitals.memory_facts(groups, proc)
    assert found[1:] == (str(v1 / "memory.oom_control"), 5) and 10**8 < found.limit_bytes < 2**50
