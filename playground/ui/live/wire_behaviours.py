"""What the page draws of behaviours: their meters, claims by how they are put, and where the reward disagrees. Pure.

Knows the records, the configuration and `insight`; nothing of files, HTTP or gradio. `run_feed` and `wire_compare` call
it, static/train/meters.js and static/runs/compare.js draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playground.config import RunConfig
from playground.insight import before_after, claim_ways, meters
from playground.insight.meters import Meter
from playground.rewards import behaviours as counted
from playground.runs.folder.records import Sample
from playground.setup import telling
from playground.setup.expected import Band, bands
from playground.ui.live.figures import rounded


def named(config: RunConfig) -> list[dict[str, str]]:
    """What a run counts, also before it has counted anything."""
    return [{"name": one.name, "words": one.words} for one in counted.of_config(config)]


def measured(samples: Sequence[Sample], config: RunConfig, now: RunConfig) -> dict[str, Any] | None:
    """All looks of a run; None where nothing is counted.

    Args:
        now: with what was changed in mid-run: whether it is still its preset, whose bands may be expected.
    """
    found = meters.meters(config, samples)
    zones, held = bands(telling.told(now).preset), meters.bands_of(config, samples, edited=now != config)
    return _data(
        [meter_data(meter, zones.get(meter.name), held.get(meter.name)) for meter in found],
        claim_ways.ways(config, samples),
        meters.paid(config, before_after.pairs(samples)),
    )


def of_pairs(config: RunConfig, pairs: Sequence[before_after.Pair], *, against_itself: bool) -> dict[str, Any] | None:
    """The same between two moments, or two runs, of which neither can be told what its reward has paid for."""
    found = meters.of_pairs(config, pairs)
    paid = meters.paid(config, pairs) if against_itself else []
    return _data([meter_data(meter) for meter in found], claim_ways.ways_of_pairs(config, pairs), paid)


def shown_by(config: RunConfig, sample: Sample) -> dict[str, bool]:
    """Yes or no of each behaviour that one completion was asked for."""
    found = counted.of_config(config)
    marks = meters.marks_of(sample, found)
    return {one.name: mark for one in found if (mark := marks.get(one.name)) is not None}


def meter_data(meter: Meter, zone: Band | None = None, held: Band | None = None) -> dict[str, Any]:
    """One meter; `zone` is the band to draw, `held` the one that it is told to be in or not."""
    return {
        **meter._asdict(),
        "counts": [
            {"yes": count.yes, "of": count.of, "low": rounded(count.low), "high": rounded(count.high)}
            for count in meter.counts
        ],
        "band": [zone.low, zone.high] if zone else None,
        "compared": meters.compared(meter.after, held) if held else "",
    }


def _data(
    found: list[dict[str, Any]], ways: Sequence[claim_ways.Way], paid: Sequence[meters.Paid]
) -> dict[str, Any] | None:
    if not found:
        return None
    return {
        "meters": found,
        "ways": [
            {
                "words": way.words,
                "wrong": meter_data(way.wrong) if way.wrong else None,
                "right": meter_data(way.right) if way.right else None,
            }
            for way in ways
        ],
        "paid": [{"name": one.name, "sentence": one.sentence, "pair": _pair(one.pair)} for one in paid],
    }


def _pair(pair: before_after.Pair | None) -> dict[str, Any] | None:
    if pair is None:
        return None
    before, after = pair
    return {
        "prompt": after.prompt,
        "before": {"text": before.completion, "score": rounded(before.score)},
        "after": {"text": after.completion, "score": rounded(after.score)},
    }
