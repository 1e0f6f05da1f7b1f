"""A run with a time limit, in the real worker, on the shipped model."""

from __future__ import annotations

import pytest

from playground.config.yaml_io import from_dict
from playground.runs.folder import checkpoints
from playground.runs.start import launcher


@pytest.mark.slow
def test_a_run_ends_when_its_time_is_up_with_its_weights_saved(outputs, figure):
    sizes = {"num_updates": 100_000, "batch_size": 8, "minibatch_size": 8, "micro_batch_size": 8}
    seldom = {"evaluation": {"num_prompts": 2, "every": 100_000}, "checkpoint": {"every": 0}, "prompts": {"limit": 32}}
    short = {"model": {"source": "pocket-1m"}, "sampling": {"max_new_tokens": 8}, "ppo": sizes, "max_minutes": 0.75}
    config = from_dict({"rewards": [{"kind": "length"}], **seldom, **short})
    run, process = launcher.start(config, outputs, "r")
    assert process.wait(240) == 3, run.log_tail()
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "time_limit")
    assert "time limit of 0.75 minutes" in status.message and f"after update {status.update}." in status.message
    found = checkpoints.search(run).found
    assert found is not None, (status, run.log_tail(), list(run.checkpoints_path.glob("*")))
    assert found.update == status.update > 0
    figure("runs that ended at their time limit, with a checkpoint", 1, 1)
