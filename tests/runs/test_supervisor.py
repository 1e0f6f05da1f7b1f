"""Runs get the end that they have had: written once, under the worker's lock, and never for one that lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

from playground.config import RewardTrainingConfig
from playground.runs import history, reward_models, supervisor
from playground.runs.folder import directory, files, writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import is_locked, write_atomically
from playground.runs.folder.records import Status
from playground.runs.start import children, launcher, queue
from playground.runs.supervisor import Supervisor, SupervisorThread
from tests.support import at_once, small_config, update_metrics, wait_until


def lost_run(outputs: Path, name: str = "lost", **status: object) -> RunDirectory:
    """A run whose status says that it trains, and whose worker is not there."""
    run = RunDirectory.create(outputs, small_config(), name)
    now = time.time()
    told = {"state": "running", "phase": "training", "pid": 4_000_000, "update": 2, "started_at": now - 60}
    changed = run.status_on_disk().model_copy(update={**told, "updated_at": now - 50, **status})
    write_atomically(run.status_path, changed.model_dump_json())
    return run


def states(run: RunDirectory) -> list[str]:
    return [event.data["state"] for event in run.events()]


@pytest.mark.parametrize("state", ["starting", "running", "paused", "stopping"])
def test_a_run_without_a_worker_gets_its_end_once(outputs: Path, state: str) -> None:
    run = lost_run(outputs, state=state)
    run.reserve_path.write_bytes(b"space")
    assert [ended.id for ended in Supervisor(outputs).end_the_dead()] == ["lost"]
    status = run.status_on_disk()
    assert (status.state, status.reason, status.phase, status.update) == ("interrupted", "killed", "", 2)
    assert status.message and states(run) == ["interrupted"] and not run.reserve_path.exists()
    assert 9 < status.updated_at - status.started_at < 11  # until its worker's last word, not until now
    assert Supervisor(outputs).end_the_dead() == [] and states(run) == ["interrupted"]


@pytest.mark.parametrize("name", ["status.json", "worker.lock", "vitals.json", "request.json"])
def test_a_pipe_in_the_place_of_a_file_holds_up_nobody(outputs: Path, name: str) -> None:
    (lost_run(outputs, "strange").path / name).unlink(missing_ok=True)
    os.mkfifo(outputs / "strange" / name)
    lost_run(outputs)
    (outputs / ".queue").mkdir()
    os.mkfifo(outputs / ".queue" / "lost.json")
    ended: list[RunDirectory] = []
    looking = threading.Thread(target=lambda: ended.extend(Supervisor(outputs).end_the_dead()), daemon=True)
    looking.start()
    looking.join(10)
    assert not looking.is_alive() and "lost" in [run.id for run in ended]


def test_what_lives_has_ended_or_waits_is_left_alone(outputs: Path, fake_worker: None) -> None:
    living, _ = launcher.start(small_config("wait"), outputs, "living")
    waiting, _ = launcher.start(small_config(), outputs, "waiting")
    ended = lost_run(outputs, "ended", state="failed", reason="bug", message="So it says.")
    wait_until(lambda: living.status().update == 1)  # the last word before it waits
    before = [run.status_path.read_bytes() for run in (living, waiting, ended)]
    keeper = Supervisor(outputs)
    for _ in range(3):
        assert keeper.end_the_dead() == []
    assert [run.status_path.read_bytes() for run in (living, waiting, ended)] == before
    living.request_stop()
    wait_until(lambda: living.status().state == "stopped")


def test_a_run_that_ends_between_the_look_and_the_lock_keeps_its_own_end(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = lost_run(outputs)
    lock = launcher.take_lock(run)
    assert lock is not None
    take = launcher.take

    def finish_first(file: object) -> None:
        writer.write_end(run, run.status_on_disk(), "finished", "", "")
        lock.close()
        take(file)  # type: ignore[arg-type]

    monkeypatch.setattr(launcher, "take", finish_first)
    assert not supervisor.end_if_dead(run, outputs)
    assert run.status_on_disk().state == "finished" and states(run) == ["finished"]


def test_a_worker_that_takes_the_lock_meanwhile_is_not_contradicted(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "LOCK_PATIENCE_SECONDS", 0.05)
    run = lost_run(outputs)
    with launcher.take_lock(run):  # type: ignore[union-attr]
        assert not supervisor.end_if_dead(run, outputs)
    assert run.status_on_disk().state == "running"


def test_the_exit_code_of_a_worker_of_ours_is_evidence_and_it_leaves_no_zombie(
    outputs: Path, fake_worker: None
) -> None:
    run, process = launcher.start(small_config("deaf"), outputs)
    assert process is not None
    wait_until(lambda: run.status().state == "running")
    pid = process.pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not run.is_alive())
    assert children.exit_code(run) == -signal.SIGKILL
    Supervisor(outputs).look()
    assert (run.status_on_disk().state, run.status_on_disk().reason) == ("interrupted", "killed")
    assert "SIGKILL" in run.status_on_disk().message
    assert not psutil.pid_exists(pid)


def killed(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(timeout=120)  # it lets go of the lock a moment before its exit code can be fetched


def test_a_worker_that_dies_during_a_look_keeps_its_exit_code_for_the_next(
    outputs: Path, fake_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, process = launcher.start(small_config("deaf"), outputs)
    assert process is not None
    wait_until(lambda: run.status().state == "running")

    def dies_then(self: RunDirectory) -> bool:
        alive = is_locked(self.lock_path)
        if alive:
            killed(process)
        return alive

    monkeypatch.setattr(RunDirectory, "is_alive", dies_then)
    keeper = Supervisor(outputs)
    assert keeper.end_the_dead() == []
    assert len(keeper.end_the_dead()) == 1
    assert "killed by SIGKILL" in run.status_on_disk().message


def test_an_exit_code_is_kept_until_the_end_could_be_written(
    outputs: Path, fake_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "LOCK_PATIENCE_SECONDS", 0.05)
    run, process = launcher.start(small_config("deaf"), outputs)
    assert process is not None
    wait_until(lambda: run.status().state == "running")
    killed(process)
    keeper = Supervisor(outputs)
    monkeypatch.setattr(RunDirectory, "is_alive", lambda self: False)
    with launcher.take_lock(run):  # type: ignore[union-attr] # somebody else looks at it for long
        assert keeper.end_the_dead() == [] and process.returncode == -signal.SIGKILL
    assert len(keeper.end_the_dead()) == 1
    assert "killed by SIGKILL" in run.status_on_disk().message


def test_an_exit_code_that_comes_a_moment_after_the_lock_is_free_is_waited_for(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system frees a dying process's files first: a GPU's may take a while. So may a Python that starts here."""
    monkeypatch.setattr(children, "DYING_SECONDS", 60.0)
    run = lost_run(outputs)
    code = "input(); raise SystemExit(5)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        children.add(run, process)
        threading.Timer(0.2, process.stdin.write, [b"\n"]).start()
        assert len(Supervisor(outputs).end_the_dead()) == 1
    assert "exit code 5" in run.status_on_disk().message


