"""What a run of a preset is held against (`setup.expected.Band`), from runs on several seeds. Knows figures only."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config.behaviour_settings import BANDED
from playground.rewards.agreement import t95, wilson

DIGIT = 0.001  # the last one of a figure
POOLED = 4  # of three seeds, the band from two held the third in 94 % of 396 cases
MEDIAN_OF_TWO = 0.6931  # of a chi square with two degrees of freedom, over its mean: three seeds
TITLE = "  # low, high, seeds and, of a behaviour, the untrained model's lowest and highest; `make results` writes them"
Bands = dict[str, dict[str, list[float]]]


class Ends(NamedTuple):
    """One figure of a preset on each seed, before and after. `error` is the standard error of measuring one of
    `after`, on the scale of `spread_out`; `least` what it cannot be below; `prompts` the fewest that a share was
    counted on, None of other figures."""

    after: list[float]
    before: list[float]
    error: float
    least: float = -math.inf
    prompts: int | None = None

    @property
    def is_share(self) -> bool:
        return self.prompts is not None

    @property
    def spread_out(self) -> list[float]:
        """The figures on a scale on which their error does not depend on them: of a share the arcsine of its root."""
        if self.is_share:
            return [math.asin(value**0.5) for value in self.after]
        return self.after

    @property
    def size(self) -> float:
        """What a spread grows with: scores and KL vary by a part of themselves, shares on their scale do not."""
        if self.is_share:
            return 1.0
        return abs(statistics.fmean(self.after))


def bands(rows: Sequence[dict[str, Any]], unusual: Sequence[str] = ()) -> Bands:
    """Of each preset the band of each behaviour, of the gain in score and of the KL. `unusual`: presets from which
    nothing is taken for the others, such as those with mistakes on purpose."""
    by_preset: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_preset.setdefault(row["preset"], []).append(row)
    result: Bands = {preset: {} for preset in by_preset}
    for name in (*BANDED, "kl", "score"):
        every = {preset: ends_of(name, seeds) for preset, seeds in by_preset.items()}
        measured = {preset: ends for preset, ends in every.items() if ends}
        several = [ends for preset, ends in measured.items() if len(ends.after) > 1 and preset not in unusual]
        usual = usual_spread(several)
        for preset, ends in measured.items():
            band = [*limits(ends, usual), len(ends.after)]
            if ends.is_share:
                band += [min(ends.before), max(ends.before)]
            result[preset][name] = band
    return result


def ends_of(name: str, rows: Sequence[dict[str, Any]]) -> Ends | None:
    """None where it was not measured on every seed."""
    before, after = ([row[side].get(name) for row in rows] for side in ("before", "after"))
    if None in after:
        return None
    if name in BANDED:
        prompts = min(row["asked"][name] for row in rows)
        return Ends(after, before, 0.5 / prompts**0.5, 0.0, prompts)
    error = max(DIGIT, *(row["errors"][name] for row in rows))
    if name == "kl":
        return Ends(after, before, error, 0.0)
    gains = [round(late - early, 3) for early, late in zip(before, after, strict=True)]
    return Ends(gains, before, error)


def usual_spread(measured: Sequence[Ends]) -> float:
    """The variance between seeds that presets usually have beyond the error of measuring, in parts of `size`: from
    their median, which a preset that is all over the place does not move."""
    beyond = []
    for ends in measured:
        if ends.size > ends.error:  # of nothing there is no part
            variance = statistics.variance(ends.spread_out) - ends.error**2
            beyond.append(variance / ends.size**2)
    if not beyond:
        return 0.0
    return max(0.0, statistics.median(beyond)) / MEDIAN_OF_TWO


def limits(ends: Ends, usual: float) -> tuple[float, float]:
    """In which 19 of 20 further seeds should come to lie, measured as these were: mean +- t sd sqrt(1 + 1/n). Three
    seeds hardly know their spread, so their variance is averaged with what presets usually have, which counts as
    `POOLED` degrees of freedom more (moderated as by Smyth, 2004). No share outside of 0 to 1, no KL below 0."""
    values, count = ends.spread_out, len(ends.after)
    own = statistics.variance(values) if count > 1 else 0.0
    prior = ends.error**2 + usual * ends.size**2
    variance = (POOLED * prior + (count - 1) * own) / (POOLED + count - 1)
    variance = max(variance, ends.error**2)
    half = t95(POOLED + count) * (variance * (1 + 1 / count)) ** 0.5
    mean = statistics.fmean(values)
    low, high = mean - half, mean + half
    if ends.prompts is None:
        return round(max(low, ends.least), 3), round(high, 3)
    low, high = (math.sin(min(max(angle, 0.0), math.pi / 2)) ** 2 for angle in (low, high))
    lowest, _ = wilson(min(ends.after), ends.prompts)
    _, highest = wilson(max(ends.after), ends.prompts)
    return round(min(low, lowest), 3), round(max(high, highest), 3)


def write_bands(path: Path, preset_bands: Mapping[str, Sequence[float]], title: str = TITLE) -> None:
    """New bands into the file of a preset, as the last part of its story, where older ones are."""
    above, mark, old = path.read_text(encoding="utf-8").partition("  bands:")
    if mark:
        title = old.partition("\n")[0]
    lines = [f"    {name}: {list(band)}" for name, band in preset_bands.items()]
    path.write_text("\n".join([f"{above.rstrip()}\n  bands:{title}", *lines]) + "\n", encoding="utf-8")
