"""Random numbers: every stream is derived from (run seed, stream name, numbers), so nothing has to be remembered.

A resumed run draws what the uninterrupted one would have drawn, and two models asked with the same seed get the same
random numbers.
"""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor


def derived_seed(seed: int, stream: str, *numbers: int) -> int:
    """A 63-bit seed that depends on all its arguments and on nothing else."""
    text = "/".join([str(seed), stream, *map(str, numbers)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, stream: str, *numbers: int) -> torch.Generator:
    """A CPU generator of its own for one purpose at one moment."""
    return torch.Generator().manual_seed(derived_seed(seed, stream, *numbers))


def uniforms(seeds: list[int], length: int) -> Tensor:
    """One row of uniform numbers in [0, 1) for each seed, [len(seeds), length], float64.

    A row depends on its seed only, not on the batch around it.
    """
    rows = [torch.rand(length, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) for seed in seeds]
    return torch.stack(rows) if rows else torch.empty(0, length, dtype=torch.float64)


class TokenNoise:
    """A uniform number for each (seed, position, token): the common random numbers of before and after.

    They depend on their seed only, not on the batch around it. Made position by position, because all at once they
    would be as large as every distribution of a batch together.
    """

    def __init__(self, seeds: list[int], length: int) -> None:
        """`seeds`: B of them. `length`: C, the most positions."""
        self.shape = (len(seeds), length)
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def next(self, rows: Tensor, vocabulary: int) -> Tensor:
        """The numbers in [0, 1) of the next position of some rows [n] -> [n, V], float64, on the CPU.

        A row has to be asked for at every position up to its last one.
        """
        noise = torch.empty(len(rows), vocabulary, dtype=torch.float64)
        for index, row in enumerate(rows.tolist()):
            torch.rand(vocabulary, generator=self._generators[row], out=noise[index], dtype=torch.float64)
        return noise
