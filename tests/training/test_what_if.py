"""A recorded update under other settings: as the trainer would have computed it, or as one can count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from playground.training.loop.slow_motion import Recorder
from playground.training.service.what_if import recomputed
from tests.training import tiny

LISTS = ("leash", "rewards", "deltas", "advantages", "whitened", "returns")
GROUPS = {"ppo__samples_per_prompt": 4}


def recorded(updates: int = 2, **changes: object):
    trainer = tiny.trainer(**{"ppo__learning_rate": 0.01, **changes})
    for _ in range(updates):
        trainer.trace_hook = Recorder(trainer)
        trainer.update()
    trace = trainer.trace_hook.trace()
    assert trace is not None
    return trace


def assert_alike(one, other, names=LISTS):
    for mine, theirs in zip(one.episodes, other.episodes, strict=True):
        for name in names:
            assert np.allclose(getattr(mine, name), getattr(theirs, name), atol=2e-5), name


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"ppo__baseline": "leave_one_out", **GROUPS},
        {"ppo__baseline": "group", **GROUPS},
        {"kl__estimator": "k3", "ppo__value_clip_range": 0.05},
    ],
)
def test_under_the_recorded_settings_all_is_as_it_was(changes):
    trace = recorded(**changes)
    again = recomputed(trace, {})
    assert_alike(again, trace)
    for mine, theirs in zip(again.episodes, trace.episodes, strict=True):
        for one, other in zip(mine.passes, theirs.passes, strict=True):
            assert one.clipped == other.clipped
            assert one.ratios == other.ratios
            assert np.allclose(one.policy_losses, other.policy_losses, atol=2e-5)
            assert np.allclose(one.value_losses, other.value_losses, atol=2e-5)
    assert again.batch.mean == pytest.approx(trace.batch.mean, abs=1e-6)
    assert again.batch.sd == pytest.approx(trace.batch.sd, abs=1e-6)


def test_other_settings_give_what_a_trainer_with_them_computes_from_the_same_texts():
    """In the first update nothing has been learned, so a run with other settings writes the same texts."""
    asked = {"gamma": 0.9, "gae_lambda": 0.6, "kl_coef": 0.7, "clip_range": 0.1}
    values = {"ppo__gamma": 0.9, "ppo__gae_lambda": 0.6, "kl__coef": 0.7, "ppo__clip_range": 0.1}
    trace, other = recorded(updates=1), recorded(updates=1, **values)
    assert [item.pieces for item in trace.episodes] == [item.pieces for item in other.episodes]
    found = recomputed(trace, asked)
    assert_alike(found, other)
    assert found.settings == other.settings
    with pytest.raises(AssertionError):
        assert_alike(found, trace)
