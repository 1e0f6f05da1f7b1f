import copy
import json
import math
from itertools import chain

import numpy as np
import pytest
import torch

from playground.errors import RewardFailed, TrainingDiverged
from playground.ppo.kl import AdaptiveKL
from playground.rewards.mixture import Mixture
from playground.runs.folder.records import to_json_line
from playground.training.loop.scoring import Scorer
from tests.training import tiny

ZIEGLER = {"kl__controller": "ziegler", "kl__coef": 1.0, "kl__target": 5.0, "kl__horizon": 80}


def weights(model) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def same(before: list[torch.Tensor], after: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_before_anything_is_learned_kl_is_0_and_the_first_ratios_are_1(family):
    trainer = tiny.trainer(family, ppo__num_epochs=1, ppo__minibatch_size=8, ppo__learning_rate=1e-12)
    metrics = trainer.update()
    assert metrics.kl_to_reference == pytest.approx(0, abs=1e-4)
    assert metrics.ratio_mean == pytest.approx(1, abs=1e-5)
    assert metrics.ratio_max == pytest.approx(1, abs=1e-4)
    assert metrics.clip_fraction == 0
    assert metrics.update_kl == pytest.approx(0, abs=1e-6)


ONE_STEP = {"ppo__num_epochs": 1, "ppo__minibatch_size": 8, "ppo__micro_batch_size": 8, "ppo__learning_rate": 0.02}


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_an_update_of_one_step_is_measured_after_the_step(family):
    trainer = tiny.trainer(family, **ONE_STEP)
    seen = {}
    trainer.collect = lambda collect=trainer.collect: seen.setdefault("rollout", collect())
    trainer.advantages = lambda *args, made=trainer.advantages: seen.setdefault("advantages", made(*args))
    metrics = trainer.update()
    episodes, (advantages, _) = seen["rollout"].episodes, seen["advantages"]
    ratios, gains = [], []
    for row, prompt in enumerate(seen["rollout"].prompts):
        length = int(episodes.lengths[row])
        completion = episodes.completion_ids[row, :length]
        with torch.no_grad():
            logits = trainer.policy.model(torch.cat([torch.tensor(prompt.ids), completion]).unsqueeze(0)).logits[0]
        now = logits[len(prompt.ids) - 1 : -1].log_softmax(-1).gather(1, completion.unsqueeze(1))[:, 0]
        ratios.append((now - episodes.log_probs[row, :length]).exp())
        gains.append(advantages[row, :length])
    ratio, gain = torch.cat(ratios), torch.cat(gains)
    clipped = ((gain > 0) & (ratio > 1.2)) | ((gain < 0) & (ratio < 0.8))
    assert metrics.clip_fraction == pytest.approx(float(clipped.float().mean()), abs=1e-6) and clipped.any()
    assert metrics.ratio_mean == pytest.approx(float(ratio.mean()), rel=1e-4)
    assert metrics.ratio_max == pytest.approx(float(ratio.max()), rel=1e-3)
    assert metrics.update_kl == pytest.approx(float((ratio - 1 - ratio.log()).mean()), rel=1e-3)


def test_measuring_after_the_step_changes_no_weight_and_reads_one_micro_batch():
    looked, blind = tiny.trainer(**ONE_STEP | {"ppo__micro_batch_size": 2}), tiny.trainer(**ONE_STEP)
    blind.config = looked.config
    blind.look_back = lambda *args: {}
    rows = []
    looked.forward = lambda packed, few, *rest, forward=looked.forward: (
        rows.append(len(few)) or forward(packed, few, *rest)
    )
    for _ in range(3):
        looked.update()
        blind.update()
    assert same(weights(looked.policy), weights(blind.policy))
    assert rows == [2, 2, 2, 2, 2] * 3  # four to learn from, one to look back at


def test_training_moves_the_policy_and_leaves_the_reference_bit_identical():
    trainer = tiny.trainer()
    reference, policy = weights(trainer.reference), weights(trainer.policy)
    metrics = [trainer.update() for _ in range(3)]
    assert same(reference, weights(trainer.reference))
    assert not same(policy, weights(trainer.policy))
    assert metrics[-1].kl_to_reference != 0
    assert [item.update for item in metrics] == [1, 2, 3]
    assert metrics[-1].episodes == 24


@pytest.mark.parametrize(("epochs", "minibatch"), [(1, 8), (3, 4), (2, 2)])
def test_an_update_takes_exactly_epochs_times_minibatches_optimizer_steps(epochs, minibatch):
    trainer = tiny.trainer(ppo__num_epochs=epochs, ppo__minibatch_size=minibatch)
    steps = []
    trainer.optimizer.step = lambda step=trainer.optimizer.step: (steps.append(1), step())
    for _ in range(3):  # 4 prompts, 8 episodes: the prompt set ends inside every update
        trainer.update()
    assert len(steps) == 3 * epochs * 8 // minibatch


def gradient(trainer, micro_batch_size: int) -> list[torch.Tensor]:
    trainer.config = trainer.config.model_copy(
        update={"ppo": trainer.config.ppo.model_copy(update={"micro_batch_size": micro_batch_size})}
    )
    captured = []
    trainer.optimizer.step = lambda: captured.extend(
        parameter.grad.clone() for group in trainer.optimizer.param_groups for parameter in group["params"]
    )
    rollout = trainer.collect()
    scores = trainer.score(rollout)
    advantages, returns = trainer.advantages(rollout, scores, 0.1)
    assert len(set(rollout.packed.totals.tolist())) > 2, "the test needs ragged lengths"
    trainer.step(rollout, torch.arange(8), advantages, returns)
    return captured


def test_cutting_a_minibatch_into_micro_batches_does_not_change_the_gradient():
    whole = gradient(tiny.trainer(ppo__max_grad_norm=1e6), 8)
    for size in (1, 2, 4):
        parts = gradient(tiny.trainer(ppo__max_grad_norm=1e6), size)
        for a, b in zip(whole, parts, strict=True):
            assert torch.allclose(a, b, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("pad_is_eos", [False, True])
def test_the_end_of_sequence_token_is_trained(pad_is_eos):
    """Reward for being short: the policy must learn to say eos, also when padding looks the same."""
    short = Mixture({"short": (1.0, lambda prompts, completions, **_: [-float(len(c)) for c in completions])})
    trainer = tiny.trainer(
        pad_is_eos=pad_is_eos, mixture=short, ppo__num_updates=25, ppo__batch_size=32, ppo__minibatch_size=16,
        ppo__micro_batch_size=16, ppo__learning_rate=3e-3, kl__coef=0.0,
    )  # fmt: skip
    lengths = [trainer.update().completion_length for _ in range(25)]
    assert lengths[-1] < 0.6 * lengths[0]
    assert lengths[-1] < 3


def test_the_score_rises_on_an_easy_reward_and_a_stiff_leash_holds_it():
    def last(kl_coef: float, updates: int = 20):
        trainer = tiny.trainer(
            ppo__num_updates=updates, ppo__batch_size=32, ppo__minibatch_size=16, ppo__micro_batch_size=16,
            ppo__learning_rate=3e-3, kl__coef=kl_coef,
        )  # fmt: skip
        metrics = [trainer.update() for _ in range(updates)]
        return metrics[0], metrics[-1]

    first, free = last(0.0)
    _, held = last(100.0)
    assert free.score_mean > first.score_mean + 2
    assert free.kl_to_reference > 3
    assert abs(held.kl_to_reference) < 0.5
    assert held.score_mean < first.score_mean + 1


def test_the_same_seed_gives_the_same_log_and_the_same_weights():
    runs = []
    for _ in range(2):
        trainer = tiny.trainer(seed=5)
        log = [trainer.update().model_dump() for _ in range(3)]
        for line in log:
            for name in list(line):
                if name.startswith("seconds") or name == "memory_gb":
                    del line[name]
        runs.append((log, weights(trainer.policy)))
    assert runs[0][0] == runs[1][0]
    assert same(runs[0][1], runs[1][1])
    assert runs[0][0] != [tiny.trainer(seed=6).update().model_dump()]


def test_the_learning_rate_falls_linearly_to_zero_or_stays():
    trainer = tiny.trainer(ppo__num_updates=4, ppo__learning_rate=4e-4)
    assert [round(trainer.update().learning_rate * 1e4, 6) for _ in range(4)] == [4, 3, 2, 1]
    trainer = tiny.trainer(ppo__num_updates=4, ppo__learning_rate=4e-4, ppo__schedule="constant")
    assert [trainer.update().learning_rate for _ in range(2)] == [4e-4, 4e-4]


def test_an_update_ends_early_once_the_policy_has_moved_far():
    slow = tiny.trainer(ppo__num_epochs=6, ppo__learning_rate=1e-2, ppo__clip_range=5.0)
    fast = tiny.trainer(ppo__num_epochs=6, ppo__learning_rate=1e-2, ppo__clip_range=5.0, ppo__update_kl_stop=1e-3)
    counts = []
    for trainer in (slow, fast):
        steps: list[int] = []
        trainer.optimizer.step = lambda step=trainer.optimizer.step, steps=steps: (steps.append(1), step())
        trainer.update()
        counts.append(len(steps))
    assert counts[0] == 12
    assert counts[1] < 12


def test_zieglers_leash_moves_beta_from_one_update_to_the_next():
    trainer = tiny.trainer(**ZIEGLER, ppo__num_updates=3)
    coefs = [trainer.update().kl_coef for _ in range(3)]
    assert coefs == pytest.approx([1.0, 0.98, 0.98**2])  # KL far below target: error -0.2, n / horizon = 0.1


def test_the_adaptive_leash_follows_the_exact_kl():
    trainer = tiny.trainer(kl__controller="adaptive", kl__coef=1.0, kl__target=5.0, ppo__num_updates=3)
    by_hand = AdaptiveKL(1.0, 5.0)
    for _ in range(3):
        metrics = trainer.update()
        assert metrics.kl_coef == by_hand.coef
        by_hand.observe(math.nan, metrics.kl_estimates["full"], 8)
    assert trainer.kl_controller == by_hand and by_hand.coef < 1.0


def shared_and_separate(**changes):
    """A trainer with a head on the policy's features, and one whose critic is a model of its own."""
    yield tiny.trainer(**changes)
    yield tiny.trainer(**changes, model__critic="separate")


def test_policy_and_critic_are_clipped_each_by_itself_and_both_norms_are_logged_before():
    for trainer in shared_and_separate(ppo__max_grad_norm=1e-3):
        seen = []

        def step(trainer=trainer, seen=seen) -> None:
            policy, *critic = [[p.grad for p in group["params"]] for group in trainer.optimizer.param_groups]
            seen.append([
                float(torch.stack([g.norm() for g in grads]).norm()) for grads in (policy, [*chain(*critic)])
            ])  # fmt: skip

        trainer.optimizer.step = step
        metrics = trainer.update()
        assert metrics.grad_norm > 1e-3 and metrics.value_grad_norm > 1e-3
        assert np.ravel(seen) == pytest.approx(np.full(2 * len(seen), 1e-3), rel=1e-3)


def test_without_a_critic_there_is_no_second_trunk_either():
    trainer = tiny.trainer(model__critic="separate", ppo__baseline="leave_one_out", ppo__samples_per_prompt=2)
    assert not trainer.critic.separate
    trainer.update()


def test_a_heavy_value_loss_does_not_shorten_the_steps_of_the_policy():
    """The head reads the policy's features without changing them, so its weight is its own affair."""
    for light, heavy in zip(*(shared_and_separate(ppo__value_coef=w) for w in (0.1, 100.0)), strict=True):
        for trainer in (light, heavy):
            trainer.update()
        assert same(weights(light.policy), weights(heavy.policy))


def poison_rewards(trainer) -> None:
    nothing = Mixture({"mine": (1.0, lambda prompts, completions, **_: [float("nan")] * len(completions))})
    trainer.scorer = Scorer(trainer.config, nothing)


def poison_advantages(trainer) -> None:
    original = trainer.advantages
    trainer.advantages = lambda *arguments: (original(*arguments)[0] * float("nan"), original(*arguments)[1])


def poison_loss(trainer) -> None:
    original = trainer.forward

    def forward(*arguments):
        log_probs, values, entropies = original(*arguments)
        return log_probs, values * float("inf"), entropies

    trainer.forward = forward


def poison_gradient(trainer) -> None:
    next(trainer.policy.parameters()).register_hook(lambda gradient: gradient * float("nan"))


def poison_kl(trainer) -> None:
    original = trainer.reference.logits
    trainer.reference.logits = lambda hidden: original(hidden) * float("nan")


POISONS = [poison_rewards, poison_advantages, poison_loss, poison_gradient, poison_kl]


@pytest.mark.parametrize("poison", POISONS)
def test_what_is_not_finite_is_caught_before_the_step_and_three_updates_in_a_row_end_the_run(poison):
    trainer = tiny.trainer(**ZIEGLER)
    poison(trainer)
    before = weights(trainer.policy)
    for update in (1, 2):
        metrics = trainer.update()
        assert metrics.update == update and len(trainer.warnings) == 1
        assert "not finite" in trainer.warnings[0] or "finite number" in trainer.warnings[0]
        json.loads(to_json_line(metrics), parse_constant=lambda word: pytest.fail(word))
        json.dumps(trainer.state()[1], allow_nan=False)
        assert 0.5 < trainer.kl_controller.coef < 2
    with pytest.raises(TrainingDiverged, match=r"3 updates in a row.*Lower the learning rate"):
        trainer.update()
    assert same(before, weights(trainer.policy))


def test_one_bad_update_is_skipped_and_the_next_one_learns():
    trainer = tiny.trainer()
    good = trainer.scorer
    poison_rewards(trainer)
    for _ in range(2):
        trainer.update()
    trainer.scorer = good
    before = weights(trainer.policy)
    trainer.update()
    assert trainer.warnings == [] and not same(before, weights(trainer.policy))
    poison_rewards(trainer)
    trainer.update()  # counted from 1 again
    trainer.update()


def test_the_value_head_reads_the_trunk_without_touching_it():
    """With no policy gradient (all advantages 0) an optimizer step moves the value head and nothing else."""
    trainer = tiny.trainer(ppo__value_coef=1.0)
    original = trainer.advantages
    trainer.advantages = lambda *arguments: (original(*arguments)[0] * 0, original(*arguments)[1] + 1)
    policy, head = weights(trainer.policy), copy.deepcopy(trainer.critic.value_head.state_dict())
    trainer.update()
    assert same(policy, weights(trainer.policy))
    assert not torch.equal(head["linear.weight"], trainer.critic.value_head.linear.weight)


def test_a_value_head_that_is_allowed_to_learn_explains_the_returns():
    def explained(value_coef: float, updates: int = 30) -> float:
        trainer = tiny.trainer(
            ppo__value_coef=value_coef, ppo__num_updates=30, ppo__batch_size=64, ppo__minibatch_size=32,
            ppo__micro_batch_size=32, ppo__learning_rate=1e-4,
        )  # fmt: skip
        return [trainer.update().explained_variance for _ in range(updates)][-1]

    never_trained = explained(0.0, updates=3)  # zero-initialised: explains nothing
    assert never_trained == pytest.approx(0.0, abs=1e-6)
    assert explained(0.1) > 0.15


def test_entropy_bonus_keeps_entropy_higher():
    def final_entropy(coef: float) -> float:
        trainer = tiny.trainer(
            ppo__entropy_coef=coef, ppo__num_updates=15, ppo__batch_size=32, ppo__minibatch_size=16,
            ppo__micro_batch_size=16, ppo__learning_rate=2e-3, kl__coef=0.0, ppo__schedule="constant",
        )  # fmt: skip
        return [trainer.update().entropy for _ in range(15)][-1]

    assert final_entropy(0.1) > final_entropy(0.0) + 0.2


@pytest.mark.parametrize(
    "bad",
    [
        lambda prompts, completions, **_: [1.0],
        lambda prompts, completions, **_: 1 / 0,
    ],
)
def test_a_reward_that_misbehaves_is_named(bad):
    trainer = tiny.trainer(mixture=Mixture({"mine": (1.0, bad)}))
    with pytest.raises(RewardFailed, match="`mine`"):
        trainer.update()


def test_stopping_is_noticed_between_any_two_micro_batches():
    trainer = tiny.trainer()
    total = []
    trainer.between = lambda: total.append(1)
    trainer.update()
    micro_batches = 2 * 8 // 2  # epochs x episodes / micro-batch
    reference = 8 // 2
    tokens = len(total) - micro_batches - reference
    assert 1 <= tokens <= 8
