"""Starting workers: one at a time, and never seeming dead; locks that a fork must not keep."""

import fcntl
import os
import signal
import threading

import pytest

from playground.errors import RunBusy
from playground.runs import history, launcher
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.supervisor import Supervisor
from tests.support import small_config, wait_until

pytestmark = pytest.mark.usefixtures("fake_worker")


def test_a_run_is_alive_before_it_can_be_seen(outputs, monkeypatch):
    seen = []

    def watch(owner, name):
        function = getattr(owner, name)

        def watched(run, *rest):
            seen.append((run.is_alive(), run.status().state))
            return function(run, *rest)

        monkeypatch.setattr(owner, name, watched)

    watch(RunDirectory, "publish")
    watch(launcher, "new_worker")
    run, process = launcher.start(small_config("wait"), outputs)
    assert seen == [(True, "queued")] * 2
    assert run.is_alive()
    run.request_stop()
    process.wait(60)


@pytest.fixture
def fork():
    """Forks this process; the forks do nothing."""
    forks = []

    def pausing():
        forks.append(os.fork())
        if not forks[-1]:
            signal.pause()
        return forks

    yield pausing
    for pid in forks:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_a_fork_of_a_moment_in_which_a_lock_is_held_keeps_none_out(outputs, run, fork, monkeypatch):
    """On ZeroGPU the page is forked by a thread that knows nothing of what the others hold."""
    monkeypatch.setattr(launcher, "START_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(launcher, "LOCK_PATIENCE_SECONDS", 0.0)
    flock = fcntl.flock

    def forked(file, operation):
        flock(file, operation)
        if operation != fcntl.LOCK_UN and threading.current_thread() is threading.main_thread():
            fork()

    with monkeypatch.context() as patch:  # others ask whether a run lives
        patch.setattr(fcntl, "flock", forked)
        for _ in range(2):
            with launcher.one_at_a_time(outputs), launcher.at_rest(run):
                pass
        assert not run.is_alive()
        assert len(fork()) > 4


def test_a_fork_does_not_keep_the_lock_of_a_worker(run, fork):
    lock = launcher.take_lock(run)
    fork()
    assert run.is_alive()
    lock.close()
    wait_until(lambda: not run.is_alive())


def test_a_start_lock_that_is_kept_is_reported_and_does_not_hang(outputs, monkeypatch):
    outputs.mkdir()
    monkeypatch.setattr(launcher, "START_PATIENCE_SECONDS", 0.2)
    with open(outputs / launcher.START_LOCK, "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(RunBusy, match="lock for starting runs"):
            launcher.start(small_config(), outputs)
        Supervisor(outputs).look()
        assert history.list_runs(outputs) == []
    run, _ = launcher.start(small_config(), outputs)
    wait_until(lambda: run.status().ended)


def test_a_setting_that_a_stop_came_before_is_set_when_the_run_goes_on(run):
    run.request_stop()
    (edit,) = changes.request_edits(run, [changes.Edit("kl.coef", 0.5)])
    RunWriter(run, 3).finish("stopped")
    assert launcher.open_again(run)
    assert changes.take(run)[:2] == ([], [edit])
