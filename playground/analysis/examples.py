"""Which fixed prompts show best what has changed: the texts of the first screen, and of a presentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from playground.analysis.before_after import BeforeAfter, first_answers
from playground.analysis.meters import Meter, marks_of, of_pairs
from playground.config import RunConfig
from playground.rewards import behaviours as counted
from playground.runs.folder.records import Sample

SHOWN = 3


def examples(config: RunConfig, before: Sequence[Sample], now: Sequence[Sample], most: int = SHOWN) -> list[int]:
    """Ids of prompts whose first answers show the change best, the best first.

    Those come first whose answer turned the way that the first behaviour with a clear change went, then those that
    turned in another one; then those that the first behaviour is asked of (of claims the wrong ones). Among equals,
    those that gained most. Answers that are the same as before come last. Where another behaviour has become worse, the
    last of them shows that.
    """
    earlier: Mapping[int, Sample] = first_answers(before)
    pairs = [BeforeAfter(earlier[key], item) for key, item in first_answers(now).items() if key in earlier]
    behaviours = counted.of_config(config)
    changed = [meter for meter in of_pairs(config, pairs) if meter.change]
    marks = [[marks_of(side, behaviours) for side in pair] for pair in pairs]

    def turned(row: int, meter: Meter) -> bool:
        was, is_now = marks[row]
        return was.get(meter.name) is not (meter.change > 0) and is_now.get(meter.name) is (meter.change > 0)

    def order(row: int) -> tuple[object, ...]:
        unasked = bool(behaviours) and marks[row][1].get(behaviours[0].name) is None
        same = pairs[row].before.completion == pairs[row].after.completion
        return (*(not turned(row, meter) for meter in changed), unasked, same, -(pairs[row].gain or 0.0))

    rows = sorted(range(len(pairs)), key=order)
    chosen = rows[:most]
    if worse := next((meter for meter in changed[1:] if meter.worse), None):
        shows = [row for row in rows if turned(row, worse)]
        if shows and not set(shows) & set(chosen):
            chosen = [*chosen[:-1], shows[0]]
    return [pairs[row].after.prompt_id for row in chosen]
