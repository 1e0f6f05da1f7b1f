"""An update in slow motion: what the recorder writes down is what the trainer did, and it changes nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from playground.runs.folder.traces import Trace
from playground.training.loop import slow_motion
from playground.training.loop.slow_motion import Recorder
from tests.training import tiny

GROUPS = {"ppo__samples_per_prompt": 4}


def recorded(updates: int = 1, **changes: object):
    """A trainer after some updates, the metrics of the last one and its trace."""
    trainer = tiny.trainer(**changes)
    for _ in range(updates):
        trainer.trace_hook = Recorder(trainer)
        metrics = trainer.update()
    trace = trainer.trace_hook.trace()
    assert trace is not None
    return trainer, metrics, trace


def columns(trace: Trace):
    """Of each episode its lists by name, as arrays."""
    for episode in trace.episodes:
        yield {name: np.array(value) for name, value in episode if isinstance(value, list) and name != "passes"}


@pytest.mark.parametrize("baseline", ["value", "leave_one_out", "group"])
def test_training_is_bit_identical_with_and_without_a_recorder(baseline):
    changes = {"ppo__baseline": baseline, **(GROUPS if baseline != "value" else {})}
    plain, watched = tiny.trainer(**changes), tiny.trainer(**changes)
    for _ in range(3):
        watched.trace_hook = Recorder(watched)
        theirs, mine = plain.update(), watched.update()
        clocks = {"seconds", "seconds_rollout", "seconds_score", "seconds_update", "seconds_evaluation", "memory_gb"}
        assert mine.model_dump(exclude=clocks) == theirs.model_dump(exclude=clocks)
    for ours, their in zip(watched.trained().values(), plain.trained().values(), strict=True):
        assert torch.equal(ours, their)
    assert all(map(torch.equal, watched.state()[0].values(), plain.state()[0].values()))


def test_from_tokens_to_returns_each_figure_follows_from_the_ones_before():
    _, _, trace = recorded(updates=2, kl__coef=0.3, ppo__gamma=0.9, ppo__gae_lambda=0.8)
    settings, batch = trace.settings, trace.batch
    assert (settings.gamma, settings.gae_lambda, settings.kl_coef) == (0.9, 0.8, 0.3)
    for episode, it in zip(trace.episodes, columns(trace), strict=True):
        length = len(episode.pieces)
        assert all(len(row) == length for name, row in it.items() if name != "prompt_pieces")
        assert np.allclose(it["token_kl"], it["log_probs"] - it["reference_log_probs"], atol=1e-6)
        assert np.abs(it["token_kl"]).max() > 1e-3  # the policy has left the reference
        assert np.allclose(it["leash"], -0.3 * it["token_kl"], atol=1e-6)
        score = it["rewards"] - it["leash"]
        assert np.allclose(score, [0.0] * (length - 1) + [episode.score], atol=1e-6)
        following = np.append(it["values"][1:], 0.0)
        assert np.allclose(it["deltas"], it["rewards"] + 0.9 * following - it["values"], atol=1e-6)
        ahead = [range(t, length) for t in range(length)]
        credit = [sum((0.9 * 0.8) ** (later - row[0]) * it["deltas"][later] for later in row) for row in ahead]
        assert np.allclose(it["advantages"], credit, atol=1e-5)
        assert np.allclose(it["returns"], it["advantages"] + it["values"], atol=1e-6)
        assert np.allclose(it["whitened"], (it["advantages"] - batch.mean) / batch.sd, atol=1e-5)
    assert batch.complete
    assert sum(batch.lengths) == batch.tokens == len(batch.whitened)
    assert math.isclose(np.mean(batch.whitened), 0.0, abs_tol=1e-5)
    assert math.isclose(np.std(batch.whitened), 1.0, abs_tol=1e-5)


def test_the_losses_of_a_step_are_those_of_its_tokens():
    """Of a batch whose episodes are all shown the tokens' losses have the mean that the optimizer was given."""
    _, metrics, trace = recorded(
        ppo__batch_size=2, ppo__minibatch_size=2, ppo__num_epochs=3, ppo__learning_rate=0.02, ppo__value_clip_range=0.1
    )
    assert len(trace.episodes) == 2
    assert [step.epoch for step in trace.steps] == [1, 2, 3]
    for place, step in enumerate(trace.steps):
        passes = [item.passes[place] for item in trace.episodes]
        assert [item.step for item in passes] == [place, place]
        losses = {"policy_losses": step.policy_loss, "value_losses": step.value_loss}
        for name, mean in {**losses, "clipped": step.clip_fraction, "ratios": step.ratio_mean}.items():
            tokens = np.concatenate([getattr(item, name) for item in passes])
            assert math.isclose(tokens.mean(), mean, abs_tol=1e-5), name
    assert metrics.grad_norm == pytest.approx(np.mean([step.grad_norm for step in trace.steps]))
    assert trace.steps[-1].clip_fraction > 0  # else nothing was shown


