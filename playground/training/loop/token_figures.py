"""A few completions token by token: what policy and reference would have said, and what training would pay for it, from
the passes that compare the two models anyway."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import torch
from torch import Tensor

from playground.config import RunConfig
from playground.ppo.advantages import generalised_advantages, token_rewards
from playground.ppo.kl import full_kl, token_kl
from playground.ppo.logprobs import entropy
from playground.training.loop.passes import Compared
from playground.training.loop.sampling import Episodes
from playground.training.models.token_pieces import Pieces

LEAST = 1e-6  # a probability below it is none
LIKELIEST = 8  # tokens of each of the two models that are kept of a place
Critic = Callable[[Tensor, Tensor, Tensor], Tensor]  # see `language_model.Critic`
Payment = Callable[[Tensor, Tensor, Tensor, float], Tensor]  # see `ppo.advantages.token_rewards`
DIGITS = 6  # behind the point, of what is added up
FEWER = 4  # of what is not


class Pays(NamedTuple):
    """How a run pays the tokens of a text. `critic`: None where each text is measured by others of its prompt."""

    kl_coef: float
    estimator: str
    payment: Payment
    critic: Critic | None
    gamma: float
    gae_lambda: float

    @classmethod
    def of(
        cls, config: RunConfig, kl_coef: float, critic: Critic | None, payment: Payment = token_rewards
    ) -> Pays | None:
        """As a configuration has it; None where no token is paid. `critic` is left out where nothing trains it."""
        if not config.pays_tokens:
            return None
        ppo = config.ppo
        judge = critic if config.has_critic else None
        return cls(kl_coef, config.kl.estimator, payment, judge, ppo.gamma, ppo.gae_lambda)


class SeenCompletion(NamedTuple):
    """One completion of C tokens: tensors [C], and for each place the tokens to show, (id, reference, policy)."""

    tokens: list[int]
    log_probs: Tensor
    reference_log_probs: Tensor
    kl: Tensor
    entropies: Tensor
    choices: list[list[tuple[int, float, float]]]
    values: Tensor | None = None


class CloseLook:
    """Keeps the figures of some episodes, while policy and reference are compared on all of them."""

    def __init__(self, rows: Collection[int], critic: Critic | None) -> None:
        self.rows, self.critic = frozenset(rows), critic
        self.seen: dict[int, SeenCompletion] = {}

    @torch.no_grad()
    def take(self, episodes: Episodes, part: Compared) -> None:
        """Keep those of a micro-batch that are wanted."""
        places = [position for position, row in enumerate(part.rows.tolist()) if row in self.rows]
        if not places:
            return
        lengths = part.mask.sum(1)
        of_row = torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)
        mine = torch.isin(of_row, torch.tensor(places, device=lengths.device))
        own, theirs, hidden = part.own[mine], part.theirs[mine], part.hidden[mine]
        rows = part.rows[places]
        tokens = episodes.completion_ids[rows][part.mask[places]]
        drawn = tokens.unsqueeze(1)
        figures = {
            "log_probs": own.gather(1, drawn)[:, 0],
            "reference_log_probs": theirs.gather(1, drawn)[:, 0],
            "kl": full_kl(own, theirs),
            "entropies": entropy(own),
        }
        if self.critic:
            figures["values"] = self.critic(part.ids[places], part.predicts[places], hidden)
        columns = {name: figure.float().cpu() for name, figure in figures.items()}
        listed, choices = tokens.tolist(), choices_of(own, theirs, tokens)
        end = 0
        for row, length in zip(rows.tolist(), lengths[places].tolist(), strict=True):
            start, end = end, end + length
            of_text = {name: column[start:end] for name, column in columns.items()}
            self.seen[row] = SeenCompletion(listed[start:end], choices=choices[start:end], **of_text)


def choices_of(own: Tensor, theirs: Tensor, drawn: Tensor) -> list[list[tuple[int, float, float]]]:
    """For each of N places the drawn token [N] and the likeliest of both models: id, reference's and policy's
    probability, from log-probs [N, V]."""
    most = min(LIKELIEST, own.shape[1])
    likeliest = [side.topk(most, dim=1).indices for side in (own, theirs)]
    union = torch.cat([drawn.unsqueeze(1), *likeliest], dim=1)
    sides = [side.gather(1, union).float().exp().cpu().tolist() for side in (theirs, own)]
    found = []
    for tokens, reference, policy in zip(union.cpu().tolist(), *sides, strict=True):
        by_token = {token: (token, p, q) for token, p, q in zip(tokens, reference, policy, strict=True)}
        drawn_one, *others = by_token.values()
        found.append([drawn_one, *(one for one in others if max(one[1:]) >= LEAST)])
    return found


def figures_of(seen: SeenCompletion, score: float, pays: Pays | None, pieces: Pieces) -> dict[str, Any]:
    """The lists of a `TokenFigures`."""
    found: dict[str, Any] = {
        "pieces": [pieces(token) for token in seen.tokens],
        "log_probs": listed(seen.log_probs),
        "reference_log_probs": listed(seen.reference_log_probs),
        "kl": listed(seen.kl),
        "entropies": listed(seen.entropies, FEWER),
        "choices": [
            [(pieces(token), shortened(reference), shortened(policy)) for token, reference, policy in position]
            for position in seen.choices
        ],
    }
    return {**found, **(paid(seen, score, pays) if pays else {})}


def paid(seen: SeenCompletion, score: float, pays: Pays) -> dict[str, Any]:
    """What training would pay for each token, and what it would make of that (before whitening)."""
    mask = torch.ones(1, len(seen.tokens), dtype=torch.bool)
    log_ratio = seen.log_probs - seen.reference_log_probs
    drift = token_kl(pays.estimator, log_ratio, seen.kl).unsqueeze(0)
    penalty = pays.payment(drift, torch.tensor([0.0]), mask, pays.kl_coef).float()
    rewards = pays.payment(drift, torch.tensor([score]), mask, pays.kl_coef).float()
    figures = {"kl_coef": pays.kl_coef, "leash": listed(penalty[0]), "rewards": listed(rewards[0])}
    if seen.values is None:
        return figures
    values = seen.values.unsqueeze(0)
    advantages, _ = generalised_advantages(rewards, values, mask, pays.gamma, pays.gae_lambda)
    figures["values"] = listed(seen.values, FEWER)
    figures["advantages"] = listed(advantages[0], FEWER)
    return figures


def listed(values: Tensor, digits: int = DIGITS) -> list[float]:
    """Plain numbers, rounded; no minus before a zero."""
    return [round(value, digits) + 0.0 for value in values.tolist()]


def shortened(probability: float) -> float:
    """Four digits are more than a page shows, and below a millionth none."""
    return float(f"{probability:.4g}") if probability >= LEAST else 0.0
