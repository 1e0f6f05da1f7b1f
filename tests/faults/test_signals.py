"""A state file is a file: whatever process it names, none is signalled that is not surely the worker of that run."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.process_identity import Identity, boot_id, identity
from playground.runs import launcher
from playground.runs.folder import processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.records import Status
from tests.support import small_config, wait_until


class Spy:
    """Takes the place of every way to send a signal, and sends none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[str, object]] = []
        for module, name in ((os, "kill"), (os, "killpg"), (signal, "pidfd_send_signal")):
            monkeypatch.setattr(module, name, lambda *args, name=name: self.sent.append((name, args)))


@pytest.fixture
def innocent() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "120"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


def stale(outputs: Path, **names: object) -> RunDirectory:
    """A run that says it is running in some process."""
    run = RunDirectory.create(outputs, small_config("stale"), f"stale-{len(list(outputs.glob('*')))}")
    outcome = Status(**{"state": "running", "phase": "training", **names})
    write_atomically(run.status_path, outcome.model_dump_json())
    return run


def fields(found: Identity | None, **changes: object) -> dict[str, object]:
    assert found is not None
    return {**found._asdict(), **changes}


def test_stale_state_files_cost_no_signal(outputs, innocent, monkeypatch, figure):
    outputs.mkdir()
    me, them = identity(os.getpid()), identity(innocent.pid)
    now = {"boot_id": boot_id(), "pid_ticks": 1, "pid_started_at": 1.0}
    cases = [
        {"pid": 0, **now},
        {"pid": 1, **now},
        fields(identity(1)),
        {"pid": -1, **now},
        fields(me),
        {"pid": innocent.pid},  # of a version that wrote no more than that
        fields(them, pid_ticks=them.pid_ticks + 1),
        fields(them, pid_ticks=0, pid_started_at=them.pid_started_at - 60),
        fields(them, boot_id="yesterday"),
        fields(them),  # written by another program, in every detail: it has nothing to do with this run's lock
        fields(them, state="queued"),  # the same, as a launcher would name a worker that waited for its run
        fields(them),  # and the lock is free
    ]
    spy, silent = Spy(monkeypatch), 0
    for number, names in enumerate(cases):
        run = stale(outputs, **names)
        held = number < len(cases) - 1
        with open(run.lock_path, "wb") as lock:
            if held:  # by a process that is not known, so that only the state file could mislead
                launcher.take(lock)
            spy.sent.clear()
            outcome = processes.end(run, grace_seconds=0.05)
            assert outcome.alive == held and outcome.signals == ()
            silent += spy.sent == []
    assert innocent.poll() is None
    figure("a stale state file (pid 0, 1, -1, our own, an innocent, a reused one): no signal sent", len(cases), silent)


def test_the_worker_itself_does_get_its_signal(outputs, monkeypatch):
    monkeypatch.setattr("playground.runs.launcher.WORKER_MODULE", "tests.faults.scripted_worker")
    run, process = launcher.start(small_config("listening"), outputs, "r")
    wait_until(lambda: run.status().phase == "training", 60)
    monkeypatch.setattr(RunDirectory, "request_stop", lambda self: None)  # it would be quicker, now and then
    monkeypatch.setattr(processes, "TERM_SECONDS", 60.0)
    assert processes.end(run, grace_seconds=0).signals == ("SIGTERM",)
    assert process.wait(30) == 3 and run.status().state == "stopped"
    assert processes.worker_of(run) is None, "it has gone"


def test_the_identity_of_a_process_does_not_hang_on_the_wall_clock():
    one = Identity(10, 1000.0, "boot", 77)
    assert one.is_same(Identity(10, 5000.0, "boot", 77)), "the clock was set meanwhile"
    assert not one.is_same(Identity(10, 1000.0, "boot", 78))
    assert one.is_same(Identity(10, 1001.5, "boot", 0)), "where there are no ticks, the start counts, roughly"
    assert not one.is_same(Identity(10, 1003.0, "boot", 0))
    assert not one.is_same(one._replace(boot_id="other")) and not one._replace(boot_id="").is_same(one)
    assert identity(os.getpid()) == identity(os.getpid()) and identity(0) is None and identity(-1) is None
