"""Planted faults: each is the mistake that it is called, and nothing else."""

from __future__ import annotations

import pytest
import torch

from playground.config import RunConfig
from playground.config.faults import FAULTS
from playground.ppo.logprobs import token_log_probs
from playground.training.loop.faulty_trainer import ChapterKL, FaultyTrainer
from playground.training.loop.scoring import Scorer
from playground.training.loop.trainer import PPOTrainer
from playground.training.process.equipment import trainer_of
from tests.training import tiny

MADE_ELSEWHERE = ("aliased-reference", "reward-format")  # by training/process/equipment.py


def made(config: RunConfig) -> FaultyTrainer:
    policy = tiny.model()
    prompts = tiny.prompts("abc", "b", "ddddddd", "fg")
    scorer = Scorer(config, tiny.count_letter())
    return FaultyTrainer(config, policy, policy.frozen_copy(), tiny.tokens(), prompts, scorer)


def both(fault: str, **changes: object) -> tuple[FaultyTrainer, PPOTrainer]:
    """The same run with the fault and without it."""
    return made(tiny.config(experiments=True, faults=[fault], **changes)), tiny.trainer(**changes)


def test_a_run_with_faults_has_the_trainer_that_makes_them() -> None:
    assert trainer_of(tiny.config(experiments=True, faults=["reward-sign"])) is FaultyTrainer
    assert trainer_of(tiny.config()) is PPOTrainer


def test_a_headless_critic_stays_as_it_began() -> None:
    faulty, sound = both("headless-critic")
    before = [weight.clone() for weight in faulty.critic.value_head.parameters()]
    faulty.update()
    sound.update()
    assert all(torch.equal(*pair) for pair in zip(before, faulty.critic.value_head.parameters(), strict=True))
    assert not all(torch.equal(*pair) for pair in zip(before, sound.critic.value_head.parameters(), strict=True))


def test_the_prompt_is_counted_in_the_kl() -> None:
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


def test_texts_are_drawn_at_another_temperature_than_they_are_booked_at() -> None:
    faulty, sound = both("temperature-mismatch", ppo__batch_size=64)
    drawn, right = faulty.collect().episodes, sound.collect().episodes
    surprisal = -float(drawn.log_probs[drawn.mask].mean())
    assert surprisal < float(drawn.entropies[drawn.mask].mean()) - 0.05  # likely tokens come too often
    assert -float(right.log_probs[right.mask].mean()) == pytest.approx(
        float(right.entropies[right.mask].mean()), abs=0.15
    )


def test_the_sign_of_the_reward_is_turned() -> None:
    faulty, sound = both("reward-sign", kl__coef=0)
    scored = [(one, one.collect()) for one in (faulty, sound)]
    wrong, right = (one.advantages(rollout, one.score(rollout), 0.0)[0] for one, rollout in scored)
    assert torch.allclose(wrong, -right, atol=1e-5)


def test_the_score_is_paid_at_every_token() -> None:
    faulty, sound = both("score-on-every-token", kl__coef=0)
    for one, paid in ((faulty, True), (sound, False)):
        rollout = one.collect()
        scores = one.score(rollout)
        one.advantages(rollout, scores, 0.0)
        times = rollout.episodes.lengths if paid else torch.ones(len(rollout.episodes))
        expected = float((torch.tensor(scores.scores) * times).mean())
        assert one._paid == pytest.approx(expected, abs=1e-5)


def test_the_chapters_controller_by_hand() -> None:
    controller = ChapterKL(coef=0.2, target=6.0, horizon=10_000)
    controller.observe(12.0, 0.0, 32)  # error 1, gain 1 * 32 / 10000
    assert controller.coef == pytest.approx(0.2 * 1.0032)
    controller.observe(12.0, 0.0, 32)  # gain 2 * 32 / 10000
    assert controller.coef == pytest.approx(0.2 * 1.0032 * 1.0064)


def test_every_fault_has_words_and_needs_experiments() -> None:
    for fault in FAULTS:
        suited: dict[str, object] = {"kl__controller": "ziegler"}
        if fault == "reward-format":
            with pytest.raises(Exception, match="needs a reward of kind"):
                tiny.config(experiments=True, faults=[fault])
            suited["rewards"] = [{"kind": "model", "source": "pocket-honest"}]
        with pytest.raises(Exception, match="experiments: true"):
            tiny.config(faults=[fault], **suited)
        assert tiny.config(experiments=True, faults=[fault], **suited).faults == (fault,)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in MADE_ELSEWHERE])
def test_a_drawn_mistake_trains_bit_for_bit_as_the_same_one_named(fault: str) -> None:
    settings: dict[str, object] = {"kl__controller": "ziegler"}
    drawn = next(
        one
        for seed in range(200)
        if (one := tiny.config(experiments=True, faults=["drawn"], seed=seed, **settings)).planted == (fault,)
    )
    trainers = [made(config) for config in (drawn, drawn.model_copy(update={"faults": (fault,)}))]
    for trainer in trainers:
        trainer.update()
        trainer.update()
    mine, named = (trainer.policy.parameters() for trainer in trainers)
    assert all(torch.equal(*pair) for pair in zip(mine, named, strict=True))
    sound = tiny.trainer(seed=drawn.seed, **settings)
    sound.update()
    sound.update()
    same = [torch.equal(*pair) for pair in zip(trainers[0].policy.parameters(), sound.policy.parameters(), strict=True)]
    assert not all(same)
