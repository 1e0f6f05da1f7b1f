"""The least seconds that an update of a language model with LoRA can take on a processor. real_speed.py measures beside
them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Sizes(NamedTuple):
    """Of a model: weights in matrices, width times layers (for attention), and the bytes of a number."""

    trunk: int
    head: int
    adapter: int  # 0: all weights are trained
    attention: int
    number_bytes: int


def floor_seconds(
    sizes: Sizes, totals: list[int], alive: list[int], read: int, rate: float, bandwidth: float
) -> dict[str, float]:
    """Write: the prompts' matrix products, of what several have in common once; then for each further token of the
    batch its matrix products or one reading of the weights, whichever takes longer. Compare: one pass of the reference
    over all tokens, and the LM head of both where a completion token is predicted. Learn: forward and backward; of
    frozen weights no gradient.

    Args:
        totals: tokens of each episode. alive: how many episodes still write at each token; the first comes out of the
            pass over the prompts. read: see `tokens_to_read`.
        rate: operations per second. bandwidth: bytes per second.
    """
    trunk, head, adapter, attention, number_bytes = sizes
    sampled, together = sum(alive), sum(totals)
    attending = 2 * attention * sum(total * total for total in totals)  # causal: half of 4 T^2 H for each layer
    first = 2 * trunk * read + 2 * head * alive[0]
    weights = (trunk + head) * number_bytes
    steps = [max(2 * (trunk + head) * rows / rate, weights / bandwidth) for rows in alive[1:]]
    forward = 2 * trunk * together + attending
    products = 2 if adapter else 3  # forward, gradient of what goes in, gradient of the weights
    learn = products * 2 * (trunk * together + head * sampled) + 3 * attending + 6 * adapter * together
    return {
        "write": first / rate + sum(steps),
        "compare": (forward + 2 * 2 * head * sampled) / rate,
        "learn": learn / rate,
    }


def tokens_to_read(prompts: Iterable[Sequence[int]]) -> int:
    """How many tokens of some prompts have to be read, where what several begin with is read once."""
    return len({tuple(ids[:end]) for ids in prompts for end in range(1, len(ids) + 1)})


def reading_rate(seconds: float = 0.3) -> float:
    """Bytes per second at which this process's threads read from memory: the median over many sums of 256 MiB."""
    import torch

    numbers = torch.ones(2**26)
    rates = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        numbers.sum()
        rates.append(4 * len(numbers) / (time.perf_counter() - begin))
    return statistics.median(rates)
