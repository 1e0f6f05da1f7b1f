"""Log-probabilities and entropies of tokens, at the temperature they are sampled with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

CACHED_NUMBERS = 2**19  # of a piece of [N, V]: 2 MiB
FITTING_NUMBERS = 2**26  # on a GPU, where many small calls are dear


def log_softmax_at(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Log-probabilities [..., V] of the distribution softmax(logits / temperature), in float32 or wider."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return torch.log_softmax(logits if temperature == 1.0 else logits / temperature, dim=-1)


def token_log_probs(logits: Tensor, tokens: Tensor, temperature: float = 1.0) -> Tensor:
    """log pi(token) of each given token: z - logsumexp(z) with z = logits / temperature, in float32 or wider.

    Args:
        logits: [..., V]; position t holds the distribution of token t (already shifted by one).
        tokens: [...] integer ids.
    """
    rows = logits.reshape(-1, logits.shape[-1]), tokens.reshape(-1)
    flat: Tensor = _TokenLogProbs.apply(*rows, temperature)  # type: ignore[no-untyped-call]
    return flat.view(tokens.shape)


class _TokenLogProbs(torch.autograd.Function):
    """Some rows at a time, forwards and backwards: the numbers in between stay in the processor's cache, and no tensor
    [N, V] of float32 lives beside the logits [N, V] and their gradient."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, tokens: Tensor, temperature: float) -> Tensor:
        chosen, normaliser = [], []
        for part, own in _pieces(logits, tokens, temperature):
            chosen.append(part.gather(-1, own.unsqueeze(-1)).squeeze(-1))
            normaliser.append(torch.logsumexp(part, dim=-1))
        ctx.temperature = temperature
        ctx.save_for_backward(logits, tokens, torch.cat(normaliser))
        return torch.cat(chosen) - torch.cat(normaliser)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """d log p(token) / d z = [z is the token's] - softmax(z)."""
        logits, tokens, normaliser = ctx.saved_tensors
        whole, begin = torch.empty_like(logits), 0
        for part, own in _pieces(logits, tokens, ctx.temperature):
            rows = slice(begin, begin + len(own))
            upon = gradient[rows].unsqueeze(-1)
            piece = (part - normaliser[rows].unsqueeze(-1)).exp_().mul_(-upon).scatter_add_(-1, own.unsqueeze(-1), upon)
            whole[rows] = piece if ctx.temperature == 1.0 else piece.div_(ctx.temperature)
            begin += len(own)
        return whole, None, None


def _pieces(logits: Tensor, tokens: Tensor, temperature: float) -> Iterator[tuple[Tensor, Tensor]]:
    """logits / temperature of some rows [n, V] in float32 or wider, and their tokens [n]; one piece of no rows too."""
    rows = max(1, (CACHED_NUMBERS if logits.device.type == "cpu" else FITTING_NUMBERS) // logits.shape[-1])
    for part, own in zip(torch.split(logits, rows), torch.split(tokens, rows), strict=True):
        part = part if part.dtype == torch.float64 else part.float()
        yield part if temperature == 1.0 else part / temperature, own


def entropy(log_probs: Tensor) -> Tensor:
    """Entropy in nats of distributions given as log-probabilities [..., V] -> [...]."""
    return -(log_probs.exp() * log_probs).nan_to_num(0.0).sum(-1)
