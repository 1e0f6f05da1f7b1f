"""Planted faults: each is the mistake that it is called, and nothing else."""

import pytest
import torch

from playground.config.faults import FAULTS
from playground.ppo.logprobs import token_log_probs
from playground.training.loop.faulty_trainer import ChapterKL, FaultyTrainer
from playground.training.loop.trainer import PPOTrainer
from playground.training.process.equipment import trainer_of
from tests.nights import cases
from tests.training import tiny

MADE_ELSEWHERE = ("aliased-reference", "reward-format")  # by training/process/equipment.py


def both(fault, **changes):
    """The same run with the fault and without it."""
    return tiny.trainer(kind=FaultyTrainer, experiments=True, faults=[fault], **changes), tiny.trainer(**changes)


def test_a_run_with_faults_has_the_trainer_that_makes_them():
    assert trainer_of(tiny.config(experiments=True, faults=["reward-sign"])) is FaultyTrainer
    assert trainer_of(tiny.config()) is PPOTrainer


def test_a_headless_critic_stays_as_it_began():
    faulty, sound = both("headless-critic")
    before = [weight.clone() for weight in faulty.critic.value_head.parameters()]
    faulty.update()
    sound.update()
    assert all(map(torch.equal, before, faulty.critic.value_head.parameters()))
    assert not all(map(torch.equal, before, sound.critic.value_head.parameters()))


def test_the_prompt_is_counted_in_the_kl():
    faulty, _ = both("prompt-in-kl")
    assert float(faulty.collect().log_ratio.abs().max()) < 1e-5  # policy and reference are still the same
    with torch.no_grad():
        for weight in faulty.policy.parameters():
            weight.mul_(1.1)
    rollout = faulty.collect()
    faulty.config = faulty.config.model_copy(update={"faults": ()})
    sound = faulty.collect()
    gap = rollout.log_ratio - sound.log_ratio
    assert float(gap[:, 1:].abs().max()) < 1e-5
    first = rollout.prompts[0]
    ids = torch.tensor([first.ids])
    own, theirs = (
        token_log_probs(model.logits(model.hidden(ids)[0, :-1]), ids[0, 1:]).sum()
        for model in (faulty.policy, faulty.reference)
    )
    assert gap[0, 0].item() == pytest.approx((own - theirs).item(), abs=1e-4)


def test_texts_are_drawn_at_another_temperature_than_they_are_booked_at():
    faulty, sound = both("temperature-mismatch", ppo__batch_size=64)
    drawn, right = faulty.collect().episodes, sound.collect().episodes
    gaps = [float((part.entropies + part.log_probs)[part.mask].mean()) for part in (drawn, right)]
    assert gaps[0] > 0.05  # likely tokens come too often
    assert gaps[1] == pytest.approx(0, abs=0.15)


def test_the_sign_of_the_reward_is_turned():
    faulty, sound = both("reward-sign", kl__coef=0)
    rollouts = [(trainer, trainer.collect()) for trainer in (faulty, sound)]
    wrong, right = (trainer.advantages(rollout, trainer.score(rollout), 0.0)[0] for trainer, rollout in rollouts)
    assert torch.allclose(wrong, -right, atol=1e-5)


def test_the_score_is_paid_at_every_token():
    faulty, sound = both("score-on-every-token", kl__coef=0)
    for trainer, paid in ((faulty, True), (sound, False)):
        rollout = trainer.collect()
        scores = trainer.score(rollout)
        trainer.advantages(rollout, scores, 0.0)
        times = rollout.episodes.lengths if paid else torch.ones(len(rollout.episodes))
        expected = float((torch.tensor(scores.scores) * times).mean())
        assert trainer._paid == pytest.approx(expected, abs=1e-5)


def test_the_chapters_controller_by_hand():
    controller = ChapterKL(coef=0.2, target=6.0, horizon=10_000)
    controller.observe(12.0, 0.0, 32)  # error 1, gain 1 * 32 / 10000
    assert controller.coef == pytest.approx(0.2 * 1.0032)
    controller.observe(12.0, 0.0, 32)  # gain 2 * 32 / 10000
    assert controller.coef == pytest.approx(0.2 * 1.0032 * 1.0064)


DRAWN = [fault for fault in FAULTS if fault not in MADE_ELSEWHERE]


@pytest.mark.parametrize("fault", cases(DRAWN, always=DRAWN[:2]))
def test_a_drawn_mistake_trains_bit_for_bit_as_the_same_one_named(fault):
    settings = {"experiments": True, "kl__controller": "ziegler"}
    seeds = (tiny.config(faults=["drawn"], seed=seed, **settings) for seed in range(200))
    seed = next(config.seed for config in seeds if config.planted == (fault,))
    drawn, named, sound = (
        tiny.trainer(kind=FaultyTrainer, seed=seed, faults=faults, **settings) for faults in (["drawn"], [fault], [])
    )
    for trainer in (drawn, named, sound):
        trainer.update()
        trainer.update()
    ours, theirs, right = (list(trainer.policy.parameters()) for trainer in (drawn, named, sound))
    assert all(map(torch.equal, ours, theirs))
    assert not all(map(torch.equal, ours, right))
