"""Log-probabilities and entropies of tokens, at the temperature they are sampled with."""

from __future__ import annotations

import torch
from torch import Tensor


def log_softmax_at(logits: Tensor, temperature: float = 1.0) -> Tensor:
    """Log-probabilities [..., V] of the distribution softmax(logits / temperature), in float32 or wider."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    return torch.log_softmax(logits if temperature == 1.0 else logits / temperature, dim=-1)


def token_log_probs(logits: Tensor, tokens: Tensor, temperature: float = 1.0) -> Tensor:
    """log pi(token) of each given token.

    Args:
        logits: [..., V]; position t holds the distribution of token t (already shifted by one).
        tokens: [...] integer ids.

    Returns:
        [...]; uses log p = z - logsumexp(z), so no second [..., V] tensor outlives the call.
    """
    logits = logits if logits.dtype == torch.float64 else logits.float()
    if temperature != 1.0:
        logits = logits / temperature
    chosen = logits.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    return chosen - torch.logsumexp(logits, dim=-1)


def entropy(log_probs: Tensor) -> Tensor:
    """Entropy in nats of distributions given as log-probabilities [..., V] -> [...]."""
    return -(log_probs.exp() * log_probs).nan_to_num(0.0).sum(-1)