def test_the_exit_code_of_an_earlier_attempt_says_nothing_about_a_later_one(outputs: Path, fake_worker: None) -> None:
    run, process = launcher.start(small_config("deaf"), outputs)
    assert process is not None
    wait_until(lambda: run.status().state == "running")
    killed(process)
    writer.write_end(run, run.status_on_disk(), "interrupted", "killed", "")  # by somebody else, who resumes it too
    run.queue_again(run.status_on_disk(), 3)
    assert children.exit_code(run) is None


def test_a_worker_that_crashes_before_its_first_word_is_ended_without_waiting(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "WORKER_MODULE", "tests.no_such_module")
    run, process = launcher.start(small_config(), outputs)
    assert process is not None and process.wait(timeout=120) == 1
    Supervisor(outputs).look()
    status = run.status_on_disk()
    assert (status.state, status.reason) == ("failed", "bug") and "worker.log" in status.message


def test_a_run_that_was_just_made_by_hand_has_time_to_get_its_worker(outputs: Path) -> None:
    run = RunDirectory.create(outputs, small_config(), "by-hand")
    keeper = Supervisor(outputs)
    assert keeper.end_the_dead() == [] and run.status_on_disk().state == "queued"
    for age in (directory.GRACE_SECONDS + 1, -3600.0):  # long ago; or before the clock was set back
        run = RunDirectory.create(outputs, small_config(), f"by-hand-{int(abs(age))}")
        stamp = time.time() - age
        os.utime(run.status_path, (stamp, stamp))
        assert [ended.id for ended in keeper.end_the_dead()] == [run.id]


