"""TRL 1.12's PPO and ours: the same numbers from the same weights, tokens and scores, where the definitions agree.

TRL runs one update for real, and its intermediate values are read from its loop. Compatible setting: one minibatch in
one micro-batch, float32, padding and end-of-sequence are different tokens, no gradient clipping, no padding sampled.
Where the definitions differ the difference is put in by hand, in the open:

- TRL pays the score one position behind the end-of-sequence token. `extended` is our mask with that position added.
- TRL whitens with the sample variance (n - 1); ours is the variance of the batch (n).
"""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from playground.ppo.advantages import generalised_advantages, token_rewards
from playground.ppo.logprobs import token_log_probs
from playground.ppo.losses import value_loss
from playground.ppo.masked import masked_mean, whiten
from playground.training.data.random_streams import derived_seed
from playground.training.loop.sampling import Episodes
from playground.training.loop.scoring import Scorer
from playground.training.loop.trainer import PPOTrainer, Rollout
from playground.training.models.language_model import LanguageModel
from playground.training.trl_ppo import TRLTrainer
from tests.training import tiny
from tests.training.test_trl_ppo import loop_values

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
PAD, END = 0, 2
EPOCHS = 3
SIZES = {"num_updates": 1, "batch_size": 32, "minibatch_size": 32, "micro_batch_size": 32, "num_epochs": EPOCHS}
CLIPS = {"max_grad_norm": 1e6, "value_clip_range": 0.05, "clip_range": 0.05}
PPO = SIZES | CLIPS | {"learning_rate": 1e-3, "gamma": 0.97, "gae_lambda": 0.9}
SETTING = {"engine": "trl", "ppo": PPO, "sampling": {"max_new_tokens": 12, "temperature": 0.8}, "kl__coef": 0.1}
LOCALS = (
    "queries query_responses responses logprobs ref_logprobs scores values rewards padding_mask padding_mask_p1 "
    "advantages returns pg_loss_stats vf_loss_stats context_length b_inds"
).split()


@dataclass
class Update:
    """One update of TRL: the weights before it, TRL's intermediate values, and the weights after it."""

    config: Any
    start: LanguageModel
    reference: LanguageModel
    end: LanguageModel
    values: dict[str, Any]
    value_passes: list[Tensor]  # [B, C] of each epoch

    @property
    def mask(self):
        """True = a sampled token."""
        return ~self.values["padding_mask"]

    @property
    def extended(self):
        """The same, and the padding behind an early end, where TRL puts the score."""
        return ~self.values["padding_mask_p1"]

    @property
    def rollout(self):
        """The same batch as our trainer holds it."""
        values = self.values
        width = values["queries"].shape[1]
        episodes = Episodes(
            prompt_ids=values["queries"],
            prompt_mask=values["queries"] != PAD,
            completion_ids=values["query_responses"][:, width:],
            mask=self.mask,
            log_probs=values["logprobs"] * self.mask,
            values=values["values"] * self.mask,
            entropies=torch.zeros_like(values["logprobs"]),
            ended=(values["responses"] == END).any(1),
        )
        unused = torch.zeros_like(values["logprobs"])
        return Rollout([], [], episodes, episodes.packed(), values["ref_logprobs"] * self.mask, unused)


def model(seed):
    """A tiny model that never samples the padding token."""
    model = tiny.model(seed=seed, spread=1.5).model
    head = torch.nn.Linear(model.config.hidden_size, model.config.vocab_size)
    with torch.no_grad():
        head.weight.copy_(model.lm_head.weight)
        head.bias.zero_()
        head.bias[PAD] = -30
    model.lm_head = head
    return LanguageModel(model)


@pytest.fixture(scope="module")
def update():
    config = tiny.config(**SETTING)
    policy, reference = model(seed=0), model(seed=1)
    start = policy.frozen_copy()
    prompts = tiny.prompts("abc", "b", "ddddddd", "fg", "aabb")
    trainer = TRLTrainer(config, policy, reference, tiny.tokens(), prompts, Scorer(config, tiny.count_letter()))
    torch.nn.init.normal_(trainer.critic.score.weight)  # values that are not all 0
    passes = []
    trainer.critic.score.register_forward_hook(lambda *call: passes.append(call[-1].detach().squeeze(-1)))
    caught = {}

    trainer.train(lambda metrics: caught.update(loop_values(*LOCALS)))
    first = caught["context_length"] - 1
    shuffles = np.random.RandomState(derived_seed(config.seed, "trl") % 2**32)  # as the adapter seeds it
    orders = [torch.from_numpy(shuffles.permutation(config.ppo.batch_size)) for _ in range(EPOCHS)]
    assert orders[-1].tolist() == caught["b_inds"].tolist()
    in_order = [values[order.argsort(), first:-1] for values, order in zip(passes[-EPOCHS:], orders, strict=True)]
    return Update(config, start, reference, policy, caught, in_order)


