"""An update in slow motion: what the recorder writes down is what the trainer did, and it changes nothing."""

import math

import numpy as np
import pytest
import torch

from playground.training.loop import slow_motion
from playground.training.loop.slow_motion import Recorder
from playground.training.service.what_if import recomputed
from tests.support import data_beside
from tests.training import tiny

TABLES = data_beside(__file__, "tables.yaml")


def recorded(updates=1, **changes):
    """The metrics of the last of some updates, and its trace."""
    trainer = tiny.trainer(**changes)
    for _ in range(updates):
        trainer.trace_hook = Recorder(trainer)
        metrics = trainer.update()
    trace = trainer.trace_hook.trace()
    assert trace is not None
    return metrics, trace


@pytest.mark.parametrize("baseline", ["value", "leave_one_out", "group"])
def test_training_is_bit_identical_with_and_without_a_recorder(baseline):
    changes = {"ppo__baseline": baseline, "ppo__samples_per_prompt": 1 if baseline == "value" else 4}
    plain, watched = tiny.trainer(**changes), tiny.trainer(**changes)
    for _ in range(3):
        watched.trace_hook = Recorder(watched)
        plain_update, watched_update = plain.update(), watched.update()
        assert tiny.figures(watched_update) == tiny.figures(plain_update)
    for ours, their in zip(watched.trained.values(), plain.trained.values(), strict=True):
        assert torch.equal(ours, their)
    assert all(map(torch.equal, watched.state()[0].values(), plain.state()[0].values()))


def test_from_tokens_to_returns_each_figure_follows_from_the_ones_before():
    _, trace = recorded(updates=2, kl__coef=0.3, ppo__gamma=0.9, ppo__gae_lambda=0.8)
    settings, batch = trace.settings, trace.batch
    assert (settings.gamma, settings.gae_lambda, settings.kl_coef) == (0.9, 0.8, 0.3)
    for episode in trace.episodes:
        arrays = {name: np.array(value) for name, value in episode if isinstance(value, list) and name != "passes"}
        length = len(episode.pieces)
        assert all(len(row) == length for name, row in arrays.items() if name != "prompt_pieces")
        assert np.allclose(arrays["token_kl"], arrays["log_probs"] - arrays["reference_log_probs"], atol=1e-6)
        assert np.abs(arrays["token_kl"]).max() > 1e-3  # the policy has left the reference
        assert np.allclose(arrays["leash"], -0.3 * arrays["token_kl"], atol=1e-6)
        score = arrays["rewards"] - arrays["leash"]
        assert np.allclose(score, [0.0] * (length - 1) + [episode.score], atol=1e-6)
        following = np.append(arrays["values"][1:], 0.0)
        assert np.allclose(arrays["deltas"], arrays["rewards"] + 0.9 * following - arrays["values"], atol=1e-6)
        ahead = [range(t, length) for t in range(length)]
        credit = [sum((0.9 * 0.8) ** (later - row[0]) * arrays["deltas"][later] for later in row) for row in ahead]
        assert np.allclose(arrays["advantages"], credit, atol=1e-5)
        assert np.allclose(arrays["returns"], arrays["advantages"] + arrays["values"], atol=1e-6)
        assert np.allclose(arrays["whitened"], (arrays["advantages"] - batch.mean) / batch.sd, atol=1e-5)
    assert batch.complete
    assert sum(batch.lengths) == batch.tokens == len(batch.whitened)
    assert math.isclose(np.mean(batch.whitened), 0.0, abs_tol=1e-5)
    assert math.isclose(np.std(batch.whitened), 1.0, abs_tol=1e-5)


def test_the_losses_of_a_step_are_those_of_its_tokens():
    """Of a batch whose episodes are all shown the tokens' losses have the mean that the optimizer was given."""
    metrics, trace = recorded(
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
    metrics, trace = recorded(updates=2, ppo__learning_rate=0.03, **steps)
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


def test_an_update_from_which_nothing_was_learned_has_no_trace():
    trainer = tiny.trainer()
    trainer.trace_hook = recorder = Recorder(trainer)
    assert recorder.trace() is None  # nothing has happened yet
    trainer.score = lambda rollout, score=trainer.score: score(rollout)._replace(scores=[math.nan] * 8)
    trainer.update()
    assert recorder.trace() is None


@pytest.mark.parametrize(("traces", "updates", "asked", "recorded_updates"), TABLES["traced"])
def test_first_middle_and_last_are_recorded_by_themselves_and_any_other_when_asked(
    traces, updates, asked, recorded_updates
):
    sizes = {"ppo__batch_size": 2, "ppo__minibatch_size": 2, "ppo__num_epochs": 1}
    trainer = tiny.trainer(evaluation__traces=traces, ppo__num_updates=updates, **sizes)
    recorded = []
    for number in range(1, updates + 1):
        slow_motion.record_if_due(trainer, asked=number in asked)
        trainer.update()
        recorded.append(slow_motion.trace_of(trainer))
    assert [trace.update for trace in recorded if trace] == recorded_updates


def assert_alike(trace, other):
    for episode, other_episode in zip(trace.episodes, other.episodes, strict=True):
        for name in ("leash", "rewards", "deltas", "advantages", "whitened", "returns"):
            assert np.allclose(getattr(episode, name), getattr(other_episode, name), atol=2e-5), name


@pytest.mark.parametrize("changes", TABLES["recomputed"])
def test_under_the_recorded_settings_all_is_as_it_was(changes):
    trace = recorded(2, ppo__learning_rate=0.01, **changes)[1]
    again = recomputed(trace, {})
    assert_alike(again, trace)
    for episode, other_episode in zip(again.episodes, trace.episodes, strict=True):
        for step, other in zip(episode.passes, other_episode.passes, strict=True):
            assert (step.clipped, step.ratios) == (other.clipped, other.ratios)
            assert np.allclose(step.policy_losses, other.policy_losses, atol=2e-5)
            assert np.allclose(step.value_losses, other.value_losses, atol=2e-5)
    assert (again.batch.mean, again.batch.sd) == pytest.approx((trace.batch.mean, trace.batch.sd), abs=1e-6)


def test_other_settings_give_what_a_trainer_with_them_computes_from_the_same_texts():
    """In the first update nothing has been learned, so a run with other settings writes the same texts."""
    settings = {"gamma": 0.9, "gae_lambda": 0.6, "kl_coef": 0.7, "clip_range": 0.1}
    values = {"ppo__gamma": 0.9, "ppo__gae_lambda": 0.6, "kl__coef": 0.7, "ppo__clip_range": 0.1}
    trace, other = recorded()[1], recorded(**values)[1]
    assert [item.pieces for item in trace.episodes] == [item.pieces for item in other.episodes]
    again = recomputed(trace, settings)
    assert_alike(again, other)
    assert again.settings == other.settings
    with pytest.raises(AssertionError):
        assert_alike(again, trace)
