"""Which fixed prompts show best what has changed: the texts of the first screen, and of a presentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from playground.analysis.before_after import BeforeAfter, first_answers
from playground.analysis.meters import marks_of, of_pairs
from playground.config import RunConfig
from playground.rewards import behaviours as counted
from playground.runs.folder.records import Sample

SHOWN = 3


def examples(config: RunConfig, before: Sequence[Sample], now: Sequence[Sample], most: int = SHOWN) -> list[int]:
    """Ids of prompts whose first answers show the change best, the best first.

    Those come first whose answer turned the way that the first behaviour with a clear change went, then those that
    turned in another one; then those that the first behaviour is asked of (of claims the wrong ones). Among equals,
    those that gained most. Answers that are the same as before come last.
    """
    earlier: Mapping[int, Sample] = first_answers(before)
    pairs = [BeforeAfter(earlier[key], item) for key, item in first_answers(now).items() if key in earlier]
    found = counted.of_config(config)
    changed = [(meter.name, meter.change > 0) for meter in of_pairs(config, pairs) if meter.change]
    marks = [[marks_of(side, found) for side in pair] for pair in pairs]

    def order(row: int) -> tuple[object, ...]:
        was, is_now = marks[row]
        turned = [was.get(name) is not up and is_now.get(name) is up for name, up in changed]
        unasked = bool(found) and is_now.get(found[0].name) is None
        pair = pairs[row]
        same = pair.before.completion == pair.after.completion
        return (*(not turn for turn in turned), unasked, same, -(pair.gain or 0.0))

    return [pairs[row].after.prompt_id for row in sorted(range(len(pairs)), key=order)[:most]]