def test_the_setting_is_a_hard_one(update):
    """Ragged completions, some cut; a reference that is not the policy; scores that differ; no padding sampled."""
    lengths = update.mask.sum(1)
    ended = (update.values["responses"] == END).any(1)
    assert len(lengths.unique()) > 3
    assert ended.any()
    assert not ended.all()
    assert (lengths[~ended] == update.mask.shape[1]).all(), "a completion without an end fills the row"
    assert ((update.values["logprobs"] - update.values["ref_logprobs"]) * update.mask).abs().mean() > 0.1
    assert update.values["scores"].std() > 0.1
    assert update.values["values"].std() > 0.1
    assert (update.extended.sum() > update.mask.sum()).item()


def test_log_probs_of_policy_and_reference_agree(update):
    episodes, temperature = update.rollout.episodes, update.config.sampling.temperature
    ids, predicts = update.rollout.packed.rows(torch.arange(len(episodes)))
    for model, name in ((update.start, "logprobs"), (update.reference, "ref_logprobs")):
        ours = torch.zeros_like(update.values[name])
        with torch.no_grad():
            logits = model.logits(model.hidden(ids)[predicts])
        ours[episodes.mask] = token_log_probs(logits, episodes.completion_ids[episodes.mask], temperature)
        torch.testing.assert_close(ours[update.mask], update.values[name][update.mask], **CLOSE)


def token_rewards_of(update, mask):
    log_ratio = (update.values["logprobs"] - update.values["ref_logprobs"]) * update.mask
    return token_rewards(log_ratio, update.values["scores"], mask, update.config.kl.coef)


def test_token_rewards_agree_once_the_score_is_moved_behind_the_end(update):
    rewards = update.values["rewards"]
    torch.testing.assert_close(token_rewards_of(update, update.extended), rewards, **CLOSE)
    assert not torch.allclose(token_rewards_of(update, update.mask), rewards, atol=0.1), (
        "ours pays it at the end itself"
    )


def test_advantages_and_returns_agree(update):
    ppo = update.config.ppo
    advantages, returns = generalised_advantages(
        token_rewards_of(update, update.extended), update.values["values"], update.extended, ppo.gamma, ppo.gae_lambda
    )
    torch.testing.assert_close(returns, update.values["returns"] * update.extended, **CLOSE)
    whitened, n = whiten(advantages, update.mask), update.mask.sum()
    torch.testing.assert_close(whitened * ((n - 1) / n).sqrt(), update.values["advantages"], **CLOSE)
    assert not torch.allclose(whitened, update.values["advantages"], **CLOSE), "without the factor they differ"


def test_value_losses_of_all_epochs_agree(update):
    old, returns, clip_range = update.values["values"], update.values["returns"], update.config.ppo.value_clip_range
    assert len(update.value_passes) == EPOCHS
    for epoch, now in enumerate(update.value_passes):
        ours = masked_mean(value_loss(now, old, returns, clip_range), update.extended)
        torch.testing.assert_close(ours, update.values["vf_loss_stats"][epoch, 0, 0], **CLOSE)
    assert ((update.value_passes[-1] - old).abs()[update.mask] > clip_range).any(), "the clip is at work"


def test_policy_losses_of_all_epochs_and_the_weights_after_them_agree(update):
    policy = LanguageModel(copy.deepcopy(update.start.model).requires_grad_(True))
    ours = PPOTrainer(update.config, policy, update.reference, tiny.tokens(), tiny.prompts("a"), Scorer(update.config))
    steps = ours.optimise(
        update.rollout, update.values["advantages"], update.values["returns"] * update.mask, ours.learning_rate()
    )
    losses = update.values["pg_loss_stats"][:, 0, 0]
    torch.testing.assert_close(torch.tensor(steps["policy_loss"]), losses, **CLOSE)
    assert abs(losses[-1] - losses[0]) > 1e-3
    assert steps["clip_fraction"][-1] > 0
    moved = 0.0
    weights = (model.parameters() for model in (update.start, policy, update.end))
    for start, weight, their in zip(*weights, strict=True):
        torch.testing.assert_close(weight, their, **CLOSE)
        moved = max(moved, float((weight - start).detach().abs().max()))
    assert moved > 1e-3
