"""Every switch of the family of GRPO: the gradient of one optimizer step is that of the paper's formula, written out
here in float64, text by text. The step is the second of an update, so ratios are not 1 and the KL is not 0."""

import copy
import math

import pytest
import torch

from playground.errors import InvalidConfig
from tests.training import tiny

LONGEST, EPS, BETA = 8, 0.2, 0.3
GROUP = {"ppo__baseline": "group", "ppo__samples_per_prompt": 4}
PUBLISHED = {**GROUP, "ppo__advantage_scale": "group", "ppo__loss_mean": "text"}
IN_LOSS = {"kl__where": "loss", "kl__coef": BETA}


class Text:
    """One text in float64: log-probs of its tokens now (with a gradient), when it was written, and of the reference."""

    def __init__(self, trainer, rollout, row, policy, reference):
        episodes = rollout.episodes
        length = int(episodes.lengths[row])
        ids = episodes.completion_ids[row, :length]
        prompt = rollout.prompts[row].ids
        self.row, self.length = row, length
        self.whole, self.reference_whole = log_probs(policy, prompt, ids), log_probs(reference, prompt, ids)
        self.now = self.whole.gather(1, ids[:, None])[:, 0]
        self.reference = self.reference_whole.gather(1, ids[:, None])[:, 0].detach()
        self.written = episodes.log_probs[row, :length].double()
        self.at_start = rollout.old_log_probs[row, :length].double()
        self.drift = self.now - self.reference

    def ratio(self):
        return (self.now - self.at_start).exp()


def log_probs(model, prompt, ids):
    """[C, V] by a plain forward."""
    logits = model(input_ids=torch.cat([torch.tensor(prompt), ids])[None]).logits[0]
    return logits[len(prompt) - 1 : -1].log_softmax(-1)


def surrogate(ratio, advantage, high=EPS):
    """Schulman et al. 2017, eq. 7, to be minimised."""
    return -torch.min(ratio * advantage, ratio.clamp(1 - EPS, 1 + high) * advantage)


def in_groups(earned, divide):
    """R - mean, divided by the standard deviation of the group (n) or by nothing."""
    groups = torch.tensor(earned, dtype=torch.float64).view(-1, 4)
    centred = groups - groups.mean(1, keepdim=True)
    if divide:
        spread = groups.std(1, correction=0, keepdim=True)
        centred = torch.where(spread > 0, centred / spread.clamp(min=1e-12), centred)
    return centred.flatten().tolist()


def token_mean(losses):
    return torch.cat(losses).mean()


def text_mean(losses):
    return torch.stack([loss.mean() for loss in losses]).mean()


def grpo(texts, scores):
    """Shao et al. 2024, eq. 3 and 4: group z-scores, mean over tokens and then texts, beta k3 in the loss."""
    advantages = in_groups(scores, divide=True)
    k3 = [(-text.drift).exp() - 1 + text.drift for text in texts]
    losses = [surrogate(text.ratio(), advantages[text.row]) + BETA * kl for text, kl in zip(texts, k3, strict=True)]
    return text_mean(losses)


def dr_grpo(texts, scores):
    """Liu et al. 2025: no division by the spread nor by the length."""
    advantages = in_groups(scores, divide=False)
    losses = [surrogate(text.ratio(), advantages[text.row]) for text in texts]
    return torch.cat(losses).sum() / (len(losses) * LONGEST)


