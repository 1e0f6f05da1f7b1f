"""Every field of `ppo`, `kl`, `sampling` and `score` has an effect, and the fields that choose a model have theirs."""

import functools
import math
import statistics

import pytest
import torch
from transformers import LogitsProcessorList, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from playground.config import RunConfig, SamplingConfig
from playground.ppo.logprobs import log_softmax_at
from playground.runs.folder.changes import LIVE_FIELDS, Edit, edited
from playground.training.data.random_streams import uniforms
from playground.training.loop.sampling import Keep, sample
from tests.support import data_beside
from tests.training import tiny

GROUPS = ("ppo", "kl", "sampling", "score")
EFFECTS = data_beside(__file__, "knobs.yaml")
ELSEWHERE = {
    "sampling.decode",  # the same texts in another way: test_sampling
    "ppo.micro_batch_size",  # changes memory, not the result: test_trainer counts its micro-batches
    "score.normalise",  # of the scorer: tests/training/test_worker.py, tests/rewards/test_mixture.py
}


def log(trainer, updates=3):
    return [tiny.figures(trainer.update()) for _ in range(updates)]


@functools.cache
def usual_log(*needed):
    """Of a run that is what most fields are compared with."""
    return log(tiny.trainer(**dict(needed)))


def test_the_table_is_complete():
    fields = {f"{group}.{name}" for group in GROUPS for name in RunConfig.model_fields[group].annotation.model_fields}
    assert set(EFFECTS) | ELSEWHERE == fields


@pytest.mark.parametrize("field", EFFECTS)
def test_each_setting_changes_the_run(field):
    value, needed = EFFECTS[field]
    changed = {**needed, field.replace(".", "__"): value}
    assert usual_log(*sorted(needed.items())) != log(tiny.trainer(**changed))


def test_each_live_setting_changes_the_run_from_the_next_update_on():
    for field in EFFECTS.keys() & LIVE_FIELDS:  # the others end a run: test_early_stopping
        value, needed = EFFECTS[field]
        plain, changed = usual_log(*sorted(needed.items())), tiny.trainer(**needed)
        assert plain[0]["score_mean"] == changed.update().score_mean
        changed.change(edited(changed.config, [Edit(field, value)]), {field})
        assert plain[1:] != log(changed, 2), field


def test_a_live_beta_counts_from_the_next_update_and_the_adaptive_controller_goes_on_from_it():
    trainer = tiny.trainer(kl__controller="adaptive", kl__target=100.0)
    first, _, second = trainer.update(), trainer.update(), trainer.update()  # the first says nothing of beta
    assert second.kl_coef < first.kl_coef == 0.1
    trainer.change(edited(trainer.config, [Edit("kl.coef", 0.5)]), {"kl.coef"})
    third, fourth = trainer.update(), trainer.update()
    assert third.kl_coef == 0.5
    assert fourth.kl_coef < 0.5
    trainer.change(edited(trainer.config, [Edit("ppo.clip_range", 0.3)]), {"ppo.clip_range"})
    assert trainer.update().kl_coef < 0.5, "another edit leaves the controller's beta alone"


@pytest.mark.parametrize(("schedule", "warmup", "expected"), data_beside(__file__, "tables.yaml")["schedules"])
def test_warm_up_rises_in_equal_steps_and_the_schedule_follows(schedule, warmup, expected):
    trainer, rates = tiny.trainer(ppo__schedule=schedule, ppo__warmup_updates=warmup), []
    for trainer.updates_done in range(4):
        rates.append(trainer.learning_rate() / 1e-3)
    assert rates == pytest.approx(expected)


