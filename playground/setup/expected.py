"""What a run of a preset should come to: bands by behaviour, score and KL, from runs on several seeds; and where the
settings of a suggested model are from.

`make results` writes the bands into the presets' files, from prompts that the runs never saw.
"""

from __future__ import annotations

from typing import NamedTuple

from playground.config.behaviour_settings import BANDED
from playground.setup import catalog

MOST_LISTED = 3  # behaviours in a line
LEAST_MOVED = 0.02  # of a share, to be listed


class Band(NamedTuple):
    """Where 19 in 20 runs of further seeds should end, by what some seeds came to: a share from 0 to 1; of "score" sd,
    of "kl" nats per completion. `before_`: the lowest and highest of the untrained model; None of score and KL."""

    low: float
    high: float
    seeds: int
    before_low: float | None = None
    before_high: float | None = None

    @property
    def moved(self) -> float:
        """By how much training changes a behaviour at least: the gap between the two ranges; 0 where they meet."""
        if self.before_low is None or self.before_high is None:
            return 0.0
        return max(self.low - self.before_high, self.before_low - self.high, 0.0)


def bands(preset: str) -> dict[str, Band]:
    """By the name of a behaviour, "score" (the gain) and "kl"; empty for a preset that was not measured."""
    story = catalog.stories().get(preset)
    return {name: Band(*band) for name, band in story.bands.items()} if story else {}  # type: ignore[arg-type]


def band_in_words(name: str, band: Band, unit: str = "sd") -> str:
    """A band for reading: "88 to 91 %", "+3.7 to +4.2 sd", "8.4 to 9.0 nats"."""
    if name in BANDED:
        return _range(f"{100 * band.low:.0f}", f"{100 * band.high:.0f}", "%")
    sign = "+" if name == "score" else ""
    largest = max(abs(band.low), abs(band.high))
    low, high = (f"{end:{sign}z.{decimals(largest)}f}" for end in (band.low, band.high))
    return _range(low, high, unit if name == "score" else "nats")


def decimals(size: float) -> int:
    """How many a score or a KL of this size is given with."""
    if size >= 100:
        return 0
    if size >= 1:
        return 1
    return 2


def line(preset: str) -> str:
    """What is expected of a preset: the behaviours that its training changes, most first (if it changes none, the one
    that is asked first), its score and its KL; empty where nothing was."""
    if not (measured := bands(preset)):
        return ""
    counted = [name for name in measured if name in BANDED]
    changed = [name for name in counted if measured[name].moved >= LEAST_MOVED]
    changed.sort(key=lambda name: -measured[name].moved)
    parts = []
    for name in changed[:MOST_LISTED] or counted[:1]:
        band = measured[name]
        before = band_in_words(name, Band(band.before_low or 0.0, band.before_high or 0.0, band.seeds))
        parts.append(f"{BANDED[name].words} {band_in_words(name, band)} (untrained: {before})")
    unit = catalog.preset(preset).score_unit
    figures = (("score", "score"), ("kl", "distance"))
    parts += [f"{words} {band_in_words(name, measured[name], unit)}" for name, words in figures if name in measured]
    return f"Expected from {min(band.seeds for band in measured.values())} seeds: {', '.join(parts)}."


def settings_line(preset: str) -> str:
    """Where the settings of a suggested model are from: measured on it, or derived; empty for any other preset."""
    story = catalog.stories().get(preset)
    if story is None or not story.measured_by:
        return ""
    experiment = catalog.preset(story.measured_by).about.title
    if not story.derived:
        return f"Measured on this model, in its copy from PyPI, by the experiment \u201c{experiment}\u201d."
    measured = f"the experiment \u201c{experiment}\u201d on SmolLM2 135M"
    return f"Derived from the settings measured by {measured}; not tried on this model. {story.derived}"


def _range(low: str, high: str, unit: str) -> str:
    if low == high:
        return f"{low} {unit}"
    return f"{low} to {high} {unit}"
