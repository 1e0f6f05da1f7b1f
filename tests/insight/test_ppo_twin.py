"""The numpy twin of `playground.ppo`: every function is held equal to the one that trains, on random ragged batches."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

from playground.insight.slow_motion import ppo_twin
from playground.ppo import advantages, losses, masked

TOLERANCE = 1e-6
ORIGINALS = {
    name: getattr(module, name)
    for name, function in inspect.getmembers(ppo_twin, inspect.isfunction)
    if function.__module__ == ppo_twin.__name__
    for module in (advantages, losses, masked)
    if hasattr(module, name)
}


class Case:
    """A random batch: 8 episodes of 1 to 9 tokens."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        lengths = self.random.integers(1, 10, size=8)
        self.mask = np.arange(9) < lengths[:, None]
        self.arguments = {
            "token_kl": self.matrix(), "rewards": self.matrix(), "values": self.matrix(), "old_values": self.matrix(),
            "advantages": self.matrix(), "log_ratio": 0.4 * self.matrix(), "mask": self.mask,
            "scores": self.random.normal(size=8), "kl_coef": 0.3, "gamma": 0.93, "gae_lambda": 0.8, "clip_range": 0.2,
            "group_size": 4,
        }  # fmt: skip

    def matrix(self):
        return np.where(self.mask, self.random.normal(size=self.mask.shape), 0.0)

    def given(self, name: str) -> dict:
        wanted = {**self.arguments, "returns": self.random.normal(size=8) if "group" in name else self.matrix()}
        return {key: wanted[key] for key in inspect.signature(getattr(ppo_twin, name)).parameters if key in wanted}


def both(name: str, given: dict, **options: object):
    """What the two make of the same arguments, as lists of arrays."""
    ours = getattr(ppo_twin, name)(**given, **options)
    tensors = {key: torch.from_numpy(value) if isinstance(value, np.ndarray) else value for key, value in given.items()}
    theirs = ORIGINALS[name](**tensors, **options)
    return [[np.asarray(part) for part in (it if isinstance(it, tuple) else (it,))] for it in (ours, theirs)]


def test_every_function_of_the_twin_has_an_original_with_the_same_arguments():
    defined = {name for name, function in inspect.getmembers(ppo_twin, inspect.isfunction)
               if function.__module__ == ppo_twin.__name__}  # fmt: skip
    assert defined == set(ORIGINALS) and len(defined) == 9
    for name in defined:
        ours = [*inspect.signature(getattr(ppo_twin, name)).parameters]
        theirs = [*inspect.signature(ORIGINALS[name]).parameters]
        assert ours == [key for key in theirs if key in ours], name


@pytest.mark.parametrize("name", sorted(ORIGINALS))
def test_the_twin_computes_what_training_computes(name):
    for seed in range(20):
        ours, theirs = both(name, Case(seed).given(name))
        for mine, their in zip(ours, theirs, strict=True):
            assert mine.shape == their.shape and np.abs(mine.astype(float) - their.astype(float)).max() < TOLERANCE
            assert np.abs(mine.astype(float)).max() > 0  # else nothing was compared


def test_the_twin_also_standardises_and_clips_values_alike():
    for seed in range(5):
        case = Case(seed)
        (ours,), (theirs,) = both("group_advantages", case.given("group_advantages"), standardise=True)
        assert np.abs(ours - theirs).max() < TOLERANCE
        free = {**case.given("value_loss"), "clip_range": None}
        (ours,), (theirs,) = both("value_loss", free)
        assert np.abs(ours - theirs).max() < TOLERANCE
        assert np.abs(ours - both("value_loss", case.given("value_loss"))[0][0]).max() > 0.01
    equal = {"returns": np.array([1.0, 1.0, 3.0, 5.0]), "group_size": 2}
    assert both("group_advantages", equal, standardise=True)[0][0].tolist() == [0.0, 0.0, -1.0, 1.0]
