"""What an update cannot do without, in arithmetic and in seconds, and what it does take: shared by speed.py,
real_speed.py and tests/nightly/test_gpu.py."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import psutil
import torch

ROUNDS_OF_PRODUCTS = 10


class Sizes(NamedTuple):
    """Of a model: weights in matrices, width times layers (for attention), and the bytes of a number."""

    trunk: int
    head: int
    adapter: int  # 0: all weights are trained
    attention: int
    number_bytes: int

    @classmethod
    def of(cls, policy: Any, number_bytes: int = 4) -> Sizes:
        """Of a language model."""
        layers = policy.trunk.layers
        matrices = [weight for layer in layers for weight in layer.parameters() if weight.ndim == 2]
        adapter = sum(weight.numel() for name, weight in policy.named_parameters() if ".lora_" in name)
        trunk = sum(weight.numel() for weight in matrices) - adapter
        head = policy.lm_head.weight.numel()
        return cls(trunk, head, adapter, policy.hidden_size * len(layers), number_bytes)

    def forward(self, totals: Iterable[int]) -> int:
        """Operations of a pass over some episodes without the head: two for each weight and token that goes through it,
        and attention, which is causal: half of 4 T^2 H for each layer."""
        lengths = list(totals)
        return 2 * self.trunk * sum(lengths) + 2 * self.attention * sum(length * length for length in lengths)


class Lengths(NamedTuple):
    """Of the episodes of one update: completion tokens, and prompt and completion together."""

    sampled: list[int]
    totals: list[int]

    @classmethod
    def of(cls, rollout: Any) -> Lengths:
        """Of a batch of episodes."""
        return cls(rollout.episodes.lengths.tolist(), rollout.packed.totals.tolist())

    @property
    def alive(self) -> list[int]:
        """How many episodes still write at each token; the first comes out of the pass over the prompts."""
        return [sum(length > step for length in self.sampled) for step in range(max(self.sampled))]


def arithmetic(sizes: Sizes, lengths: Lengths, num_epochs: int, trained_trunks: int = 1) -> dict[str, float]:
    """Floating-point operations that one update cannot do without, by phase: three times a pass for forward and
    backward. No padding, the LM head only where a completion token is predicted. Left out: everything that is not a
    matrix product.

    Args:
        trained_trunks: 2 with a critic of its own, which also reads what was sampled.
    """
    forward, head = sizes.forward(lengths.totals), 2 * sizes.head * sum(lengths.sampled)
    # policy, reference and a separate critic; the heads of the first two, and ours again for the KL
    return {
        "rollout": (1 + trained_trunks) * forward + 3 * head,
        "update": num_epochs * 3 * (trained_trunks * forward + head),
    }


def floor_seconds(
    sizes: Sizes, prompts: Sequence[int], texts: Sequence[int], alive: list[int], rate: float, bandwidth: float
) -> dict[str, float]:
    """What several texts begin with is read once. Write: the prompts' matrix products; then for each further token of
    the batch its matrix products or one reading of the weights, whichever takes longer. Compare: one pass of the
    reference over all tokens, and the LM head of both where a completion token is predicted. Learn: forward and
    backward; of frozen weights no gradient.

    Args:
        prompts, texts: see `seen_by_tokens`; a text is a prompt with its completion. alive: see `Lengths`.
        rate: operations per second. bandwidth: bytes per second.
    """
    both, head = sizes.trunk + sizes.head, 2 * sizes.head * sum(alive)
    first = 2 * sizes.trunk * len(prompts) + 2 * sizes.head * alive[0]
    reading = both * sizes.number_bytes / bandwidth
    steps = [max(2 * both * rows / rate, reading) for rows in alive[1:]]
    products = 2 * sizes.trunk * len(texts)
    attention = 2 * sizes.attention * sum(2 * seen - 1 for seen in texts)
    times = 2 if sizes.adapter else 3  # forward, gradient of what goes in, gradient of the weights
    learn = times * (products + head) + 3 * attention + 6 * sizes.adapter * len(texts)
    return {
        "write": first / rate + sum(steps),
        "compare": (products + attention + 2 * head) / rate,
        "learn": learn / rate,
    }


def seen_by_tokens(texts: Iterable[Sequence[int]]) -> list[int]:
    """For each token of some texts that has to be read the number of tokens that it sees, itself too. What several
    begin with is read once."""
    beginnings = {tuple(ids[:end]) for ids in texts for end in range(1, len(ids) + 1)}
    return [len(beginning) for beginning in beginnings]


# -- measuring --------------------------------------------------------------------------------------------------------


def for_seconds(seconds: float) -> Iterator[None]:
    """Again and again, until so many have passed."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        yield


def reading_rate(seconds: float = 0.3) -> float:
    """Bytes per second at which this process's threads read from memory: the median over many sums of 256 MiB."""
    numbers = torch.ones(2**26)
    rates = []
    for _ in for_seconds(seconds):
        begin = time.perf_counter()
        numbers.sum()
        rates.append(4 * len(numbers) / (time.perf_counter() - begin))
    return statistics.median(rates)


def product_rates(size: int = 512, seconds: float = 0.3, device: str = "cpu", dtype: Any = None) -> list[float]:
    """Operations per second of products of two squares, many short measurements, with this process's threads. Taken
    between the updates: the speed of a shared machine changes within minutes. `dtype`: of torch; default float32."""
    a, b = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    rates = []
    if a.is_cuda:
        for _ in range(3):  # the first product on a GPU chooses its kernel
            a @ b
        torch.cuda.synchronize()
    for _ in for_seconds(seconds):
        begin = time.perf_counter()
        for _ in range(ROUNDS_OF_PRODUCTS):
            a @ b
        if a.is_cuda:
            torch.cuda.synchronize()
        rates.append(ROUNDS_OF_PRODUCTS * 2 * size**3 / (time.perf_counter() - begin))
    return rates


def timed(owner: Any, name: str) -> list[float]:
    """The seconds of each call of a method from now on."""
    method, seconds = getattr(owner, name), list[float]()

    def call(*arguments: Any, **options: Any) -> Any:
        begin = time.perf_counter()
        try:
            return method(*arguments, **options)
        finally:
            seconds.append(time.perf_counter() - begin)

    setattr(owner, name, call)
    return seconds


def rollouts_of(trainer: Any) -> list[Any]:
    """The batches that a trainer collects from now on."""
    collect, rollouts = trainer.collect, list[Any]()

    def call() -> Any:
        rollouts.append(collect())
        return rollouts[-1]

    trainer.collect = call
    return rollouts


def medians(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of figures of the same names, those in dictionaries too."""
    result: dict[str, Any] = {}
    for name, value in items[0].items():
        values = [item[name] for item in items]
        result[name] = medians(values) if isinstance(value, dict) else statistics.median(values)
    return result


def resident_bytes() -> int:
    """Memory of this process now."""
    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """Most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
