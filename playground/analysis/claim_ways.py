"""How often a run agrees with its users by how they put their claims: plainly, sure, as an expert, and so on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from playground.analysis import meters
from playground.analysis.before_after import BeforeAfter
from playground.analysis.meters import Meter
from playground.config import RunConfig
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


def ways(config: RunConfig, answers: Sequence[Sample] | Sequence[BeforeAfter]) -> list[Way]:
    """Over all evaluations, or between two moments or two runs; empty for a run that counts no agreement or has no
    claims in these wordings."""
    asked = tuple(one for one in counted.of_config(config) if one.name in (WRONG, RIGHT))
    if not asked:
        return []
    only, found = config.model_copy(update={"behaviours": asked}), []
    for words, forms in WAYS.items():
        pairs = [one for one in answers if isinstance(one, BeforeAfter) and form_of(one.after.prompt) in forms]
        samples = [one for one in answers if isinstance(one, Sample) and form_of(one.prompt) in forms]
        named = {meter.name: meter for meter in meters.of_pairs(only, pairs) or meters.meters(only, samples)}
        if named:
            found.append(Way(words, named.get(WRONG), named.get(RIGHT)))
    return found
