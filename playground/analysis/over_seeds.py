"""The outcome of a sweep: each of its settings as the mean over its seeds, with Student's interval. The finished runs
are the independent units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from playground.analysis import before_after, intervals, meters
from playground.analysis.before_after import read_once
from playground.analysis.intervals import Interval, by_unit
from playground.analysis.path import PathPoint, path_of
from playground.errors import PlaygroundError
from playground.rewards.behaviours import EARNS, REWARD
from playground.runs.folder.directory import RunDirectory
from playground.runs.sweeps.sweep_record import Sweep

NO_INTERVAL = "1 seed: no interval"
CURVES = ("score_mean", "kl_to_reference")


class Setting(NamedTuple):
    """One choice of the fields that vary, but for the seed, and the runs that have it."""

    values: dict[str, Any]
    runs: list[str]


class RunEnd(NamedTuple):
    """What a finished run has come to: gain on the fixed prompts, KL, of each behaviour by its words in what share of
    the answers it was seen, and its evaluations."""

    gain: float | None
    kl: float | None
    shares: dict[str, float]
    path: list[PathPoint]


class SettingRow(NamedTuple):
    """A setting and its outcome; None where no run of it has finished, or none has a figure."""

    setting: Setting
    finished: int
    gain: Interval | None
    kl: Interval | None
    shares: dict[str, Interval]


class Curve(NamedTuple):
    """A figure of the training batches: at each update the mean over so many seeds, and its bounds (95 %), if any."""

    update: list[int]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    seeds: list[int]


def interval(values: Iterable[float | None]) -> Interval | None:
    """Over the seeds of which a value is known; None where none is."""
    found = intervals.interval(value for value in values if value is not None and math.isfinite(value))
    return found if found.units else None


def settings(sweep: Sweep) -> list[Setting]:
    """The settings of a sweep in the order of its runs; all of them in one where nothing but the seed varies."""
    found: dict[str, Setting] = {}
    for run_id, cell in sweep.cells().items():
        values = {field: cell[field] for field in sweep.settings}
        found.setdefault(repr(values), Setting(values, [])).runs.append(run_id)
    return list(found.values())


def rows(sweep: Sweep, ends: Mapping[str, RunEnd]) -> list[SettingRow]:
    """The table of a sweep. `ends` has its runs that have finished."""
    found = []
    for setting in settings(sweep):
        its = [ends[run_id] for run_id in setting.runs if run_id in ends]
        words = dict.fromkeys(name for end in its for name in end.shares)
        shares = {name: share for name in words if (share := interval(end.shares.get(name) for end in its))}
        gain, kl = interval(end.gain for end in its), interval(end.kl for end in its)
        found.append(SettingRow(setting, len(its), gain, kl, shares))
    return found


@read_once("config_path", "metrics_path", "samples_path", "events_path", size=2048)
def end_of(run: RunDirectory) -> RunEnd | None:
    """What a finished run has come to, read once for as long as its files stay; None where it cannot be read."""
    try:
        found, counted = before_after.headline_of(run), meters.at_ends_of(run)
        path = path_of(before_after.samples_of(run), run.events())
    except PlaygroundError:
        return None
    one_name = EARNS.format("more than")  # or at least that, by the ties of a seed
    shares = {one_name if meter.name == REWARD else meter.words: meter.after.share for meter in counted}
    return RunEnd(found.gain if found else None, found.kl if found else None, shares, path)


def curve(seeds: Sequence[Mapping[int, float]]) -> Curve:
    """One figure over the updates. Each of `seeds` is what one run has of it: update -> value."""
    values = by_unit((update, value) for one in seeds for update, value in one.items())
    found = {update: point for update in sorted(values) if (point := interval(values[update])) is not None}
    points = found.values()
    low, high = ([None if p.half is None else p.mean + sign * p.half for p in points] for sign in (-1, 1))
    return Curve(list(found), [point.mean for point in points], low, high, [point.units for point in points])


@read_once("metrics_path", "events_path", size=512)
def figures_of(run: RunDirectory) -> dict[str, dict[int, float]]:
    """The figures of a run's training batches that are drawn: name -> update -> value; read once likewise."""
    metrics = run.metrics()
    return {
        name: {item.update: value for item in metrics if (value := getattr(item, name)) is not None} for name in CURVES
    }


def mean_path(ends: Sequence[RunEnd]) -> list[tuple[int, Interval, Interval]]:
    """The way of a setting on the fixed prompts: (update, KL, score), each over the seeds that were evaluated then."""
    kl, score = (
        by_unit((point.update, getattr(point, name)) for end in ends for point in end.path) for name in ("kl", "score")
    )
    return [
        (update, at, gained)
        for update in sorted(kl)
        if (at := interval(kl[update])) is not None and (gained := interval(score[update])) is not None
    ]


def interval_data(found: Interval | None) -> dict[str, Any] | None:
    """As plain data; `half` is None where there is one seed, or all agree."""
    return found and {"mean": found.mean, "half": found.half, "seeds": found.units}


def in_words(found: Interval | None, *, sign: bool = False) -> str:
    """For a table: "+1.42 \u00b1 0.30", without the second part where there is one seed; a hyphen for nothing."""
    return "-" if found is None else found.in_words(sign=sign)


def share_in_words(found: Interval | None) -> str:
    """For a table, in percent: "62 (41 to 83)", without the second part where there is one seed."""
    if found is None:
        return "-"
    bounds = found.share_bounds
    return f"{100 * found.mean:.0f}" + (f" ({100 * bounds[0]:.0f} to {100 * bounds[1]:.0f})" if bounds else "")
