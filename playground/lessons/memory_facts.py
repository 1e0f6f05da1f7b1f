"""What the roles of a run hold in memory all the time, by its settings: facts that need no run. `facts` asks for them.

Weights, and of what is trained gradients and Adam's moments too, on a processor; not what an update needs for a moment.
"""

from __future__ import annotations

import functools

from playground.config import RunConfig
from playground.errors import ModelNotFound
from playground.setup import catalog
from playground.setup.estimates import measures
from playground.setup.estimates.memory import Memory

ROLES = {"policy": "policy", "value": "critic", "reference": "reference", "reward": "reward model"}
TOTAL, SAVED = "memory.total", "memory.saved"
LABELS = {
    TOTAL: "memory of all roles",
    SAVED: "memory saved by an 8-bit reward model",
    **{f"memory.{role}": f"memory of the {words}" for role, words in ROLES.items()},
}


@functools.lru_cache(maxsize=64)
def of_settings(config: RunConfig) -> dict[str, tuple[float, str]]:
    """Name -> value and words: the total in MB, of each role its share of that, and the share that would be saved if
    the reward models were held in 8 bits. Empty where a model does not ship: its size may not be known everywhere."""
    if config.model.source not in catalog.MODEL_NAMES:
        return {}
    try:
        sizes = measures(config)
    except ModelNotFound:
        return {}
    eight = [
        scorer._replace(reward=scorer.reward.model_copy(update={"quantization": "int8"})) for scorer in sizes.scorers
    ]
    bytes_now, bytes_smaller = (
        Memory(config, sizes.policy, scorers, 0, "cpu").lasting() for scorers in (sizes.scorers, eight)
    )
    total, saved = bytes_now.total(), bytes_now.total() - bytes_smaller.total()
    of_role = {role: sum(size for (whose, _), size in bytes_now.items() if whose == role) for role in ROLES}
    facts = {f"memory.{role}": (size / total, in_mb(size)) for role, size in of_role.items() if size}
    if saved:
        facts[SAVED] = (saved / total, f"{100 * saved / total:.0f} %")
    return {TOTAL: (total / 1e6, in_mb(total)), **facts}


def in_mb(size: float) -> str:
    """Bytes in words: "31 MB", "0.003 MB"."""
    if size >= 1e7:
        return f"{size / 1e6:.0f} MB"
    if size < 1e6:
        return f"{size / 1e6:.1g} MB"
    return f"{size / 1e6:.1f} MB"