@pytest.mark.parametrize("cut", [{"top_k": 3}, {"top_p": 0.7}, {"top_k": 5, "top_p": 0.6}])
def test_a_cut_sampler_reports_the_distribution_that_it_draws_from(cut):
    """As transformers' own warpers cut it, and without a cut where none is asked for."""
    model = tiny.model()
    prompt = [1, 3, 4]
    sampling, draws = SamplingConfig(temperature=0.9, **cut), uniforms(range(8), 6)
    episodes = sample(model, tiny.tokens(), [prompt] * 8, draws, sampling, keep=Keep(allowed=True, entropies=True))
    warpers = LogitsProcessorList([TemperatureLogitsWarper(0.9)])
    warpers += [TopKLogitsWarper(cut["top_k"])] if "top_k" in cut else []
    warpers += [TopPLogitsWarper(cut["top_p"])] if "top_p" in cut else []
    for row, length in enumerate(episodes.lengths.tolist()):
        ids = torch.tensor([prompt + episodes.completion_ids[row, :length].tolist()])
        with torch.no_grad():
            logits = model.model(input_ids=ids).logits[0, len(prompt) - 1 : -1]
        log_probs = warpers(ids.expand(length, -1), logits).log_softmax(-1)
        assert torch.equal(episodes.allowed[row, :length], log_probs.isfinite())
        chosen = log_probs.gather(1, episodes.completion_ids[row, :length, None])[:, 0]
        assert torch.allclose(episodes.log_probs[row, :length], chosen, atol=2e-5)
        spread = torch.distributions.Categorical(logits=log_probs).entropy()
        assert torch.allclose(episodes.entropies[row, :length], spread, atol=2e-5)


def test_in_training_a_cut_holds_as_an_experiment_only():
    """Then ratios begin at 1 and the KL, against the whole reference, above 0; else nothing is cut but the answers."""
    usual = {"ppo__num_epochs": 1, "ppo__minibatch_size": 8, "ppo__learning_rate": 1e-12}
    whole, answers = (tiny.trainer(**usual, **cut) for cut in ({}, {"sampling__top_k": 2}))
    assert log(whole, 2) == log(answers, 2)
    trainer = tiny.trainer(**usual, sampling__top_k=2, sampling__train_on_cut=True, ppo__entropy_coef=0.1)
    rollout = trainer.collect()
    assert (rollout.episodes.allowed[rollout.episodes.mask].sum(-1) == 2).all()
    first = trainer.update()
    assert first.ratio_max == pytest.approx(1, abs=1e-4)
    assert first.clip_fraction == 0
    assert first.kl_to_reference > 0.5
    assert first.kl_estimates["full"] > 0.5
    second = trainer.update()
    assert all(math.isfinite(figure) for figure in (second.kl_to_reference, second.policy_loss, second.entropy))


def test_kl_estimates_and_their_spreads_over_completions_are_what_their_formulas_say(monkeypatch):
    trainer = tiny.trainer(ppo__learning_rate=3e-3)
    for _ in range(3):
        trainer.update()
    rollout = trainer.collect()
    monkeypatch.setattr(trainer, "collect", lambda: rollout)
    mask, d = rollout.episodes.mask, rollout.log_ratio
    by_hand = {"k1": d, "k2": d**2 / 2, "k3": torch.exp(-d) - 1 + d, "abs": d.abs()}
    for name, values in by_hand.items():
        assert torch.allclose(rollout.token_kl(name)[mask], values[mask], atol=1e-6)
        assert rollout.token_kl(name)[~mask].abs().max() == 0
    ids, predicts = rollout.packed.rows(torch.arange(8))
    with torch.no_grad():
        own = log_softmax_at(trainer.policy.lm_head(trainer.policy.hidden(ids)[predicts]))
        other = log_softmax_at(trainer.reference.lm_head(trainer.reference.hidden(ids)[predicts]))
    exact = (own.exp() * (own - other)).sum(-1)
    assert exact.max() > 1e-3
    assert torch.allclose(rollout.token_kl("full")[mask], exact, atol=1e-5)
    found = trainer.update()
    for name, mean in found.kl_estimates.items():
        sums = [sum(row[real].tolist()) for row, real in zip(rollout.token_kl(name), mask, strict=True)]
        assert mean == pytest.approx(statistics.fmean(sums), abs=1e-5)
        assert found.kl_spreads[name] == pytest.approx(statistics.pstdev(sums), rel=1e-4)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_a_separate_critic_starts_at_0_learns_with_its_trunk_and_leaves_the_policy_alone(family):
    trainer = tiny.trainer(family, model={"critic": "separate", "source": "pocket-2m"})
    original = trainer.advantages
    trainer.advantages = lambda *arguments: (original(*arguments)[0] * 0, original(*arguments)[1] + 1)
    policy, trunk = tiny.weights(trainer.policy), tiny.weights(trainer.critic.trunk)
    assert trainer.collect().episodes.values.abs().max() == 0
    trainer.update()
    trainer.update()
    assert all(map(torch.equal, policy, trainer.policy.parameters()))
    assert not all(map(torch.equal, trunk, trainer.critic.trunk.parameters()))
    assert trainer.collect().episodes.values.abs().max() > 0
