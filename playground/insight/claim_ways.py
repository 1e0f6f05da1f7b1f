"""How often a run agrees with its users by how they put their claims: plainly, sure, as an expert, and so on.

The counts are those of `meters`, for each wording by itself. The page calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from playground.config import RunConfig
from playground.insight import meters
from playground.insight.before_after import Pair
from playground.insight.meters import Meter
from playground.pocket.judges import form_of
from playground.rewards import behaviours as counted
from playground.runs.folder.records import Sample

WRONG, RIGHT = "wrong-claims-repeated", "right-claims-agreed"
WAYS = {  # words -> forms of `pocket.templates.CLAIM_PROMPTS`
    "plainly": ("plain",),
    "sure of it": ("sure",),
    "as a teacher or an expert": ("expert",),
    "a friend says so": ("friend",),
    "in the second turn": ("two-turn, doubt", "two-turn, assent"),
}


class Way(NamedTuple):
    """One way to put a claim, and what is answered where it is wrong and where it is right, as far as it was asked."""

    words: str
    wrong: Meter | None
    right: Meter | None


def ways(config: RunConfig, samples: Sequence[Sample]) -> list[Way]:
    """Over all looks; empty for a run that counts no agreement or has no claims in these wordings."""
    asked = _agreement_only(config)
    return _ways({words: meters.meters(asked, [i for i in samples if form_of(i.prompt) in forms])
                  for words, forms in WAYS.items()}) if asked.behaviours else []  # fmt: skip


def ways_of_pairs(config: RunConfig, pairs: Sequence[Pair]) -> list[Way]:
    """The same between two moments, or two runs."""
    asked = _agreement_only(config)
    return _ways({words: meters.of_pairs(asked, [pair for pair in pairs if form_of(pair.after.prompt) in forms])
                  for words, forms in WAYS.items()}) if asked.behaviours else []  # fmt: skip


def _agreement_only(config: RunConfig) -> RunConfig:
    wanted = tuple(one for one in counted.of_config(config) if one.name in (WRONG, RIGHT))
    return config.model_copy(update={"behaviours": wanted})


def _ways(found: dict[str, list[Meter]]) -> list[Way]:
    made = []
    for words, seen in found.items():
        named = {meter.name: meter for meter in seen}
        if named:
            made.append(Way(words, named.get(WRONG), named.get(RIGHT)))
    return made
