"""The texts of a recorded update under the formulas of several methods: what each pushes a token by, and what its clip
stops. The same texts, scores and ratios for all, by the functions of `playground.ppo` that train.

The recorder asks for it, and the model service under other settings. runs/folder/traces.py says what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from playground.config import methods
from playground.ppo.advantages import advantages_of, groups_that_differ, overlong_penalties, token_rewards
from playground.ppo.kl import loss_kl, token_kl
from playground.ppo.losses import surrogate
from playground.runs.folder.traces import FormulaText, Trace, TracedFormula, TracedSettings

OWN = "own"
REINFORCE = "reinforce"
IN_GROUPS = ("grpo", "dr_grpo", "dapo", "gspo")
OF_A_TEXT = 10  # times as narrow as the clip range of tokens is that of texts, as in the run of docs/methods.md
AS_PUBLISHED: dict[str, dict[str, Any]] = {
    "ppo": {},
    "grpo": {"advantage_scale": "group", "loss_mean": "text", "where": "loss", "estimator": "k3"},
    "dr_grpo": {"kl_coef": 0.0},
    "dapo": {"kl_coef": 0.0},
    "gspo": {"kl_coef": 0.0},
}  # what the papers have and the methods here do not set
ONE_TEXT = "This run writes one text for each prompt; the formula compares several (ppo.samples_per_prompt)."


def formulas_of(trace: Trace) -> list[TracedFormula]:
    """Those of six methods, before them the run's own where it is none of them; nothing for a trace without texts."""
    if not trace.texts:
        return []
    six = _settings(trace.settings)
    own = {} if trace.settings in six.values() else {OWN: trace.settings}
    return [_formula(name, settings, trace) for name, settings in (own | six).items()]


def _settings(own: TracedSettings) -> dict[str, TracedSettings]:
    """Of each of the six; prompts, beta and the clip range of tokens are the run's."""
    of_tokens = own.clip_range
    if own.ratio == "text":
        of_tokens *= OF_A_TEXT
    settings = {}
    for name, published in AS_PUBLISHED.items():
        chosen = {}
        for field, value in methods.chosen(name).items():
            _, _, short_name = field.rpartition(".")
            chosen[short_name] = value
        chosen["samples_per_prompt"] = own.samples_per_prompt
        chosen["clip_range"] = of_tokens
        if chosen["ratio"] == "text":
            chosen["clip_range"] = of_tokens / OF_A_TEXT
        settings[name] = own.model_copy(update={**chosen, **published})
    reinforce = settings["ppo"].model_copy(update={"baseline": "none", "advantage_scale": "none"})
    return {REINFORCE: reinforce, **settings}


def _formula(name: str, settings: TracedSettings, trace: Trace) -> TracedFormula:
    if name in IN_GROUPS and settings.samples_per_prompt < 2:
        return TracedFormula(name=name, settings=settings, why_none=ONE_TEXT)
    return _Update(name, settings, trace).formula([text.row for text in trace.texts])


