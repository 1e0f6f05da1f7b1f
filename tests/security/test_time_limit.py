"""A stranger's program (a tokenizer's rules, a chat template) that does not come to an end, or takes too much memory.

`python -m tests.security.test_time_limit KIND [RUN_DIR]` is a process that hangs in one.
"""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from playground.errors import ModelNotFound
from playground.runs.folder import exit_reasons
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.launcher import take_lock
from playground.setup import catalog
from playground.training.models import time_limit
from tests.support import PROJECT

SECONDS, PATIENT_SECONDS = 0.7, 300.0  # and for what is not noticed by its time
MORE_BYTES = 300_000_000
REFUSED = 7


def hang(kind):
    if kind == "number":  # it keeps Python's own lock, so that no thread and no signal handler runs
        10 ** (10**9)
    while kind == "loop":
        pass
    if kind == "memory":
        print(len([bytearray(20_000_000) for _ in range(100)]), file=sys.stderr)


def main(kind, folder=""):
    if folder:
        run = RunDirectory.open(Path(folder))
        lock = take_lock(run)
        assert lock is not None
        RunWriter(run, 3).set_status(phase="loading the model")
    time_limit.MORE_BYTES = MORE_BYTES
    time_limit.begin(PATIENT_SECONDS if kind == "memory" else SECONDS)
    try:
        with time_limit.limited("Cannot load the tokenizer in some/folder"):
            hang(kind)
    except ModelNotFound as error:
        print(error)
        return REFUSED
    time.sleep(2 * SECONDS)  # longer than the limit, which is over
    print(len(bytearray(2 * MORE_BYTES)), file=sys.stderr)
    return 0


def hung(kind, *folder):
    command = [sys.executable, "-m", "tests.security.test_time_limit", kind, *folder]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)


@pytest.mark.parametrize("kind", ["number", "loop"])
def test_a_run_that_hangs_in_a_model_ends_with_that_reason_whatever_it_hangs_in(tmp_path, kind):
    run = RunDirectory.create(tmp_path, catalog.preset(catalog.DEFAULT_PRESET), "hung")
    done = hung(kind, str(run.path))
    assert done.returncode == -signal.SIGALRM
    assert "in hang" in done.stderr, "the log says where it was"
    assert not run.is_alive()
    reason, _ = exit_reasons.of_death(done.returncode, run.status_on_disk(), run.path)
    assert (reason, exit_reasons.state_after(reason)) == ("model", "failed")


def test_what_takes_too_much_memory_is_refused_in_a_sentence_and_what_ends_in_time_is_left_alone():
    done = hung("memory")
    assert done.returncode == REFUSED
    assert "some/folder: it took more than 0.3 GB of memory" in done.stdout
    assert hung("nothing").returncode == 0  # the limits end with it


def test_nothing_is_limited_in_another_process_nor_of_what_ships():
    with time_limit.limited("It"):
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    time_limit.begin()
    try:
        with time_limit.limited("It", catalog.POCKET_MODELS / "pocket-1m"):
            assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
        with time_limit.limited("It"):
            assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 30
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    finally:
        time_limit.end()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
