"""What a sweep has come to: each of its settings as the mean over its seeds, with how sure one can be of that.

The runs are the independent units here, one for each seed; an interval is Student's, and needs two of them. Only runs
that have finished count: one that failed or was stopped has its outcome at another update. The command line and the
Runs page call it.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import PlaygroundError
from playground.insight import before_after, meters
from playground.insight.frontier import against_kl
from playground.runs.folder.directory import RunDirectory
from playground.sweeps.sweep_record import Sweep

NO_INTERVAL = "1 seed: no interval"
CURVES = ("score_mean", "kl_to_reference")


class Interval(NamedTuple):
    """A mean over seeds, and half of its 95 % interval; None with one seed, and where all agree to the last digit: that
    they do so by chance is likelier than that nothing is unsure."""

    mean: float
    half: float | None
    seeds: int

    @property
    def share_bounds(self) -> tuple[float, float] | None:
        """The interval of a share, as far as a share can go: from 0 to 1 at most; None where there is none."""
        return None if not self.half else (max(0.0, self.mean - self.half), min(1.0, self.mean + self.half))


class Setting(NamedTuple):
    """One choice of the fields that vary, but for the seed, and the runs that have it."""

    values: dict[str, Any]
    runs: list[str]


class End(NamedTuple):
    """What a finished run has come to: gain on the fixed prompts in the score's unit, KL in nats per completion, and of
    each behaviour by its words in what share of the answers it was seen. The looks are its way there."""

    gain: float | None
    kl: float | None
    shares: dict[str, float]
    looks: list[against_kl.Look]


class Row(NamedTuple):
    """A setting and its outcome; None where no run of it has finished, or none has told."""

    setting: Setting
    finished: int
    gain: Interval | None
    kl: Interval | None
    shares: dict[str, Interval]


class Curve(NamedTuple):
    """A figure of the training batches: at each update the mean over the seeds that have made it, and how many these
    are; the bounds of the mean (95 %) are None where it is one."""

    update: list[int]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    seeds: list[int]


def interval(values: Iterable[float | None]) -> Interval | None:
    """The mean of what is known, and half its 95 % interval (Student's t) where there is one; None where nothing is."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return None
    mean, half = before_after.mean_and_half(known)
    return Interval(mean, None if math.isnan(half) else half, len(known))


def settings(sweep: Sweep) -> list[Setting]:
    """The settings of a sweep in the order of its runs; all of them in one where nothing but the seed varies."""
    found: list[Setting] = []
    for run_id, cell in sweep.cells().items():
        values = {field: cell[field] for field in sweep.settings}
        known = next((setting for setting in found if setting.values == values), None)
        if known is None:
            found.append(Setting(values, [run_id]))
        else:
            known.runs.append(run_id)
    return found


def rows(sweep: Sweep, ends: Mapping[str, End]) -> list[Row]:
    """The table of a sweep. `ends` has its runs that have finished."""
    return [_row(setting, [ends[run_id] for run_id in setting.runs if run_id in ends]) for setting in settings(sweep)]


def _row(setting: Setting, ends: Sequence[End]) -> Row:
    words = dict.fromkeys(name for end in ends for name in end.shares)
    shares = {name: interval(end.shares.get(name) for end in ends) for name in words}
    return Row(
        setting, len(ends), interval(end.gain for end in ends), interval(end.kl for end in ends),
        {name: found for name, found in shares.items() if found is not None},
    )  # fmt: skip


def end_of(run: RunDirectory) -> End | None:
    """What a finished run has come to, read once for as long as its files stay; None where it cannot be read."""
    files = (run.config_path, run.metrics_path, run.samples_path, run.events_path)
    return _end(run.path, *(before_after.stamp(path) for path in files))


@functools.lru_cache(maxsize=2048)
def _end(path: Path, *stamps: tuple[int, int]) -> End | None:
    run = RunDirectory(path)
    try:
        found, counted = before_after.headline_of(run), meters.at_ends_of(run)
        looks = against_kl.looks(before_after.samples_of(run), run.events())
    except PlaygroundError:
        return None
    shares = {meter.words: meter.after.share for meter in counted}
    return End(found.gain if found else None, found.kl if found else None, shares, looks)


def curve(seeds: Sequence[Mapping[int, float]]) -> Curve:
    """One figure over the updates. Each of `seeds` is what one run has of it: update -> value."""
    values: dict[int, list[float]] = defaultdict(list)
    for one in seeds:
        for update, value in one.items():
            values[update].append(value)
    found = {update: interval(values[update]) for update in sorted(values)}
    points = [(update, point, point.half) for update, point in found.items() if point is not None]
    return Curve(
        [update for update, _, _ in points],
        [point.mean for _, point, _ in points],
        [None if half is None else point.mean - half for _, point, half in points],
        [None if half is None else point.mean + half for _, point, half in points],
        [point.seeds for _, point, _ in points],
    )


def figures_of(run: RunDirectory) -> dict[str, dict[int, float]]:
    """The figures of a run's training batches that are drawn: name -> update -> value; read once likewise."""
    return _figures(run.path, before_after.stamp(run.metrics_path), before_after.stamp(run.events_path))


@functools.lru_cache(maxsize=512)
def _figures(path: Path, *stamps: tuple[int, int]) -> dict[str, dict[int, float]]:
    metrics = RunDirectory(path).metrics()
    return {
        name: {item.update: value for item in metrics if (value := getattr(item, name)) is not None} for name in CURVES
    }


def mean_looks(ends: Sequence[End]) -> list[tuple[int, Interval, Interval]]:
    """The way of a setting on the fixed prompts: (update, KL, score), each over the seeds that looked then."""
    by_update: dict[int, list[against_kl.Look]] = defaultdict(list)
    for end in ends:
        for look in end.looks:
            by_update[look.update].append(look)
    found = []
    for update, looks in sorted(by_update.items()):
        kl, score = interval(look.kl for look in looks), interval(look.score for look in looks)
        if kl is not None and score is not None:
            found.append((update, kl, score))
    return found


def in_words(found: Interval | None, *, sign: bool = False) -> str:
    """For a table: "+1.42 \u00b1 0.30", without the second part where there is one seed; a hyphen for nothing."""
    if found is None:
        return "-"
    digits = before_after.decimals(found.half or 0.0)
    mean = f"{found.mean:{'+' if sign else ''}z.{digits}f}"
    return mean if found.half is None else f"{mean} \u00b1 {found.half:.{digits}f}"


def share_in_words(found: Interval | None) -> str:
    """For a table, in percent: "62 (41 to 83)", without the second part where there is one seed."""
    if found is None:
        return "-"
    bounds = found.share_bounds
    return f"{100 * found.mean:.0f}" + (f" ({100 * bounds[0]:.0f} to {100 * bounds[1]:.0f})" if bounds else "")
