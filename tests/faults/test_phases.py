"""Stop in each phase of a real run: acknowledged at once, out in time, with the truth on disk."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from playground.runs.folder import changes, checkpoints, processes
from tests.faults.test_ends import ALLOWED_SECONDS, gone
from tests.faults.workers import Nursery, tiny
from tests.support import wait_until

PHASES = ("import", "load", "before", "rollout", "update", "evaluation", "checkpoint")


def stopped_in(nursery: Nursery, outputs: Path, phase: str, how: str) -> tuple[bool, float]:
    """Stop a run in a phase, twice. True if all that is promised held, and the seconds until it was gone."""
    run = tiny(outputs, f"{phase}-{how}")
    paused = phase == "paused"
    nursery.worker(run, "none" if paused else phase, "nothing" if paused else how)
    wait_until(run.is_alive, 60)
    if paused:
        wait_until(lambda: run.status().state == "running", 60)
        changes.request_pause(run)
    wait_until(lambda: run.status().state == "paused" if paused else (run.path / "there").exists(), 60)
    worker = psutil.Process(run.status_on_disk().pid)
    asked = time.monotonic()
    run.request_stop()
    assert run.status().state == "stopping"
    run.request_stop()
    wait_until(lambda: gone(worker), 40)
    took = time.monotonic() - asked
    status = run.status()
    newest = run.latest_checkpoint()
    if how == "listening" and phase not in ("import", "load"):  # then there is something to save, and time for it
        saved = newest is not None and checkpoints.update_of(newest) == status.update
    else:
        saved = phase in ("import", "load", "before", "rollout", "update") or newest is not None
    left = [process for process in psutil.process_iter() if _session(process.pid) == worker.pid]
    held = (status.state, status.reason) == ("stopped", "stopped") and took < ALLOWED_SECONDS and saved and not left
    if not held:
        print(phase, how, took, status, saved, left, run.log_tail())
    processes.end(run)
    run.request_stop()
    return held and run.status() == status, took


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


@pytest.mark.slow
def test_a_run_stops_in_every_phase_whether_it_listens_or_not(nursery, outputs, figure):
    cases = [(phase, how) for phase in (*PHASES, "paused") for how in ("listening", "deaf")]
    cases.remove(("paused", "deaf"))
    with ThreadPoolExecutor(max_workers=5) as pool:
        ends = list(pool.map(lambda case: stopped_in(nursery, outputs, *case), cases))
    failed = [case for case, (good, _) in zip(cases, ends, strict=True) if not good]
    assert not failed
    slowest = max(seconds for _, seconds in ends)
    held, measured = sum(good for good, _ in ends), f"the slowest was gone after {slowest:.1f} s, five at a time"
    figure("stop, twice, in each phase, listening or not: out in time", len(cases), held, measured)