class _Update:
    """The kept episodes of an update under a formula. Tensors [B, C], in float64."""

    def __init__(self, name: str, settings: TracedSettings, trace: Trace) -> None:
        batch = trace.batch
        self.name, self.settings, self.own, self.batch = name, settings, trace.settings, batch
        self.lengths = torch.tensor(batch.lengths)
        self.mask = torch.arange(int(self.lengths.max())) < self.lengths[:, None]
        self.drifts = padded(batch.drifts, self.mask)
        scores = doubles(batch.scores)
        if settings.overlong == "penalise" and trace.settings.overlong != "penalise":
            scores = scores + overlong_penalties(self.lengths, settings.max_new_tokens)
        self.learned = torch.tensor([step is not None for step in batch.last_steps])
        if settings.drop_alike_groups:
            self.learned &= groups_that_differ(scores, settings.samples_per_prompt)
        rewards = token_rewards(self.token_kl(), scores, self.mask, price(settings))
        values = padded(batch.values, self.mask)
        learned = self.mask & self.learned[:, None]
        self.advantages = advantages_of(settings, rewards, values, self.mask, learned).scaled

    def token_kl(self) -> Tensor:
        """What the leash in the reward is charged for."""
        if self.name == OWN:
            return padded(self.batch.token_kl, self.mask)
        return token_kl(self.settings.estimator, self.drifts, self.drifts)

    def formula(self, shown: Iterable[int]) -> TracedFormula:
        """All of it, with the texts in these rows."""
        log_ratio = padded(self.batch.log_ratios, self.mask)
        if self.name == REINFORCE:  # which takes every text as just written
            log_ratio = torch.zeros_like(log_ratio)
        log_ratio.requires_grad_()
        ratios, clipped = torch.ones_like(log_ratio), torch.zeros_like(self.mask)
        weights, policy, leash = torch.zeros_like(log_ratio), [], []
        for rows in self.minibatches():
            mask = self.mask[rows]
            tokens, of_step = mask.sum(), log_ratio[rows][mask]
            longest = self.settings.max_new_tokens
            part = surrogate(self.settings, of_step, self.advantages[rows][mask], mask, len(rows), tokens, longest)
            each = (part.weights.double() / tokens).expand_as(of_step)
            drift = of_step + self.drifts[rows][mask]
            policy.append((part.losses * each).sum())
            leash.append((self.leash(drift, of_step) * each).sum())
            for whole, values in ((ratios, part.log_ratio.exp()), (clipped, part.clipped), (weights, each)):
                whole[rows] = whole[rows].masked_scatter(mask, values.detach())
        pushes, of_leash = (_pushes(losses, log_ratio) for losses in (policy, leash))

        def text(row: int) -> FormulaText:
            real = slice(self.batch.lengths[row])
            return FormulaText(
                advantages=short(self.advantages[row, real]),
                ratios=short(ratios[row, real]),
                clipped=clipped[row, real].tolist(),
                weight=short(weights[row, :1])[0],
                pushes=short((pushes + of_leash)[row, real]),
                leash=short(of_leash[row, real]),
                left_out=not self.learned[row],
            )

        return TracedFormula(
            name=self.name,
            is_own=self.settings == self.own,
            settings=self.settings,
            loss=_mean(policy),
            leash_loss=_mean(leash),
            clipped=int(clipped.sum()),
            tokens=int(self.lengths[self.learned].sum()),
            texts=[text(row) for row in shown],
        )

    def minibatches(self) -> list[Tensor]:
        """Rows that were last learned from in one step, without those that the formula leaves out."""
        steps = torch.tensor([-1 if step is None else step for step in self.batch.last_steps])
        rows = [torch.nonzero(self.learned & (steps == step))[:, 0] for step in steps.unique()]
        return [some for some in rows if len(some)]

    def leash(self, drift: Tensor, log_ratio: Tensor) -> Tensor:
        """Beta times the KL of each token, where that is a part of the loss; else 0."""
        if self.settings.where == "reward":
            return torch.zeros_like(drift)
        return self.settings.kl_coef * loss_kl(self.settings.estimator, drift, drift, log_ratio)


def price(settings: TracedSettings) -> float:
    """Beta, as far as the leash is in the reward."""
    return settings.kl_coef if settings.where == "reward" else 0.0


def _pushes(losses: list[Tensor], log_ratio: Tensor) -> Tensor:
    """Minus the gradient of each minibatch's loss; no token is in two."""
    if not any(loss.requires_grad for loss in losses):
        return torch.zeros_like(log_ratio)
    (gradient,) = torch.autograd.grad(torch.stack(losses).sum(), log_ratio, retain_graph=True)
    return -gradient


def _mean(losses: list[Tensor]) -> float | None:
    return float(torch.stack(losses).detach().mean()) if losses else None


def doubles(values: list[float]) -> Tensor:
    """In float64."""
    return torch.tensor(values, dtype=torch.float64)


def padded(flat: list[float], mask: Tensor) -> Tensor:
    """The tokens of several episodes, one behind the other, as [B, C]."""
    whole = torch.zeros(mask.shape, dtype=torch.float64)
    whole[mask] = doubles(flat)
    return whole


def short(numbers: Tensor) -> list[float]:
    """As many digits as a float32 has."""
    return [float(f"{number:.8g}") + 0.0 for number in numbers.tolist()]
