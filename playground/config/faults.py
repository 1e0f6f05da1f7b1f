"""The mistakes that can be planted on purpose (`faults`, only with `experiments: true`), and the one that is drawn.

What acts on them asks `RunConfig.planted`; what says something of a run says its `faults`, so that of a drawn one
nothing is said anywhere. `training/loop/faulty_trainer.py` makes them; `analysis/diagnosis/` has the check that each
must light.
"""

from __future__ import annotations

import hashlib
from typing import Literal

Fault = Literal[
    "aliased-reference",
    "headless-critic",
    "prompt-in-kl",
    "temperature-mismatch",
    "reward-sign",
    "reward-format",
    "score-on-every-token",
    "no-clip",
    "chapter-controller",
]  # mistakes that implementations of PPO have made
Drawn = Literal["drawn"]

FAULTS: dict[Fault, str] = {
    "aliased-reference": "The reference is the policy itself, so it is trained with it and the KL reads 0.",
    "headless-critic": "The value head is not in the optimizer, so it predicts 0 forever.",
    "prompt-in-kl": "The KL penalty also counts how the probability of the prompt's own tokens has changed.",
    "temperature-mismatch": "Texts are sampled at temperature 0.7, but their log-probabilities are taken at 1.",
    "reward-sign": "The score enters the advantages with the wrong sign.",
    "reward-format": "Reward models read the texts in another model's chat template.",
    "score-on-every-token": "The score is paid at every token instead of the last one.",
    "no-clip": "Ratios are not clipped, with 16 epochs per batch and ten times the learning rate.",
    "chapter-controller": "The leash that sets itself has no limit on its steps, and they grow with all texts written so far.",
}
DRAWN: Drawn = "drawn"
HIDDEN = "One mistake is planted; which one is for you to find (Lessons, mystery runs)."


def missing(fault: Fault, baseline: str, reward_kinds: set[str], controller: str) -> str:
    """What a fault needs that the settings do not have, in words; empty where it can be planted."""
    needs = {
        "headless-critic": (baseline == "value", "ppo.baseline value"),
        "reward-format": ("model" in reward_kinds, "a reward of kind `model`"),
        "chapter-controller": (controller == "ziegler", "kl.controller ziegler"),
    }
    is_there, what = needs.get(fault, (True, ""))
    return "" if is_there else what


def drawn(seed: int, possible: list[Fault]) -> Fault:
    """The fault of a mystery run: that to which the seed gives the highest number. So what else is possible changes a
    draw no more than it must."""
    return max(possible, key=lambda fault: hashlib.sha256(f"mystery {seed} {fault}".encode()).digest())
