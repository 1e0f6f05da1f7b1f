"""Three ways of running out of memory are three different ends, each with a setting to change."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from playground.runs.folder import evidence, vitals
from playground.setup import estimates
from tests.faults.test_ends import gone
from tests.faults.workers import tiny
from tests.support import wait_until


@pytest.mark.slow
def test_kinds_of_want_of_memory_are_told_apart(nursery, outputs, tmp_path, figure):
    ends = {}
    for how in ("memory=100000000", "gpu"):
        run = tiny(outputs, how.partition("=")[0])
        nursery.worker(run, "none", how)
        wait_until(run.is_alive, 60)
        wait_until(lambda run=run: run.status().ended, 60)
        ends[run.id] = run.status()
        assert run.latest_checkpoint() is not None
    assert ends["memory"].reason == "out_of_memory", ends
    assert ends["memory"].message.startswith("The machine ran out of memory.")
    assert ends["gpu"].reason == "out_of_gpu_memory" and ends["gpu"].message.startswith("The GPU ran out of memory.")
    assert all("Set " in end.message or "smaller model" in end.message for end in ends.values()), ends

    run = tiny(outputs, "killed")
    nursery.worker(run, "rollout", "listening")
    wait_until(lambda: (run.path / "there").exists() and vitals.read(run.path), 60)
    worker = psutil.Process(run.status().pid)
    os.kill(worker.pid, signal.SIGKILL)
    wait_until(lambda: gone(worker))
    status, counter = run.status_on_disk(), tmp_path / "memory.events"
    counter.write_text("oom_kill 0\n")
    unclear = evidence.of_death(-9, status, run.path, counter=counter)
    assert unclear[0] == "killed" and "memory" not in unclear[1]
    counter.write_text(f"oom_kill {vitals.read(run.path).kills + 1}\n")
    reason, sentence = evidence.of_death(-9, status, run.path, counter=counter)
    assert reason == "out_of_memory" and "most likely" in sentence
    assert sentence.endswith(estimates.advice(run.config()))
    figure("kinds of out-of-memory told apart (GPU, refused, killed with and without evidence)", 4, 4)
