"""The mistakes that are usually made in three of the functions, each as a change of the right source. What a student's
function gives is compared with what each of these gives; a match names the mistake, however the student wrote it."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from playground.training.exercise.comparing import Case, Names, differing


class Mistake(NamedTuple):
    """`changes`: pieces of the right function's source, and what the mistake has in their place."""

    changes: dict[str, str]
    hint: str


SHIFT = "[:, -mask.shape[1] - 1 : -1]"
SHIFTED = (
    "The log-probs are one position late: the logits at a position are of the token after it. For the completion's C "
    "tokens take the positions from the last of the prompt to the last but one, [:, -C - 1 : -1]."
)
LATE = "late = features(policy, episodes.ids, episodes.real)[:, -mask.shape[1] :][mask]; "
COOL = (
    "The log-probs are those of temperature 1, and the texts were drawn at another: divide the logits by it here too."
)
PAYING = "-settings.kl_coef * kl"
LAST = "rewards[torch.arange(len(scores)), mask.sum(1) - 1] += scores"
WHITENED = "mask * (advantages - mean) * torch.rsqrt(variance + 1e-8)"
STEP = "(policy_loss + settings.value_coef * value_loss).backward()"

MISTAKES: dict[str, list[Mistake]] = {
    "compute_kl": [
        Mistake(
            {"episodes.log_probs[mask] - next_token": "-episodes.log_probs[mask] + next_token"},
            "The sign is the wrong way round: it is log pi - log pi_ref, above 0 for a token that is now likelier.",
        ),
        Mistake({SHIFT: "[:, -mask.shape[1] :]"}, SHIFTED),
        Mistake({"next_token(reference, before, settings)": "next_token(reference, before, Settings())"}, COOL),
        Mistake(
            {
                "mask, tokens = episodes.mask, episodes.completions[episodes.mask]": (
                    "mask = torch.ones_like(episodes.mask); tokens = episodes.completions[mask]"
                )
            },
            "Padding is counted: where the mask is False there is no token, and the KL is 0.",
        ),
        Mistake(
            {"episodes.real)": "torch.ones_like(episodes.real))"},
            "The reference reads the padding as if it were text, or counts its positions: give `features` the mask of "
            "the whole row, episodes.real.",
        ),
        Mistake(
            {"masked_scatter(mask, log_ratios)": "masked_scatter(mask, torch.expm1(-log_ratios) + log_ratios)"},
            "This is k3, exp(-d) - 1 + d. It has the right mean, but as a reward not the gradient of the KL: return d.",
        ),
        Mistake(
            {"masked_scatter(mask, log_ratios)": "masked_scatter(mask, log_ratios**2 / 2)"},
            "This is k2, d^2 / 2. As a reward it has not the gradient of the KL: return d, which may be negative.",
        ),
        Mistake(
            {"masked_scatter(mask, log_ratios)": "masked_scatter(mask, log_ratios.abs())"},
            "This is |d|. A sample of the KL may be negative; only so is its mean the KL. Return d itself.",
        ),
        Mistake(
            {"masked_scatter(mask, log_ratios)": "masked_scatter(mask, log_ratios.clamp(min=0))"},
            "Negative samples are cut off. Their mean is the KL only with them: return d itself.",
        ),
        Mistake(
            {"masked_scatter(mask, log_ratios)": "masked_scatter(mask, log_ratios).sum(1)"},
            "This is one number for each episode. Each token pays for its own KL: return [B, C].",
        ),
    ],
    "compute_advantages": [
        Mistake({PAYING: "settings.kl_coef * kl"}, "The KL has the wrong sign: drift costs, so r_t = -kl_coef * kl_t."),
        Mistake({PAYING: "-kl"}, "The KL is not multiplied by kl_coef."),
        Mistake({PAYING: "0 * kl"}, "The KL costs nothing here: r_t = -kl_coef * kl_t on every token."),
        Mistake(
            {LAST: "rewards[:, -1] += scores"},
            "The score lies on the last position of the row, which in a shorter completion is padding, so it is lost: "
            "put it on the last real token, mask.sum(1) - 1.",
        ),
        Mistake(
            {LAST: "rewards += scores.unsqueeze(1)"},
            "The score is paid on every token, so long completions earn it more often: put it on the last real token.",
        ),
        Mistake({LAST: "rewards[:, 0] += scores"}, "The score is paid on the first token, not the last real one."),
        Mistake({WHITENED: "advantages"}, "The advantages are not whitened: mean 0, variance 1 over real tokens."),
        Mistake(
            {"torch.var_mean(advantages[mask], correction=0)": "torch.var_mean(advantages, correction=0)"},
            "Whitening counts the padding: mean and variance are those of the real tokens only, advantages[mask].",
        ),
        Mistake(
            {"advantages[mask], correction=0": "advantages, correction=1"},
            "Whitening counts the padding: mean and variance are those of the real tokens only, advantages[mask].",
        ),
        Mistake(
            {"torch.var_mean(advantages[mask], correction=0)": "torch.var_mean(advantages)", "mask * (adv": "(adv"},
            "Whitening counts the padding, and leaves numbers in it: use advantages[mask], and 0 where masked.",
        ),
        Mistake(
            {"torch.var_mean(advantages[mask]": "torch.var_mean(advantages", "mask * (adv": "(adv"},
            "Whitening counts the padding, and leaves numbers in it: use advantages[mask], and 0 where masked.",
        ),
        Mistake(
            {"mask * (advantages - mean)": "(advantages - mean)"},
            "The advantages are not masked after whitening, which moves the zeros of the padding too.",
        ),
        Mistake({"correction=0": "correction=1"}, "The variance is divided by n - 1; here it is by n (correction=0)."),
        Mistake(
            {WHITENED: "mask * advantages * torch.rsqrt(variance + 1e-8)"}, "The mean is not subtracted in whitening."
        ),
        Mistake(
            {", advantages + values": ", mask * (advantages - mean) * torch.rsqrt(variance + 1e-8) + values"},
            "The returns are made of whitened advantages. A return is what was earned: A + V, before whitening.",
        ),
        Mistake({", advantages + values": ", rewards"}, "The returns are the token rewards. They are A + V."),
        Mistake({", advantages + values": ", advantages"}, "The returns lack the values: they are A + V."),
        Mistake(
            {"settings.gamma * settings.gae_lambda": "settings.gamma"},
            "gae_lambda is missing: A_t = delta_t + gamma gae_lambda A_{t+1}.",
        ),
        Mistake(
            {"settings.gamma * settings.gae_lambda * next_advantage": "settings.gae_lambda * next_advantage"},
            "gamma is missing in A_t = delta_t + gamma gae_lambda A_{t+1}.",
        ),
        Mistake({" - values[:, t]": ""}, "delta_t lacks - V_t: it is r_t + gamma V_{t+1} - V_t."),
        Mistake({" + settings.gamma * next_value": ""}, "delta_t lacks the value of the next position, gamma V_{t+1}."),
        Mistake(
            {"in reversed(range(values.shape[1]))": "in range(values.shape[1])"},
            "The loop runs forwards. A_t needs A_{t+1}: go from the last token to the first.",
        ),
    ],
    "ppo_step": [
        Mistake(
            {"torch.min(free, clipped)": "torch.max(free, clipped)"},
            "This is the max of the two terms. The min is the pessimistic one: too far never pays, back always does.",
        ),
        Mistake({"torch.min(free, clipped)": "clipped"}, "Only the clipped term is used: take the min of both terms."),
        Mistake({"torch.min(free, clipped)": "free"}, "The ratio is not clipped: take the min of both terms."),
        Mistake(
            {"policy_loss = -torch": "policy_loss = torch"},
            "The policy loss has the wrong sign: an optimizer minimises, so it is -min(...).",
        ),
        Mistake(
            {"(log_probs - episodes.log_probs[mask]).exp()": "(episodes.log_probs[mask] - log_probs).exp()"},
            "The ratio is the wrong way round: r = pi / pi_old = exp(log_probs - episodes.log_probs).",
        ),
        Mistake(
            {"(log_probs - episodes.log_probs[mask]).exp()": "(log_probs - log_probs.detach()).exp()"},
            "The ratio is taken to the policy as it is now, so it is always 1: log pi_old is episodes.log_probs.",
        ),
        Mistake(
            {"before.detach()": "before"},
            "The gradient of the value loss reaches the policy's trunk, and wrecks it: detach the features.",
        ),
        Mistake(
            {"mask, tokens, clip = episodes.mask, episodes.completions[episodes.mask]": (
                "mask = torch.ones_like(episodes.mask); tokens, clip = episodes.completions[mask]"
            )},
            "Padding is counted: the means are over real tokens only, where the mask is True.",
        ),
        Mistake(
            {
                "torch.min(free, clipped).mean()": "torch.min(free, clipped).sum() / mask.numel()",
                "(values - returns[mask]).square().mean()": "(values - returns[mask]).square().sum() / mask.numel()",
            },
            "Padding is counted in the means: divide by the number of real tokens, mask.sum().",
        ),
        Mistake(
            {"torch.min(free, clipped).mean()": "torch.min(free, clipped).sum() / mask.numel()"},
            "Padding is counted in the mean of the policy loss: divide by the number of real tokens, mask.sum().",
        ),
        Mistake(
            {
                "torch.min(free, clipped).mean()": "torch.min(free, clipped).sum()",
                "(values - returns[mask]).square().mean()": "(values - returns[mask]).square().sum()",
            },
            "These are sums over tokens: then a step is the longer the more tokens there are. Take means.",
        ),
        Mistake(
            {
                "value_loss = 0.5 * (values - returns[mask]).square().mean()": (
                    "old = episodes.values[mask]; near = old + (values - old).clamp(-clip, clip); value_loss = 0.5 * "
                    "torch.max((values - returns[mask]).square(), (near - returns[mask]).square()).mean()"
                )
            },
            "The value loss is clipped around the old values. Here it is plain: (V - return)^2 / 2.",
        ),
        Mistake({"0.5 * (values": "(values"}, "The value loss lacks the factor 1/2."),
        Mistake({"values - returns[mask]": "values - advantages"}, "The value head is to predict the returns, not A."),
        Mistake({"settings.value_coef * value_loss": "value_loss"}, "The value loss is not multiplied by value_coef."),
        Mistake({" + settings.value_coef * value_loss": ""}, "The value loss is not part of what is minimised."),
        Mistake({"next_token(policy, before, settings)": "next_token(policy, before, Settings())"}, COOL),
        Mistake({SHIFT: "[:, -mask.shape[1] :]"}, SHIFTED),
        Mistake(
            {
                "log_probs = next": LATE + "log_probs = next",
                "next_token(policy, before": "next_token(policy, late",
            },
            SHIFTED,
        ),
        Mistake({"optimizer.zero_grad()": "pass"}, "Gradients of the last step are still there: zero_grad is missing."),
        Mistake({"optimizer.step()": "pass"}, "Nothing moves: optimizer.step() is missing."),
        Mistake(
            {"nn.utils.clip_grad_norm_(group": "(group"}, "The gradient norm is not cut to max_grad_norm."
        ),
        Mistake(
            {
                "for group in optimizer.param_groups:": "for group in [0]:",
                'group["params"]': '[one for every in optimizer.param_groups for one in every["params"]]',
            },
            "The gradients of policy and value head are cut together, so a bad value estimate shortens the step of the "
            "policy: cut each group of the optimizer by itself.",
        ),
        Mistake(
            {"flat = (clipped < free)": "flat = ((ratio - 1).abs() > clip)"},
            "clip_fraction counts every ratio outside the range. The loss is flat only past the side that A wants.",
        ),
    ],
}  # fmt: skip


def mutant(ours: Names, function: str, mistake: Mistake) -> dict[str, Any]:
    """The names of the example, with the mistake in one function."""
    source = inspect.getsource(ours[function])
    for right, wrong in mistake.changes.items():
        assert right in source, f"{function} has no {right}"
        source = source.replace(right, wrong)
    names = dict(ours)
    exec(source, names)
    return names


def hint(ours: Names, function: str, cases: list[Case], failed: int, results: list[dict[str, Any]]) -> str:
    """The mistake that explains the results of the cases: all of them or, of several mistakes at once, the failed."""
    explains_one = ""
    for mistake in MISTAKES[function]:
        names = mutant(ours, function, mistake)
        try:
            if differing(cases[failed].run(names), results[failed]):
                continue
            if not any(differing(case.run(names), got) for case, got in zip(cases, results, strict=True)):
                return mistake.hint
        except (RuntimeError, ValueError, IndexError):  # a mistake that no case can be computed with
            continue
        explains_one = explains_one or mistake.hint
    return explains_one
