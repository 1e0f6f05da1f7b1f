"""Ways of running out of memory that a worker can still tell of are different ends, each with a setting to change."""

from __future__ import annotations

import pytest

from tests.faults.workers import tiny
from tests.support import wait_until


@pytest.mark.slow
def test_kinds_of_want_of_memory_are_told_apart(nursery, outputs, figure):
    ends = {}
    for how in ("memory=100000000", "gpu"):
        run = tiny(outputs, how.partition("=")[0])
        nursery.worker(run, "none", how)
        wait_until(run.is_alive, 60)
        wait_until(lambda run=run: run.status().ended, 60)
        ends[run.id] = run.status()
        assert run.latest_checkpoint() is not None
    assert {name: end.reason for name, end in ends.items()} == {"memory": "out_of_memory", "gpu": "out_of_gpu_memory"}
    assert all("ppo.micro_batch_size" in end.message or "LoRA" in end.message for end in ends.values()), ends
    figure("kinds of out-of-memory told apart (GPU, refused)", 2, 2)