def test_a_clock_that_jumps_breaks_neither_ends_nor_order(outputs: Path) -> None:
    future = lost_run(outputs, "future", started_at=time.time() + 1e6, updated_at=time.time() - 1e6)
    assert len(Supervisor(outputs).end_the_dead()) == 1
    (summary,) = history.list_runs(outputs)
    assert summary.duration_seconds == 0.0 and future.status().state == "interrupted"


def test_an_unreadable_status_is_written_anew_from_the_other_files(outputs: Path) -> None:
    run = lost_run(outputs)
    run.metrics_path.write_text(update_metrics(1).model_dump_json() + "\n" + update_metrics(2).model_dump_json() + "\n")
    run.events_path.write_text(
        '{"attempt": 1, "seq": 0, "time": 5, "kind": "state"}\n{"attempt": 1, "seq": 1, "time": 65, "kind"'
    )
    run.status_path.write_text('{"state": "runn')
    keeper = Supervisor(outputs)
    assert len(keeper.end_the_dead()) == 1
    status = Status.model_validate_json(run.status_path.read_bytes())
    assert (status.state, status.reason, status.update, status.num_updates) == ("interrupted", "damaged", 2, 3)
    assert [event.seq for event in run.events()] == [0, 1]  # the torn line is not glued to the new one
    assert keeper.end_the_dead() == [] and Supervisor(outputs).end_the_dead() == []
    assert len(run.events()) == 2


def test_folders_that_are_no_runs_are_left_alone(outputs: Path) -> None:
    (outputs / "notes").mkdir(parents=True)
    (outputs / "notes" / "config.yaml").write_text("mine: true")
    RunDirectory.reserve(outputs, small_config(), "half-made")
    lost = lost_run(outputs)
    (outputs / "link").symlink_to(lost.path)
    before = sorted(path for path in outputs.rglob("*") if lost.path not in path.parents and path.name != ".start.lock")
    assert len(Supervisor(outputs).end_the_dead()) == 1
    after = sorted(path for path in outputs.rglob("*") if lost.path not in path.parents and path.name != ".start.lock")
    assert after == before