def dapo(texts, scores):
    """Yu et al. 2025, eq. 8 and 13: clip-higher, mean over tokens, groups that score alike left out. `scores` hold the
    price of long texts already."""
    advantages = in_groups(scores, divide=True)
    alike = [
        max(scores[row // 4 * 4 : row // 4 * 4 + 4]) == min(scores[row // 4 * 4 : row // 4 * 4 + 4]) for row in range(8)
    ]
    return token_mean([surrogate(text.ratio(), advantages[text.row], 0.28) for text in texts if not alike[text.row]])


def gspo(texts, scores):
    """Zheng et al. 2025, eq. 5 to 7: the ratio of a text is the exponential of its mean log-ratio."""
    advantages = in_groups(scores, divide=True)
    losses = [surrogate((text.now - text.at_start).mean().exp()[None], advantages[text.row]) for text in texts]
    return text_mean(losses)


def reinforce_plus(texts, scores):
    """Hu 2025: what a token and those after it are paid, k1 and score, scaled over the tokens of the batch."""
    paid = []
    for text in texts:
        rewards = -BETA * (text.written - text.reference)
        rewards[-1] += scores[text.row]
        paid.append(rewards.flip(0).cumsum(0).flip(0))
    every = torch.cat(paid)
    scaled = [(to_go - every.mean()) / every.std(correction=0) for to_go in paid]
    return token_mean([surrogate(text.ratio(), advantage) for text, advantage in zip(texts, scaled, strict=True)])


def kl_in_loss(estimator):
    """Group z-scores, mean over tokens, and beta times the estimator's formula (Schulman 2020; full: sum p log p/q)."""

    def kl_of(text):
        d = text.drift
        exact = (text.whole.exp() * (text.whole - text.reference_whole.detach())).sum(1)
        k3 = (-d).exp() - 1 + d
        return {"k1": d, "k2": d * d / 2, "k3": k3, "k3_corrected": text.ratio() * k3, "full": exact, "abs": d.abs()}

    def loss(texts, scores):
        advantages = in_groups(scores, divide=True)
        return token_mean(
            [surrogate(text.ratio(), advantages[text.row]) + BETA * kl_of(text)[estimator] for text in texts]
        )

    return loss


def late(weight):
    """The clip compares with the start of the update; each token counts by a weight of its ratio to who wrote it."""

    def loss(texts, scores):
        advantages = in_groups(scores, divide=True)
        return token_mean(
            [
                surrogate(text.ratio(), advantages[text.row]) * weight((text.at_start - text.written).exp())
                for text in texts
            ]
        )

    return loss


def truncated(ratio):
    return ratio.clamp(max=2.0)


def masked(ratio):
    return torch.where((ratio > 2) | (ratio < 0.5), 0.0, ratio)


def teacher_only(texts, scores):
    """Generalised knowledge distillation on own texts (Agarwal et al. 2024), reverse KL; the scores do not matter."""
    exact = [(text.whole.exp() * (text.whole - text.reference_whole.detach())).sum(1) for text in texts]
    return BETA * token_mean(exact)


NO_LEASH = {"kl__coef": 0.0}
OF_TOKENS = {**GROUP, "ppo__advantage_scale": "group"}
STALE = {**OF_TOKENS, **NO_LEASH, "ppo__staleness": 2}
CASES = {
    "grpo as published": ({**PUBLISHED, **IN_LOSS, "kl__estimator": "k3"}, grpo),
    "dr_grpo": ({"method": "dr_grpo", "ppo__samples_per_prompt": 4, **NO_LEASH}, dr_grpo),
    "dapo": ({"method": "dapo", "ppo__samples_per_prompt": 4, **NO_LEASH}, dapo),
    "gspo": ({"method": "gspo", "ppo__samples_per_prompt": 4, **NO_LEASH}, gspo),
    "reinforce++": ({"method": "reinforce++", "kl__coef": BETA}, reinforce_plus),
    "distil": ({"method": "distil", "kl__coef": BETA, "reference__source": "pocket-1m"}, teacher_only),
    "late, truncated": ({**STALE, "ppo__correction": "truncated"}, late(truncated)),
    "late, masked": ({**STALE, "ppo__correction": "masked"}, late(masked)),
    "late, as it is": (STALE, late(torch.ones_like)),
    **{
        f"{name} in the loss": ({**OF_TOKENS, **IN_LOSS, "kl__estimator": name}, kl_in_loss(name))
        for name in ("k1", "k2", "k3", "abs", "full", "k3_corrected")
    },
}


@pytest.mark.parametrize("case", CASES)
def test_the_gradient_of_a_step_is_that_of_the_formula(case):
    settings, formula = CASES[case]
    sizes = {"ppo__minibatch_size": 8, "ppo__micro_batch_size": 4, "ppo__max_grad_norm": 1e6, "ppo__value_coef": 0.0}
    trainer = tiny.trainer(texts=("abc", "b"), **{"ppo__learning_rate": 0.02, **sizes, **settings})
    for _ in range(2):
        trainer.update()  # so that the policy is not its reference, and older policies are there
    rollout = trainer.collect()
    scores = trainer.score(rollout)
    advantages, returns = trainer.advantages(rollout, scores, trainer.kl_controller.coef)
    rows = torch.arange(8)
    trainer.step(rollout, rows, advantages, returns)  # so that ratios are not 1
    policy, reference = copy.deepcopy(trainer.policy.model).double(), copy.deepcopy(trainer.reference.model).double()
    texts = [Text(trainer, rollout, row, policy, reference) for row in range(8)]
    loss = formula(texts, scores.scores)
    wanted = torch.autograd.grad(loss, [weight for weight in policy.parameters() if weight.requires_grad])
    caught = []
    learned = [weight for weight in trainer.policy.model.parameters() if weight.requires_grad]
    trainer.optimizer.step = lambda: caught.extend(weight.grad.clone() for weight in learned)
    trainer.step(rollout, rows, advantages, returns)
    ours = torch.cat([gradient.flatten().double() for gradient in caught])
    exact = torch.cat([gradient.flatten() for gradient in wanted])
    assert exact.norm() > 1e-3, "the test needs a gradient"
    assert float((ours - exact).norm() / exact.norm()) < 1e-3
    assert math.isfinite(trainer.update().score_mean)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"ppo": {"advantage_scale": "group"}}, "ppo.advantage_scale"),
        ({"ppo": {"drop_alike_groups": True}}, "ppo.drop_alike_groups"),
        ({"ppo": {"correction": "masked"}}, "ppo.correction"),
        ({"kl": {"estimator": "k3_corrected"}}, "kl.estimator"),
        ({"method": "distil"}, "reference.source"),
        ({"method": "gspo", "ppo": {"baseline": "leave_one_out", "advantage_scale": "batch"}}, "ppo.baseline"),
        ({"method": "dapo", "ranks": 2}, "ranks"),
    ],
)
def test_switches_that_contradict_each_other_are_named(settings, field):
    with pytest.raises(InvalidConfig) as error:
        tiny.config(**settings)
    assert [problem.field for problem in error.value.problems] == [field]


