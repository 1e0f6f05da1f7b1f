"""A recorded update under other settings: as the trainer would have computed it, or as one can count by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from playground.insight.slow_motion import what_if
from playground.insight.slow_motion.what_if import Settings
from playground.training.loop.slow_motion import Recorder
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


@pytest.mark.parametrize("changes", [
    {}, {"ppo__baseline": "leave_one_out", **GROUPS}, {"ppo__baseline": "group", **GROUPS},
    {"kl__estimator": "k3", "ppo__value_clip_range": 0.05},
])  # fmt: skip
def test_under_the_recorded_settings_all_is_as_it_was(changes):
    trace = recorded(**changes)
    again = what_if.recomputed(trace, Settings.of(trace))
    assert_alike(again, trace)
    for mine, theirs in zip(again.episodes, trace.episodes, strict=True):
        for one, other in zip(mine.passes, theirs.passes, strict=True):
            assert one.clipped == other.clipped and one.ratios == other.ratios
            assert np.allclose(one.policy_losses, other.policy_losses, atol=2e-5)
            assert np.allclose(one.value_losses, other.value_losses, atol=2e-5)
    assert again.batch.mean == pytest.approx(trace.batch.mean, abs=1e-6)
    assert again.batch.sd == pytest.approx(trace.batch.sd, abs=1e-6)
    counted = [(sum(item.clipped), len(item.clipped)) for item in what_if.pictures(again)]
    assert counted == [(step.clipped, step.tokens) for step in trace.steps if step.rows]


def test_other_settings_give_what_a_trainer_with_them_computes_from_the_same_texts():
    """In the first update nothing has been learned, so a run with other settings writes the same texts."""
    asked = Settings(gamma=0.9, gae_lambda=0.6, kl_coef=0.7, clip_range=0.1)
    values = {"ppo__gamma": 0.9, "ppo__gae_lambda": 0.6, "kl__coef": 0.7, "ppo__clip_range": 0.1}
    trace, other = recorded(updates=1), recorded(updates=1, **values)
    assert [item.pieces for item in trace.episodes] == [item.pieces for item in other.episodes]
    found = what_if.recomputed(trace, asked)
    assert_alike(found, other)
    assert found.settings.kl_coef == other.settings.kl_coef == 0.7
    with pytest.raises(AssertionError):
        assert_alike(found, trace)


def test_a_longer_leash_a_shorter_sight_and_a_narrow_clip_do_what_they_say():
    trace = recorded()
    usual = Settings.of(trace)
    free = what_if.recomputed(trace, usual._replace(kl_coef=0.0))
    assert all(set(np.abs(item.leash)) == {0.0} for item in free.episodes)
    blind = what_if.recomputed(trace, usual._replace(gae_lambda=0.0))
    assert_alike(blind, trace, ["deltas", "rewards"])
    assert all(item.advantages == pytest.approx(item.deltas) for item in blind.episodes)
    narrow, wide = (what_if.recomputed(trace, usual._replace(clip_range=size)) for size in (1e-4, 10.0))
    for item in what_if.pictures(wide):
        assert not any(item.clipped) and item.edges[0] is None and item.edges[1] == pytest.approx(math.log(11))
    moved = what_if.pictures(narrow)[-1]
    assert sum(moved.clipped) == moved.counts["up"][2] + moved.counts["down"][0] > len(moved.clipped) / 4
    assert sum(map(sum, moved.counts.values())) == len(moved.clipped)


def test_what_an_episode_earned_is_its_score_less_what_its_kl_costs():
    trace = recorded(ppo__baseline="leave_one_out", **GROUPS)
    ends = np.cumsum(trace.batch.lengths)
    kl = [sum(trace.batch.token_kl[end - length : end]) for end, length in zip(ends, trace.batch.lengths, strict=True)]
    assert what_if.paid(trace) == pytest.approx([s - 0.1 * k for s, k in zip(trace.batch.scores, kl, strict=True)])
