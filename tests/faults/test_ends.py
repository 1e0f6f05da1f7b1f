"""Runs that are asked to end, or whose server dies, end as they should: in time, with all they have started, and with
the truth about it on disk; and no other process is signalled for them."""

import contextlib
import os
import signal
import subprocess
import time

import psutil
import pytest

from playground.process_identity import Identity, boot_id, identity
from playground.runs import launcher, lifeline
from playground.runs.folder import heartbeat, logs, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.records import Status
from playground.runs.folder.writer import RunWriter
from playground.runs.supervisor import Supervisor
from playground.training.process import watch
from tests.faults import resuming
from tests.support import has_ended, small_config, wait_until

PROMISED_SECONDS = 10.0
pytestmark = pytest.mark.usefixtures("fake_worker")


def started(outputs, name):
    """A run that has reached what its name says, and its worker."""
    run, _ = launcher.start(small_config(name), outputs, f"r-{name}")
    phase = "loading PyTorch" if name == "deaf-loading" else "training"
    wait_until(lambda: run.status().phase == phase and heartbeat.read(run.path))
    return run, psutil.Process(run.status().pid)


def gone(process):
    return not process.is_running() or has_ended(process.pid)


def members(session):
    """The ids of the living processes of a session."""
    living = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getsid(pid) == session and not has_ended(pid):
                living.append(pid)
    return living


@pytest.mark.parametrize("name", ["listening", "deaf-training", "deaf-loading", "saving"])
def test_a_stop_ends_the_process_also_one_that_does_not_listen(outputs, name):
    run, worker = started(outputs, name)
    run.request_stop()
    assert run.status().state == "stopping", "shown at once"
    run.request_stop()
    wait_until(lambda: gone(worker))
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "stopped")
    assert ("did not respond" in status.message) == name.startswith("deaf")
    assert not run.is_alive()
    assert not run.reserve_path.exists()
    if name.startswith("deaf"):
        assert "in hang" in run.log_tail(), "the log says where it was"
    if name == "saving":
        assert run.latest_checkpoint() is not None
    assert processes.end(run).signals == ()
    assert run.status() == status, "what has ended is not ended again"


@pytest.mark.parametrize(
    ("state", "phase", "least", "most"),
    [
        ("starting", "loading PyTorch", 1, PROMISED_SECONDS),
        ("running", "training", 5, PROMISED_SECONDS),
        ("running", "saving", 60, 150),
    ],
)
def test_a_worker_that_is_away_is_given_its_time_to_stop_and_no_more(outputs, monkeypatch, state, phase, least, most):
    run, left, begun = RunDirectory.create(outputs, small_config(), "r"), [], 1000.0
    writer = RunWriter(run, 3)
    writer.set_status(state=state, phase=phase)
    beside = watch.WorkerWatch(writer)
    monkeypatch.setattr(beside, "_leave", lambda: left.append(phase))
    run.request_stop()
    for seconds in (0, least):
        beside._see_to_the_end(begun + seconds)
    assert not left
    beside._see_to_the_end(begun + most - 2 * watch.LOOK_SECONDS)
    assert left == [phase]


@pytest.mark.parametrize("phase", ["loading the model", "answering the fixed prompts", "training", "paused"])
def test_a_real_run_stops_in_every_phase(outputs, model, altered_worker, figure, phase):
    config = resuming.config(model, name=phase, ppo__num_updates=1000, checkpoint__every=500)
    run = RunDirectory.create(outputs, config, "run")
    if phase == "paused":
        (run.control_path / "pause").touch()
    launcher.give_worker(run).wait(120)
    status = run.status()
    saved = run.latest_checkpoint() is not None or status.update == 0
    good = (status.state, status.reason) == ("stopped", "stopped") and saved
    figure("stop of a real run in each of its phases: what it learned is saved", 1, int(good))


