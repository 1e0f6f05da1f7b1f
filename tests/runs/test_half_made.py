"""Makers of runs that are killed at each step: nothing is lost, nothing is made twice, and no name is taken."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from playground.runs import launcher, queue
from playground.runs.folder.requests import Request
from playground.runs.folder.writer import name_worker
from playground.runs.spawning import Here
from playground.runs.supervisor import Supervisor
from tests.support import small_config, wait_until

MOST_STEPS = 80
CHANGES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "subprocess.Popen"}
CLICK = Request("click", visitor="a visitor")


def idle(run, lock):
    """A worker that holds the lock and says nothing."""
    process = subprocess.Popen(["sleep", "600"], pass_fds=(lock.fileno(),), start_new_session=True)
    name_worker(run, process.pid)
    return process


def killed_at_each_step(folder, prepare, make, fewest):
    """For each step the outputs folder, what was prepared in it, and what a child has left in it that was killed while
    it made something: before its `step`-th change of what is in a folder, or before the process that it would start."""
    for step in range(MOST_STEPS):
        outputs = folder / str(step)
        prepared = prepare(outputs)
        child = os.fork()
        if not child:
            die_before(step, str(outputs))
            with contextlib.suppress(BaseException):
                make(outputs, prepared)
                os._exit(0)
            os._exit(1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL)
        yield outputs, prepared
        end_all(outputs)
        if code == 0:
            assert step >= fewest
            return
    pytest.fail("it was never made")


def die_before(step, folder):
    left = step

    def seen(event, arguments):
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


def runs(outputs):
    return {path.parent.name for path in outputs.glob("*/config.yaml")}


def end_all(outputs):
    """End the workers, also one whose maker died before it had written down its number."""
    locks = {str(run.lock_path) for run in launcher.living_runs(outputs)}
    for process in psutil.process_iter(["name"]) if locks else ():
        if process.info["name"] == "sleep":
            with contextlib.suppress(psutil.Error):
                if locks & {file.path for file in process.open_files()}:
                    process.kill()
    wait_until(lambda: not launcher.living_runs(outputs))


@pytest.mark.parametrize(("run_id", "busy"), [("mine", False), (None, True)])
def test_a_start_that_was_killed_at_any_step_can_be_repeated(tmp_path, run_id, busy):
    def prepare(outputs):
        if busy:
            launcher.start(small_config(), outputs, "holder", Here(idle))

    def make(outputs, _):
        return launcher.start(small_config(), outputs, run_id, Here(idle), CLICK).run

    for outputs, _ in killed_at_each_step(tmp_path, prepare, make, fewest=12):
        run = make(outputs, None)
        Supervisor(outputs, Here(idle)).look()
        assert busy or run.is_alive(), outputs
        assert run.config() == small_config(), outputs
        assert run.id == (run_id or run.id), outputs
        assert runs(outputs) == {run.id, *(["holder"] if busy else [])}, outputs
        assert launcher.start(small_config(), outputs, None, Here(idle), CLICK).run.id == run.id, outputs
        if busy:
            assert queue.waiting(outputs) == [run.id], outputs
