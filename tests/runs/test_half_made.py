"""Makers of runs that are killed at each step: nothing is lost, nothing is made twice, and no name is taken."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

from playground.runs import fork, history, launcher, queue
from playground.runs.folder import checkpoints, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Status
from playground.runs.folder.requests import Request
from playground.runs.supervisor import Supervisor
from tests.nights import cases
from tests.support import small_config, wait_until

FEWEST_STEPS = {"start": 12, "fork": 20}
MOST_STEPS = 80
CHANGES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "subprocess.Popen"}
CLICK = Request("click", visitor="a visitor")


def idle(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
    """A worker that holds the lock and says nothing, for a minute at most."""
    process = subprocess.Popen(["sleep", "60"], pass_fds=(lock.fileno(),), start_new_session=True)
    launcher.name_worker(run, process.pid)
    return process


def killed(step: int, outputs: Path, make: Callable[[], object]) -> bool:
    """Have something made in a child, which is killed before its `step`-th change of what is in a folder, or before the
    process that it would start. False if it made fewer."""
    child = os.fork()
    if not child:
        die_before(step, str(outputs))
        with contextlib.suppress(BaseException):
            make()
            os._exit(0)
        os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL)
    return code != 0


def die_before(step: int, folder: str) -> None:
    left = step

    def seen(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        changes = event in CHANGES
        if event == "open":
            changes = isinstance(arguments[2], int) and bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        place = str(arguments[0]) if changes and event != "subprocess.Popen" else folder
        if changes and place.startswith(folder):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
                time.sleep(60)

    sys.addaudithook(seen)


def runs(outputs: Path) -> set[str]:
    """The runs of an outputs folder."""
    return {path.parent.name for path in outputs.glob("*/config.yaml")}


def later(outputs: Path) -> None:
    """Have the runs looked after."""
    Supervisor(outputs, idle).look()


def end_all(outputs: Path) -> None:
    """End the workers, also one whose maker died before it had written down its number."""
    locks = {str(run.lock_path) for run in launcher.living_runs(outputs)}
    for process in psutil.process_iter(["name"]) if locks else ():
        if process.info["name"] == "sleep":
            with contextlib.suppress(psutil.Error):
                if locks & {file.path for file in process.open_files()}:
                    process.kill()
    wait_until(lambda: not launcher.living_runs(outputs))


def parent_in(outputs: Path) -> RunDirectory:
    """A run that has ended, with a checkpoint that can be forked."""
    run = RunDirectory.create(outputs, small_config(), "parent")
    run.status_path.write_text(Status(state="stopped", reason="stopped", update=2, num_updates=3).model_dump_json())
    folder = run.checkpoints_path / checkpoints.name_of(2)
    folder.mkdir(parents=True)
    (folder / checkpoints.OPTIMIZER).write_bytes(b"o" * 1000)
    (folder / "model.safetensors").write_bytes(b"m" * 1000)
    facts = {"update": 2, checkpoints.RUN_KEY: requests.of(run).key}
    (folder / checkpoints.TRAINER).write_text(json.dumps(facts))
    manifest = {"format": 1, "files": checkpoints.listed(folder)}
    (folder / checkpoints.MANIFEST).write_text(json.dumps(manifest))
    return run


@pytest.mark.parametrize(("run_id", "busy"), [("mine", False), (None, True)])
def test_a_start_that_was_killed_at_any_step_can_be_repeated(tmp_path: Path, run_id: str | None, busy: bool) -> None:
    for step in range(MOST_STEPS):
        outputs = tmp_path / str(step)
        if busy:
            launcher.start(small_config(), outputs, "holder", idle)
        died = killed(step, outputs, lambda out=outputs: launcher.start(small_config(), out, run_id, idle, CLICK))
        run, _ = launcher.start(small_config(), outputs, run_id, idle, CLICK)
        later(outputs)
        assert run.config() == small_config() and run.id == (run_id or run.id), step
        assert runs(outputs) == {run.id, *(["holder"] if busy else [])}, step
        assert launcher.start(small_config(), outputs, None, idle, CLICK).run.id == run.id, step
        if busy:
            assert queue.waiting(outputs) == [run.id], step
        end_all(outputs)
        if not died:
            break
    assert not died
    assert step >= FEWEST_STEPS["start"]


@pytest.mark.parametrize("run_id", cases([None, "mine"], always=[None]))
def test_a_fork_that_was_killed_at_any_step_leaves_a_run_or_nothing(tmp_path: Path, run_id: str | None) -> None:
    for step in range(MOST_STEPS):
        outputs = tmp_path / str(step)
        parent = parent_in(outputs)
        died = killed(step, outputs, lambda of=parent: fork.fork(of, 2, [], run_id, idle, CLICK))
        end_all(outputs)
        later(outputs)
        made = runs(outputs) - {"parent"}
        for name in made:
            run = history.find_run(outputs, name)
            assert run.label().note == "Forked from parent after update 2, nothing changed", step
            assert [checkpoints.problem_of(folder) for folder in run.checkpoints()] == [""], step
        again = fork.fork(parent, 2, [], run_id, idle, CLICK).run
        assert runs(outputs) == {"parent", again.id} and made <= {again.id}, step
        end_all(outputs)
        if not died:
            break
    assert not died
    assert step >= FEWEST_STEPS["fork"]