def test_end_by_force_ends_a_frozen_worker_and_its_family_and_says_so(outputs):
    run, worker = started(outputs, "family")
    session = worker.pid
    assert len(members(session)) == 4, "the worker, a deaf child, an orphan, an ordinary child"
    worker.suspend()
    ended = processes.end(run, grace_seconds=0.5)
    assert ended.signals == ("SIGTERM", "SIGKILL")
    assert not ended.alive
    wait_until(lambda: not members(session))
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "stopped")
    assert "ended" in status.message
    assert processes.worker_of(run) is None


def test_a_frozen_worker_is_called_stalled_and_then_well_again(outputs, monkeypatch, figure):
    monkeypatch.setattr(processes, "LEAST_SILENCE_SECONDS", 4.0)
    monkeypatch.setattr(processes, "GAPS_OF_PATIENCE", 0)
    run, worker = started(outputs, "listening")
    wait_until(lambda: not heartbeat.read(run.path).patient and processes.stalled(run) == 0)
    worker.suspend()
    assert wait_until(lambda: processes.stalled(run)) > 4
    assert run.status().state == "running", "none is ended for being slow"
    worker.resume()
    wait_until(lambda: processes.stalled(run) == 0)
    alive = run.is_alive() and run.status().state == "running"
    figure("a worker that was suspended is shown as stalled, then as running", 1, int(alive))
    wait_until(lambda: heartbeat.read(run.path).longest_gap > 2)  # its last beat came a moment before it was noted
    worker.suspend()
    wait_until(lambda: processes.stalled(run))
    processes.end(run, grace_seconds=0.1)
    assert run.status().reason == "stalled"
    assert "not answered for" in run.status().message


def test_the_worker_of_a_run_that_is_deleted_from_the_disk_leaves_and_writes_nothing(outputs):
    run, worker = started(outputs, "listening")
    run.path.rename(outputs.parent / "deleted")  # at once: the worker writes into it meanwhile
    wait_until(lambda: gone(worker))
    assert [path.name for path in outputs.iterdir() if not path.name.startswith(".")] == []


def test_of_a_long_log_the_middle_goes_and_the_beginning_and_the_end_stay(tmp_path, monkeypatch):
    for name, size in {"CUT_AT_BYTES": 50_000, "BEGINNING_BYTES": 10_000, "END_BYTES": 20_000}.items():
        monkeypatch.setattr(logs, name, size)
    log = tmp_path / "worker.log"
    for attempt in range(5):
        with open(log, "ab") as file:
            file.writelines(b"attempt %d line %06d\n" % (attempt, number) for number in range(6_000))
        size = log.stat().st_size
        assert logs.cap(log) == size - log.stat().st_size > 0
    assert logs.cap(log) == 0, "small enough"
    before, after = (part.splitlines() for part in log.read_bytes().split(logs.MARK))
    assert before == [b"attempt 0 line %06d" % number for number in range(len(before))]
    assert after == [b"attempt 4 line %06d" % number for number in range(6_000 - len(after), 6_000)]


