"""Does the model still have several answers to one prompt? Counted within each prompt, before and after. Pure.

Over all prompts texts differ because the prompts do; a policy that has settled on one answer shows itself only in
several samples of the same prompt. Compare tells it, where `evaluation.samples_per_prompt` is above 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from playground.insight.before_after import BeforeAfter
from playground.pocket.wording import distinct_n


class Variety(NamedTuple):
    """Of `of` answers to one prompt, how many are different texts, and the share of different word pairs in them."""

    different: float
    of: float
    distinct_2: float


Sides = tuple[Variety, Variety]


def by_prompt(pairs: Sequence[BeforeAfter]) -> dict[int, Sides]:
    """Before and after by prompt_id of the later side, for the prompts that were answered more than once."""
    grouped: dict[int, list[BeforeAfter]] = defaultdict(list)
    for pair in pairs:
        grouped[pair.after.prompt_id].append(pair)
    return {
        prompt_id: (
            variety([pair.before.completion for pair in asked]),
            variety([pair.after.completion for pair in asked]),
        )
        for prompt_id, asked in grouped.items()
        if len(asked) > 1
    }


def variety(texts: Sequence[str]) -> Variety:
    """Of the answers to one prompt; white space around a text makes no other text."""
    return Variety(len({text.strip() for text in texts}), len(texts), distinct_n(texts, 2))


def mean(found: Mapping[int, Sides]) -> Sides | None:
    """The mean over prompts; None without any."""
    if not found:
        return None
    before, after = (
        Variety(*(fmean(getattr(sides[side], name) for sides in found.values()) for name in Variety._fields))
        for side in (0, 1)
    )
    return before, after
