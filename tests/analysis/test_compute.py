"""What a run costs: the compute ledger, against sums by hand, and how long it still takes."""

import pytest

from playground.analysis.compute import bill, ledger
from playground.analysis.pace import all_left, seconds_left
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Event, Status
from playground.setup import catalog
from tests.support import small_config, update_metrics

FACTS = {"parameters": 1200, "trained_parameters": 1200, "matrix_parameters": 1000, "prompt_tokens": 5.0}


def metrics(updates=(1, 2, 3), **changes):
    """64 episodes and 640 tokens an update, 2 seconds each."""
    seconds = {"seconds_rollout": 0.5, "seconds_score": 0.25, "seconds_update": 1.0, "memory_gb": 0.5}
    return [update_metrics(update, **seconds, **changes) for update in updates]


def events(**changes):
    return [Event(seq=0, time=0.0, kind="model", data=FACTS | changes)]


def test_the_ledger_counts_forward_and_backward_passes_of_every_weight():
    config = small_config(ppo={"num_updates": 3, "num_epochs": 2})
    costs = ledger(config, metrics(), events())
    assert costs is not None
    assert (costs.updates, costs.episodes, costs.tokens_generated, costs.tokens_trained) == (3, 192, 1920, 3840)
    through = 1920 + 192 * 5  # completion tokens and prompt tokens
    assert [phase.operations for phase in costs.phases] == [
        2 * 2 * 1000 * through,  # sampling and the reference, forward
        0,
        2 * 6 * 1000 * through,  # two epochs, forward and backward
        None,
    ]
    assert [phase.seconds for phase in costs.phases] == [1.5, 0.75, 3.0, 0.75]
    assert (costs.seconds, costs.peak_memory_gb, costs.parameters) == (6.0, 0.5, 1200)


def test_only_completion_tokens_pass_the_lm_head():
    config = small_config(ppo={"num_updates": 3, "num_epochs": 2}, model={"critic": "separate"})
    phases = ledger(config, metrics(), events(head_parameters=200)).phases
    through = 1920 + 192 * 5
    sampled = 800 * through + 200 * 1920
    assert phases[0].operations == 2 * (2 * sampled + 200 * 1920 + 800 * through)  # and the KL's head, and the critic
    assert phases[2].operations == 2 * 6 * (sampled + 800 * through)


def test_a_bill_is_without_evaluations():
    ppo = bill(small_config(ppo={"num_updates": 3, "num_epochs": 2}), metrics(), events())
    assert ppo == (192, 1920, 3840, 5.25, (2 * 2 + 2 * 6) * 1000 * (1920 + 192 * 5), 0.5, 1)
    none = bill(small_config(method="best_of_n", ppo={"samples_per_prompt": 8}), metrics(), events())
    assert none == (0, 0, 0, 0.0, 0.0, 0.5, 8)
    vector = Event(seq=1, time=0.0, kind="steering_vector", data={"texts": 1024, "tokens": 9000, "seconds": 4.5})
    steered = bill(small_config(method="steer"), metrics(), [*events(), vector])
    assert steered == (1024, 9000, 0, 4.5, None, 0.5, 1), "the texts of the vector, and not those of the dial"
    assert bill(small_config(), [], events()) is None


def test_dpo_passes_its_pairs_through_the_reference_as_it_learns_and_sft_only_what_was_chosen():
    pairs = [update_metrics(1, tokens=640, tokens_trained=1280)]
    through = 640 + 64 * 5
    dpo = bill(small_config(method="dpo", ppo={"num_updates": 1, "num_epochs": 2}), pairs, events())
    assert dpo.operations == (2 + 2 * (6 + 2)) * 1000 * through
    chosen = [update_metrics(1, tokens=640, tokens_trained=160)]
    sft = bill(small_config(method="sft", ppo={"samples_per_prompt": 8, "num_epochs": 2}), chosen, events())
    assert sft.operations == (2 + 6 / 4) * 1000 * through


def test_time_left_is_a_range_around_the_pace_so_far_times_what_remains():
    assert seconds_left([1, 2, 3], [5.0, 7.0, 9.0], 40) == pytest.approx((74 / (1.4 + 1 / 3), 74 * (1.4 + 1 / 3)))
    assert seconds_left([5, 6], [50.0, 53.0], 10) == pytest.approx((12 / 1.9, 12 * 1.9))


def test_the_range_holds_what_is_left_of_the_recorded_runs_8_times_in_10():
    held = []
    for path in sorted(catalog.RECORDED.glob("*/config.yaml")):
        metrics = RunDirectory(path.parent).metrics()
        updates, seconds = [item.update for item in metrics], [item.seconds for item in metrics]
        for done in range(2, len(updates)):
            left = seconds_left(updates[:done], seconds[:done], updates[-1])
            assert left is not None
            held.append(left.low <= seconds[-1] - seconds[done - 1] <= left.high)
    assert len(held) > 500
    assert sum(held) >= 0.8 * len(held)


def of(state, update, worked):
    return Status(state=state, update=update, num_updates=10, worked_seconds=worked, updated_at=100.0)


def test_many_runs_take_what_is_left_of_all_at_the_pace_of_all_shared_among_those_that_train():
    done, half, waits = of("finished", 10, 30.0), of("running", 5, 10.0), of("queued", 0, 0.0)
    left = 50 / 15 * (5 + 10 + 10)  # with the 10 seconds since the status of the running one was written
    factor = 1.4 + 1 / 16
    assert all_left([done, half, waits, waits], 110.0) == pytest.approx((left / factor, left * factor))
    two = all_left([done, half, half, waits, waits], 100.0)
    assert two == pytest.approx((50 / 20 * 30 / 2 / (1.4 + 1 / 21), 50 / 20 * 30 / 2 * (1.4 + 1 / 21)))