@pytest.fixture
def innocent():
    """A process that has nothing to do with any run, and must live."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield identity(process.pid)
    assert process.poll() is None
    process.kill()
    process.wait()


def stale(names, **changes):
    assert names is not None
    return {**names._asdict(), **changes}


def test_a_status_file_that_names_another_process_costs_no_signal(outputs, innocent, monkeypatch, figure):
    now = {"boot_id": boot_id(), "pid_ticks": 1, "pid_started_at": 1.0}
    cases = [
        *({"pid": pid, **now} for pid in (0, 1, -1, 2**40)),
        stale(identity(1)),
        stale(identity(os.getpid())),
        {"pid": innocent.pid},
        stale(innocent, pid_ticks=innocent.pid_ticks + 1),
        stale(innocent, pid_ticks=0, pid_started_at=innocent.pid_started_at - 60),
        stale(innocent, boot_id="yesterday"),
        stale(innocent),  # in every detail: it has nothing to do with this run's lock
        stale(innocent, state="queued"),  # as a launcher would name a worker that waits for its run
    ]
    sent, silent = [], 0
    for module, name in ((os, "kill"), (os, "killpg"), (signal, "pidfd_send_signal")):
        monkeypatch.setattr(module, name, lambda *args, name=name: sent.append((name, args)))
    for number, names in enumerate(cases):
        run = RunDirectory.create(outputs, small_config("stale"), f"stale-{number}")
        status = Status(**{"state": "running", "phase": "training", "updated_at": time.time(), **names})
        write_atomically(run.status_path, status.model_dump_json())
        with open(run.lock_path, "wb") as lock:  # by a process that is not known: only the state file could mislead
            launcher.take(lock)
            ended = processes.end(run, grace_seconds=0.05)
            assert ended.alive
            assert ended.signals == ()
        (run.control_path / "stop").unlink()
        if status.state == "running":
            Supervisor(outputs).end_the_dead()
            assert (run.status_on_disk().state, run.status_on_disk().reason) == ("interrupted", "killed")
        silent += sent == []
    monkeypatch.undo()  # or the innocent could not be ended
    what = "a stale status file (pid 0, 1, -1, huge, our own, an innocent, a reused one): no signal sent"
    figure(what, len(cases), silent)


def test_the_identity_of_a_process_does_not_hang_on_the_wall_clock():
    one = Identity(10, 1000.0, "boot", 77)
    assert one.is_same(Identity(10, 5000.0, "boot", 77)), "the clock was set meanwhile"
    assert not one.is_same(Identity(10, 1000.0, "boot", 78))
    assert one.is_same(Identity(10, 1001.5, "boot", 0)), "where there are no ticks, the start counts, roughly"
    assert not one.is_same(Identity(10, 1003.0, "boot", 0))
    assert not one.is_same(one._replace(boot_id="other"))
    assert not one._replace(boot_id="").is_same(one)


# When the server dies that started a run.


@pytest.fixture
def start_server(outputs, scripted):
    """A server with one run in training, of this name and under this policy."""
    servers = []

    def start(name, policy):
        environment = {**os.environ, lifeline.POLICY_VARIABLE: policy}
        servers.append(scripted.fork("tests.faults.driver", [str(outputs), name], environment, output=1))
        run = RunDirectory(outputs / name)
        wait_until(lambda: run.status_path.exists() and run.status().phase == "training" and heartbeat.read(run.path))
        return servers[0], run

    yield start
    for server in servers:
        server.kill()


@pytest.mark.parametrize(
    ("name", "how"), [("family", signal.SIGTERM), ("deaf-family", signal.SIGKILL), ("saving", signal.SIGKILL)]
)
def test_a_run_bound_to_its_server_ends_with_it_and_nothing_is_left(start_server, name, how, figure):
    server, run = start_server(name, "die")
    session = run.status().pid
    assert heartbeat.read(run.path).on_server_death == "die"
    assert members(session)
    server.send_signal(how)
    server.wait()
    wait_until(lambda: not members(session))
    status = run.status()
    assert (status.state, status.reason) == ("interrupted", "server_lost"), status
    assert name != "saving" or run.latest_checkpoint() is not None
    figure(f"server dies ({how.name}), policy die, worker {name}: no process left", 1, int(not members(session)))


def test_a_run_survives_its_server_by_default(start_server):
    server, run = start_server("listening", "")
    worker = psutil.Process(run.status().pid)
    assert os.getsid(worker.pid) == worker.pid, "a Ctrl-C in the terminal of its server does not reach it"
    server.kill()
    server.wait()
    before = heartbeat.read(run.path).beat
    wait_until(lambda: heartbeat.read(run.path).beat > before + 2)
    assert (run.status().state, heartbeat.read(run.path).on_server_death) == ("running", "survive")
    run.request_stop()
    wait_until(lambda: gone(worker))
    assert run.status().state == "stopped"