def test_masked_texts_and_groups_that_score_alike_are_left_out_and_counted():
    trainer = tiny.trainer(texts=("abc", "b"), ppo__overlong="mask", ppo__drop_alike_groups=True, **GROUP)
    scores = trainer.scorer
    trainer.scorer = lambda *given: scores(*given)._replace(scores=[1.0] * 4 + [0.0, 1.0, 2.0, 3.0])
    rollout = {}
    trainer.collect = lambda collect=trainer.collect: rollout.setdefault("of_update", collect())
    metrics = trainer.update()
    kept = [row >= 4 and bool(ended) for row, ended in enumerate(rollout["of_update"].episodes.ended)]
    assert 0 < sum(kept) < 4, "the test needs both"
    assert metrics.left_out == 1 - sum(kept) / 8


LATE = {"ppo__staleness": 2, "ppo__correction": "truncated"}


@pytest.mark.parametrize("switches", [LATE, {"reference__every": 2}, LATE | {"reference__every": 2}])
def test_a_run_that_keeps_earlier_weights_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(switches):
    settings = switches | {"ppo__num_updates": 6}
    whole = tiny.trainer(**settings)
    straight = [tiny.figures(whole.update()) for _ in range(5)]
    first = tiny.trainer(**settings)
    for _ in range(3):
        first.update()
    tensors, facts = first.state()
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    second = tiny.trainer(**settings)
    second.policy.load_state_dict(first.policy.state_dict())
    second.critic.load_state_dict(first.critic.state_dict())
    second.restore(tensors, {**facts, "update": 3})
    assert [tiny.figures(second.update()) for _ in range(2)] == straight[3:]
