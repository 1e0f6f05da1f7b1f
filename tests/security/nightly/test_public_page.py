"""A run of a public page ends when its time is up."""

from playground.config.yaml_io import from_dict
from playground.runs import launcher
from playground.runs.folder import checkpoints


def test_a_run_ends_when_its_time_is_up_with_its_weights_saved(outputs, forker, figure):
    sizes = {"num_updates": 100_000, "batch_size": 8, "minibatch_size": 8, "micro_batch_size": 8}
    seldom = {"evaluation": {"num_prompts": 2, "every": 100_000}, "checkpoint": {"every": 0}, "prompts": {"limit": 32}}
    short = {"model": {"source": "pocket-1m"}, "sampling": {"max_new_tokens": 8}, "ppo": sizes, "max_minutes": 0.2}
    config = from_dict({"rewards": [{"kind": "length"}], **seldom, **short})
    run, process = launcher.start(config, outputs, "r", spawn=forker.spawn)
    assert process.wait() == 3, run.log_tail()
    status = run.status()
    assert (status.state, status.reason) == ("stopped", "time_limit")
    assert f"(max_minutes) was reached after update {status.update}." in status.message
    assert checkpoints.search(run).found.update == status.update
    figure("runs that ended at their time limit, with a checkpoint", 1, 1)
