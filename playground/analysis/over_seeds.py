"""The outcome of a sweep: each of its settings as the mean over its seeds, with Student's interval. The finished runs
are the independent units."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from playground.analysis import intervals
from playground.analysis.before_after import Headline, read_once
from playground.analysis.intervals import Interval, by_unit
from playground.analysis.judging import Judged
from playground.analysis.path import PathPoint
from playground.analysis.run_report import RunReport
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
    """What a finished run has come to: gain and KL, of each behaviour by its words in what share of the answers it was
    seen, its evaluations, and what its monitors say of them."""

    headline: Headline | None
    shares: Mapping[str, float] = {}
    path: Sequence[PathPoint] = ()
    judged: Judged | None = None

    @property
    def gain(self) -> float | None:
        if self.headline:
            return self.headline.gain
        return None

    @property
    def kl(self) -> float | None:
        if self.headline:
            return self.headline.kl
        return None

    @property
    def monitors(self) -> dict[str, float]:
        """The change of each monitor since before training, in its own units."""
        if not self.judged:
            return {}
        return {line.name: change.mean for line in self.judged.judges if (change := line.changes[-1])}


class SettingRow(NamedTuple):
    """A setting and its outcome; None where no run of it has finished, or none has a figure. `monitors`: by how much
    each has changed since before training."""

    setting: Setting
    finished: int
    gain: Interval | None
    kl: Interval | None
    shares: dict[str, Interval]
    monitors: dict[str, Interval]


class Curve(NamedTuple):
    """A figure of the training batches: at each update the mean over so many seeds, and its bounds (95 %), if any."""

    update: list[int]
    mean: list[float]
    low: list[float | None]
    high: list[float | None]
    seeds: list[int]


def interval(values: Iterable[float | None]) -> Interval | None:
    """Over the seeds of which a value is known; None where none is."""
    mean = intervals.interval(value for value in values if value is not None and math.isfinite(value))
    if mean.units:
        return mean
    return None


def settings(sweep: Sweep) -> list[Setting]:
    """The settings of a sweep in the order of its runs; all of them in one where nothing but the seed varies."""
    return alike(sweep.cells(), sweep.settings)


def alike(cells: Mapping[str, Mapping[str, Any]], fields: Iterable[str]) -> list[Setting]:
    """Runs, by id, with the same values of these fields are one setting."""
    settings_by_values: dict[str, Setting] = {}
    for run_id, cell in cells.items():
        values = {field: cell.get(field) for field in fields}
        settings_by_values.setdefault(repr(values), Setting(values, [])).runs.append(run_id)
    return list(settings_by_values.values())


def rows(sweep: Sweep, ends: Mapping[str, RunEnd]) -> list[SettingRow]:
    """The table of a sweep. `ends` has its runs that have finished."""
    table = []
    for setting in settings(sweep):
        its = [ends[run_id] for run_id in setting.runs if run_id in ends]
        shares, monitors = by_name(end.shares for end in its), by_name(end.monitors for end in its)
        gain, kl = interval(end.gain for end in its), interval(end.kl for end in its)
        table.append(SettingRow(setting, len(its), gain, kl, shares, monitors))
    return table


def by_name(seeds: Iterable[Mapping[str, float]]) -> dict[str, Interval]:
    """What several seeds have by the same names, over those seeds."""
    values: dict[str, list[float]] = defaultdict(list)
    for name, value in (item for seed in seeds for item in seed.items()):
        values[name].append(value)
    return {name: mean for name, numbers in values.items() if (mean := interval(numbers))}


@read_once("config_path", "metrics_path", "samples_path", "events_path", size=2048)
def end_of(run: RunDirectory) -> RunEnd | None:
    """What a finished run has come to, read once for as long as its files stay; None where it cannot be read."""
    try:
        report = RunReport.of(run)
    except PlaygroundError:
        return None
    one_name = EARNS.format("more than")  # or at least that, by the ties of a seed
    counted = report.behaviours_at_ends
    shares = {one_name if meter.name == REWARD else meter.words: meter.after.share for meter in counted}
    return RunEnd(report.headline, shares, report.path, report.judged_in_points)


def curve(seeds: Sequence[Mapping[int, float]]) -> Curve:
    """One figure over the updates. Each of `seeds` is what one run has of it: update -> value."""
    values = by_unit((update, value) for seed in seeds for update, value in seed.items())
    means = {update: interval(values[update]) for update in sorted(values)}
    points = {update: mean for update, mean in means.items() if mean is not None}
    return Curve(
        list(points),
        [point.mean for point in points.values()],
        [point.bounds[0] for point in points.values()],
        [point.bounds[1] for point in points.values()],
        [point.units for point in points.values()],
    )


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


def in_words(figure: Interval | None, *, sign: bool = False) -> str:
    """For a table: "+1.42 \u00b1 0.30", without the second part where there is one seed; a hyphen for nothing."""
    if figure is None:
        return "-"
    return figure.in_words(sign=sign)


def share_in_words(share: Interval | None) -> str:
    """For a table, in percent: "62 (41 to 83)", without the second part where there is one seed."""
    if share is None:
        return "-"
    words = f"{100 * share.mean:.0f}"
    if bounds := share.share_bounds:
        words += f" ({100 * bounds[0]:.0f} to {100 * bounds[1]:.0f})"
    return words
