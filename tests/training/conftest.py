"""One finished run for all tests that only look at one, and time that passes at once."""

import gc
import time

import pytest

from playground import worker
from playground.runs.folder.directory import RunDirectory
from tests.training import small_run

FINISHED = small_run.config(**small_run.SETTINGS["finished"])


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A run that the worker has trained to its end in this process."""
    run = RunDirectory.create(tmp_path_factory.mktemp("outputs"), FINISHED, "r")
    assert worker.main([str(run.path)]) == 0
    return run


@pytest.fixture
def skip_time(monkeypatch):
    """Let the clocks of this process, which tell durations, go on by so many seconds."""
    skipped = [0.0]
    for name, tell in (("perf_counter", time.perf_counter), ("monotonic", time.monotonic)):
        monkeypatch.setattr(time, name, lambda tell=tell: tell() + sum(skipped))
    return skipped.append


@pytest.fixture
def quick_collections():
    """TRL collects garbage several times an update; what was there before the test need not be looked through."""
    gc.freeze()