def test_what_cannot_be_looked_at_for_want_of_files_is_neither_dead_nor_damaged(
    outputs: Path, fake_worker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    living, _ = launcher.start(small_config("wait"), outputs, "living")
    waiting, _ = launcher.start(small_config(), outputs, "waiting")
    ended = lost_run(outputs, "ended", state="finished")
    wait_until(lambda: living.status().update == 1)
    before = [run.status_path.read_bytes() for run in (living, waiting, ended)]
    short, read, open_file = [0], files.read_bytes, files.open_plain

    def short_of_files(do: Callable[..., Any]) -> Callable[..., Any]:
        def tried(path: Path | str, *rest: Any) -> Any:
            if Path(path).name in ("status.json", "worker.lock") and short[0]:
                short[0] -= 1
                raise OSError(24, "Too many open files")
            return do(path, *rest)

        return tried

    monkeypatch.setattr(files, "read_bytes", short_of_files(read))
    monkeypatch.setattr(files, "open_plain", short_of_files(open_file))
    for times in range(1, 12):  # whatever is looked at in that moment, and then there is room again
        short[0] = times
        Supervisor(outputs).look()
    for ask in (living.is_alive, living.is_at_work, living.status, waiting.status, lambda: history.delete_run(living)):
        short[0] = 1
        with pytest.raises(OSError, match="Too many open files"):
            ask()
    assert [run.status_path.read_bytes() for run in (living, waiting, ended)] == before and waiting.queue_path.exists()
    living.request_stop()
    wait_until(lambda: living.status().state == "stopped")


def test_a_look_keeps_no_waiting_run_from_being_seen_in_the_queue(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = RunDirectory.create(outputs, small_config(), "waiting")
    queue.enter(waiting, "cpu", attempt=1)
    lost_run(outputs)
    seen, take = [], launcher.take

    def taken(lock: IO[bytes]) -> None:
        take(lock)
        seen.append((Path(lock.name).parent.name, queue.waiting(outputs)))

    monkeypatch.setattr(launcher, "take", taken)
    Supervisor(outputs).end_the_dead()
    assert seen == [("lost", ["waiting"])]


def test_several_who_look_at_once_write_one_end(outputs: Path) -> None:
    runs = [lost_run(outputs, f"lost-{number}") for number in range(5)]
    at_once(*[lambda: Supervisor(outputs).look()] * 8)
    assert [states(run) for run in runs] == [["interrupted"]] * 5


def test_a_run_that_cannot_be_written_does_not_keep_others_from_their_end(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = lost_run(outputs, "first"), lost_run(outputs, "second")
    write = writer.write_end

    def full(run: RunDirectory, *rest: object) -> Status:
        if run.id == "first":
            raise OSError(28, "No space left on device")
        return write(run, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "write_end", full)
    keeper = Supervisor(outputs)
    assert [run.id for run in keeper.end_the_dead()] == ["second"]
    assert "No space left on device" in capsys.readouterr().err
    assert keeper.end_the_dead() == [] and capsys.readouterr().err == ""  # said once, not every second
    assert (first.status().state, second.status_on_disk().state) == ("interrupted", "interrupted")


@pytest.mark.parametrize("change", [False, True])
def test_an_end_that_could_not_be_written_is_written_once_there_is_room(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], change: bool
) -> None:
    run, write, tries, clock = lost_run(outputs), writer.write_end, [0], [1000.0]

    def full_twice(*arguments: object) -> Status:
        tries[0] += 1
        if tries[0] < 3:
            raise OSError(28, "No space left on device")
        return write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "write_end", full_twice)
    monkeypatch.setattr(supervisor.time, "monotonic", lambda: clock[0])
    keeper = Supervisor(outputs)
    for number in (1, 2):
        for _ in range(3):
            assert keeper.end_the_dead() == [] and tries[0] == number, "not every second"
            clock[0] += supervisor.RETRY_SECONDS / 4
        if change:
            write_atomically(run.status_path, run.status_on_disk().model_dump_json())
        else:
            clock[0] += supervisor.RETRY_SECONDS / 4
    assert [ended.id for ended in keeper.end_the_dead()] == [run.id]
    assert run.status_on_disk().state == "interrupted" and tries[0] == 3
    assert capsys.readouterr().err.count("No space left on device") == 1, "said once"


def test_the_training_of_a_reward_model_gets_its_end_and_gives_its_place_away(
    outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playground.runs.start.launcher.WORKER_MODULE", "tests.fake_worker")
    training, process = reward_models.start(RewardTrainingConfig(name="wait"), outputs)
    wait_until(lambda: training.status().state == "running")
    keeper = Supervisor(outputs)
    assert keeper.end_the_dead() == []
    process.kill()
    wait_until(lambda: not training.is_alive())
    assert len(keeper.end_the_dead()) == 1
    assert training.status_on_disk().state == "interrupted" and reward_models.living(outputs) is None
    assert process.returncode == -signal.SIGKILL  # fetched: no zombie


class FullStream:
    """A stderr whose disk is full."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_run_that_breaks_the_reader_costs_only_itself(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A damage of a kind that nobody has foreseen."""
    lost_run(outputs, "a-bad-one")
    lost_run(outputs, "z-lost")
    status = RunDirectory.status_on_disk

    def breaking(run: RunDirectory) -> Status:
        return status(run) if run.id != "a-bad-one" else status(run).model_copy(update={"update": 1 / 0})

    monkeypatch.setattr(RunDirectory, "status_on_disk", breaking)
    assert [run.id for run in Supervisor(outputs).end_the_dead()] == ["z-lost"]
    assert "a-bad-one could not be written: ZeroDivisionError" in capsys.readouterr().err
    assert [run.id for run in history.list_runs(outputs)] == ["z-lost"]


def test_the_watch_outlives_whatever_a_look_or_a_chore_raises(
    outputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[str] = []

    def broken(name: str) -> Any:
        def function(*_: object) -> None:
            calls.append(name)
            raise KeyError(name)

        return function

    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(Supervisor, "end_the_dead", broken("dead"))
    monkeypatch.setattr(launcher, "start_waiting", broken("queue"))
    watch = SupervisorThread(outputs, chores=[broken("chore"), lambda: calls.append("next chore")])
    watch.start()
    try:
        wait_until(lambda: min(map(calls.count, ("dead", "queue", "chore", "next chore"))) > 2)
    finally:
        watch.close()
    assert "could not be looked at: KeyError('dead')" in capsys.readouterr().err


def test_the_watch_goes_on_when_its_own_words_cannot_be_written(outputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, write = lost_run(outputs, "first"), writer.write_end

    def full(run: RunDirectory, *rest: object) -> Status:
        if run.id == "first":
            raise OSError(28, "No space left on device")
        return write(run, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "write_end", full)
    monkeypatch.setattr(sys, "stderr", FullStream())
    watch = SupervisorThread(outputs)
    watch.start()
    try:
        second = lost_run(outputs, "second")
        wait_until(lambda: second.status_on_disk().ended)
        assert not first.status_on_disk().ended
    finally:
        watch.close()


def test_the_watch_goes_on_after_there_were_too_many_open_files(
    outputs: Path, fake_worker: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    holder, _ = launcher.start(small_config("wait"), outputs)
    waiting, _ = launcher.start(small_config(), outputs, "waiting")
    looked, entries, end_the_dead = [0], queue.entries, Supervisor.end_the_dead

    def short_of_files(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def tried(what: Any) -> Any:
            looked[0] += 1
            if looked[0] < 9:
                raise OSError(24, "Too many open files")
            return read(what)

        return tried

    monkeypatch.setattr(queue, "entries", short_of_files(entries))
    monkeypatch.setattr(Supervisor, "end_the_dead", short_of_files(end_the_dead))
    monkeypatch.setattr(supervisor, "LOOK_SECONDS", 0.02)
    watch = SupervisorThread(outputs)
    watch.start()
    try:
        wait_until(lambda: looked[0] > 10)
        assert "Too many open files" in capsys.readouterr().err
        holder.request_stop()
        wait_until(lambda: waiting.status().state == "finished")
    finally:
        watch.close()


def test_the_watch_ends_the_dead_and_starts_those_who_wait_until_it_is_closed(outputs: Path, fake_worker: None) -> None:
    lost = lost_run(outputs)
    holder, _ = launcher.start(small_config("wait"), outputs)
    waiting, _ = launcher.start(small_config(), outputs, "waiting")
    watch = SupervisorThread(outputs)
    watch.start()
    wait_until(lambda: lost.status_on_disk().ended)
    assert waiting.status().state == "queued"
    holder.request_stop()
    wait_until(lambda: waiting.status().state == "finished")
    watch.close()
    assert "supervisor" not in [thread.name for thread in threading.enumerate()]
    assert queue.entries(outputs) == []
