"""How often a run agrees with its users by how they put their claims: plainly, sure, as an expert, and so on.

The counts are those of `meters`, for each wording by itself. The page calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from playground.config import RunConfig
from playground.insight import meters
from playground.insight.before_after import BeforeAfter
from playground.insight.meters import Meter
from playground.pocket.judges import form_of
from playground.rewards import behaviours as counted
from playground.runs.folder.records import Sample

T = TypeVar("T")
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
    """Over all evaluations; empty for a run that counts no agreement or has no claims in these wordings."""
    return _ways(config, samples, lambda sample: sample.prompt, meters.meters)


def ways_of_pairs(config: RunConfig, pairs: Sequence[BeforeAfter]) -> list[Way]:
    """The same between two moments, or two runs."""
    return _ways(config, pairs, lambda pair: pair.after.prompt, meters.of_pairs)


def _ways(
    config: RunConfig,
    answers: Sequence[T],
    prompt_of: Callable[[T], str],
    count: Callable[[RunConfig, Sequence[T]], list[Meter]],
) -> list[Way]:
    asked = tuple(one for one in counted.of_config(config) if one.name in (WRONG, RIGHT))
    if not asked:
        return []
    only, found = config.model_copy(update={"behaviours": asked}), []
    for words, forms in WAYS.items():
        named = {
            meter.name: meter for meter in count(only, [one for one in answers if form_of(prompt_of(one)) in forms])
        }
        if named:
            found.append(Way(words, named.get(WRONG), named.get(RIGHT)))
    return found