@pytest.mark.parametrize("steps", [{"ppo__num_epochs": 3}, {"ppo__num_epochs": 1, "ppo__minibatch_size": 8}])
def test_the_clipped_tokens_are_as_many_as_the_clip_fraction_of_the_metrics_says(steps):
    """Counted here from the log-ratios and advantages that were kept, also where one step is measured after it."""
    _, metrics, trace = recorded(updates=2, ppo__learning_rate=0.03, **steps)
    eps, starts = trace.settings.clip_range, np.cumsum([0, *trace.batch.lengths])
    pictures = [step for step in trace.steps if step.rows]
    assert [step.epoch for step in pictures] == [*range(1, steps["ppo__num_epochs"] + 1)]
    for step in pictures:
        advantages = np.concatenate([trace.batch.whitened[starts[row] : starts[row + 1]] for row in step.rows])
        ratios = np.exp(step.log_ratios)
        count = int(np.where(advantages > 0, ratios > 1 + eps, ratios < 1 - eps).sum())
        assert len(ratios) == step.tokens
        assert count == step.clipped
        assert step.clip_fraction == pytest.approx(count / step.tokens)
    assert metrics.clip_fraction == pytest.approx(np.mean([step.clip_fraction for step in trace.steps]))
    assert metrics.clip_fraction > 0
    assert all(step.after == (len(trace.steps) == 1) for step in trace.steps)


@pytest.mark.parametrize("baseline", ["leave_one_out", "group"])
def test_without_a_critic_an_episode_is_held_against_the_others_of_its_prompt(baseline):
    _, _, trace = recorded(updates=2, ppo__baseline=baseline, **GROUPS)
    rewards = np.split(-trace.settings.kl_coef * np.array(trace.batch.token_kl), np.cumsum(trace.batch.lengths)[:-1])
    earned = np.array([row.sum() for row in rewards]) + trace.batch.scores
    for episode, it in zip(trace.episodes, columns(trace), strict=True):
        assert not episode.values
        assert not episode.deltas
        first = episode.row // 4 * 4
        group = earned[first : first + 4]
        if baseline == "group":
            better = (earned[episode.row] - group.mean()) / group.std()
        else:
            better = earned[episode.row] - (group.sum() - earned[episode.row]) / 3
        assert np.allclose(it["advantages"], better, atol=1e-4)
        assert np.allclose(it["returns"], earned[episode.row], atol=1e-5)


def test_an_update_from_which_nothing_was_learned_has_no_trace():
    trainer = tiny.trainer(mixture=None)
    trainer.trace_hook = recorder = Recorder(trainer)
    assert recorder.trace() is None  # nothing has happened yet
    trainer.score = lambda rollout, score=trainer.score: score(rollout)._replace(scores=[math.nan] * 8)
    trainer.update()
    assert recorder.trace() is None


def test_first_middle_and_last_are_recorded_by_themselves_and_any_other_when_asked():
    def seen(traces: int, updates: int = 5, asked: frozenset[int] = frozenset()) -> list[int]:
        trainer = tiny.trainer(evaluation__traces=traces, ppo__num_updates=updates)
        found = []
        for number in range(1, updates + 1):
            slow_motion.record_if_due(trainer, asked=number in asked)
            trainer.update()
            trace = slow_motion.trace_of(trainer)
            found += [trace.update] if trace else []
        return found

    assert seen(3) == [1, 3, 5]
    assert seen(0) == []
    assert seen(1) == [1]
    assert seen(9, updates=2) == [1, 2]
    assert seen(2, asked=frozenset({2, 4})) == [1, 2, 4, 5]
