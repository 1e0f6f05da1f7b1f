"""Runs as they go into a paper: a table of them, their curves in long form, and charts as SVG and PDF.

A sweep, or some runs; those that differ in nothing but the seed are one line, a mean with its 95 % interval. Names and
units are those of docs/definitions.md, and each chart says with which command it is made again.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import shlex
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from playground import exports
from playground.analysis import frames, over_seeds
from playground.analysis.over_seeds import Curve, Setting
from playground.analysis.run_figures import FIGURES, FigureValue
from playground.analysis.run_report import RunReport
from playground.config import RunConfig, differences, flatten
from playground.exports import csv_tables
from playground.exports.curves import DASHES, DRAWING, SINGLE
from playground.exports.rendering import FOLDER, UNSEEN, short
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation, Sample, UpdateMetrics
from playground.runs.sweeps import sweep_record
from playground.runs.sweeps.sweep_record import SEED, Sweep
from playground.setup import checks, describe

if TYPE_CHECKING:
    import pandas as pd

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")  # Okabe and Ito 2008
MARKERS = "os^DvPX"
MEANS = "Thick: their mean; band: its 95 % interval (Student's t, the seeds are the units); thin: each of them."
FIXED = "fixed_prompts."  # before a field of samples.jsonl: its mean over the answers
KL, GAIN, MONITOR, SHOWN = f"{FIXED}kl", "gain", "monitor.", f"{FIXED}behaviours."
DRAWN = ("score_mean", "kl_to_reference", *(name for name, *_ in SINGLE), GAIN, KL, "perplexity_text")
INCHES, CAPTION_CHARACTERS = (4.2, 3.4), 84  # of a panel; of a line below it
UNDATED: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}}
PAPER: dict[Any, Any] = {"axes.spines.left": True, "axes.spines.bottom": True, "pdf.fonttype": 42}


class RunGroup(NamedTuple):
    """Runs that are shown together, by id. `commands` make the files again, and of a sweep the runs, from `base`."""

    name: str
    settings: list[Setting]
    runs: dict[str, RunDirectory]
    commands: list[str]
    base: RunConfig | None = None

    @classmethod
    def of_sweep(cls, outputs: Path, sweep: Sweep) -> RunGroup:
        """All runs of a sweep that are there. Raises: InvalidConfig."""
        options = []
        for field, values in sweep.vary.items():
            text = f"{field}={','.join(map(json.dumps, values))}"
            options.append(f"--vary {shlex.quote(text)}")
        again = f"python -m playground sweep settings.yaml {' '.join(options)} --name {sweep.name}"
        runs = {run.id: run for run in sweep_record.runs_of(outputs, sweep)}
        commands = [f"python -m playground sweep export {sweep.name}", again]
        base = checks.without_folders(sweep.config(sweep.runs[0]))
        return cls(sweep.name, over_seeds.settings(sweep), runs, commands, base)

    @classmethod
    def of_runs(cls, runs: Sequence[RunDirectory]) -> RunGroup:
        """Some runs, at least one, which may have nothing in common. Raises: InvalidConfig."""
        configs = {run.id: checks.without_folders(run.config()) for run in runs}
        first, *others = configs.values()
        fields: dict[str, None] = {}
        for config in others:
            fields |= dict.fromkeys(differences(config, first))
        fields.pop(SEED, None)
        flat = {name: flatten(config) for name, config in configs.items()}
        settings = over_seeds.alike(flat, fields)
        command = f"python -m playground export {shlex.join(configs)} --as figures"
        return cls("-".join(configs)[:60], settings, {run.id: run for run in runs}, [command])


class PaperPanel(NamedTuple):
    """One pair of axes with their names. Each line has a label, its places along the foot, the mean over the seeds
    there, and what each of these runs has by itself."""

    title: str
    x: str
    y: str
    lines: list[tuple[str, list[float], Curve, list[pd.DataFrame]]]


def files(group: RunGroup) -> Iterator[tuple[str, bytes]]:
    """Every file by its name. Raises: InvalidConfig."""
    curves = curves_of(group)
    yield "runs.csv", csv_tables.safe_csv(runs_of(group)).encode()
    yield "curves.csv", csv_tables.safe_csv(curves).encode()
    for name, panels in charts(group, curves):
        for kind, drawing in drawn(name, panels, caption(group, panels)).items():
            yield f"{name}.{kind}", drawing
    if group.base:
        yield "settings.yaml", exports.yaml_text(group.base, "settings.yaml").encode()


def runs_of(group: RunGroup) -> pd.DataFrame:
    """A row for each run: the settings that vary, the seed, and what came of it, with 95 % intervals over prompts."""
    import pandas as pd

    pairs = [(values, name) for values, runs in group.settings for name in runs if name in group.runs]
    return pd.DataFrame([{"run": name} | values | _outcome(RunReport.of(group.runs[name])) for values, name in pairs])


def _outcome(report: RunReport) -> dict[str, Any]:
    row: dict[str, Any] = {"seed": report.config.seed, "state": report.status.state, "update": report.status.update}
    row["score_unit"] = report.unit
    if report.headline:
        row["gain_of"] = report.headline.source
    for figure in FIGURES:
        if figure.is_outcome:
            row |= _bounded(figure.key, figure.of(report))
    if report.judged_in_points:
        for line in report.judged_in_points.judges:
            if change := line.changes[-1]:
                row |= _bounded(f"{MONITOR}{line.name}", FigureValue(change.mean, change.low, change.high))
    for meter in report.behaviours:
        name, after = f"behaviours.{meter.name}", meter.after
        row[f"{name}_before"] = meter.before.share
        row |= _bounded(name, FigureValue(after.share, after.low, after.high))
    if report.wrong_on_purpose:
        row["wrong_on_purpose"] = report.wrong_on_purpose
    return row


def _bounded(name: str, figure: FigureValue) -> dict[str, Any]:
    """A figure as columns."""
    if figure.value is None:
        return {}
    columns: dict[str, Any] = {name: figure.value}
    if figure.low is not None:
        columns |= {f"{name}_low": figure.low, f"{name}_high": figure.high}
    return columns


def curves_of(group: RunGroup) -> pd.DataFrame:
    """A row for each run, update and figure: its value and unit. Of the fixed prompts, the mean over the answers."""
    import pandas as pd

    rows: list[tuple[str, int, str, float, str]] = []
    for name, run in group.runs.items():
        report = RunReport.of(run)
        measured = [
            ("", UpdateMetrics.about(), frames.metrics(report.metrics)),
            ("", Evaluation.about(), frames.evaluations(report.evaluations)[["update", "perplexity_text"]]),
            (FIXED, Sample.about(), frames.latest(report.samples)),
        ]
        for prefix, declared, table in measured:
            about = {field: doc for field, doc in declared.items() if field not in ("attempt", "update")}
            for column in (one for one in table if one.partition(".")[0] in about):
                means = table[column].astype(float).groupby(table["update"]).mean().dropna()
                unit = about[column.partition(".")[0]].unit.replace("sd", report.unit)
                rows += [(name, update, f"{prefix}{column}", value, unit) for update, value in means.items()]
        gains = [(point.update, point.gain) for point in report.path if point.gain is not None]
        rows += [(name, update, GAIN, gain, report.unit) for update, gain in gains]
        if judged := report.judged_in_points:
            for line in judged.judges:
                values = zip(judged.updates, line.changes, strict=True)
                rows += [(name, at, f"{MONITOR}{line.name}", one.mean, line.unit) for at, one in values if one]
    return pd.DataFrame(rows, columns=["run", "update", "figure", "value", "unit"])


def charts(group: RunGroup, curves: pd.DataFrame) -> Iterator[tuple[str, list[PaperPanel]]]:
    """By name: trained reward and true quality against KL, then each figure by update. `curves`: of `curves_of`."""
    wide = curves.pivot(index=["run", "update"], columns="figure", values="value").reset_index("update")
    units = dict(zip(curves["figure"], curves["unit"], strict=True))
    tables = {run: table.set_index("update", drop=False) for run, table in wide.groupby("run")}

    def panel(name: str, at: str = "update", title: str = "") -> PaperPanel:
        """Each evaluation or update at the mean over the seeds of both figures."""
        lines = []
        for values, runs in group.settings:
            of_runs = [tables[run][[at, name]].dropna() for run in runs if run in tables]
            place = over_seeds.curve([table[at].to_dict() for table in of_runs])
            curve = over_seeds.curve([table[name].to_dict() for table in of_runs])
            if place.mean:
                lines.append((label_of(values), place.mean, curve, of_runs))
        return PaperPanel(title, with_unit(at), with_unit(name), lines)

    def with_unit(figure: str) -> str:
        if unit := units.get(figure):
            return f"{figure}, {unit}"
        return figure

    monitors = [name for name in units if name.startswith(MONITOR)]
    behaviours = [name for name in units if name.startswith(SHOWN)]
    if {GAIN, KL} <= units.keys():
        quality = [panel(name, KL, f"True quality: {name}") for name in monitors or behaviours]
        yield "reward-and-quality-against-kl", [panel(GAIN, KL, "Trained reward"), *quality]
    curves_drawn = [name for name in DRAWN if name in units]
    for name in [*curves_drawn, *monitors, *behaviours]:
        yield re.sub(r"[^\w.-]+", "-", name), [panel(name)]


def label_of(values: Mapping[str, Any]) -> str:
    """Of the line of some settings."""
    parts = []
    for field, value in values.items():
        parts.append(f"{field} = {describe.in_words(field, value)}")
    words = UNSEEN.sub(" ", ", ".join(parts))
    return short(words or "all runs", 60)


def caption(group: RunGroup, panels: Sequence[PaperPanel]) -> str:
    """What a reader has to know, and the commands."""
    configs = [run.config() for run in group.runs.values() if run.status().state != "queued"]
    seeds = sorted({config.seed for config in configs})
    num_seeds = {max(curve.seeds) for panel in panels for _, _, curve, _ in panel.lines}
    several = max(num_seeds) > 1
    span = " to ".join(map(str, sorted({min(num_seeds), max(num_seeds)})))
    sizes: dict[str, None] = {}
    for config in configs:
        prompts, batch = config.evaluation.num_prompts, config.ppo.batch_size
        sizes[f"{prompts} fixed prompts, {batch} completions an update"] = None
    sentences = [*dict.fromkeys(map(describe.wrong_on_purpose, configs))]
    sentences.append(describe.scores_differ(configs))
    unit = "seeds" if several else "run"
    sentences.append(f"n = {span} {unit} a line (seed {', '.join(map(str, seeds))}).")
    if several:
        sentences.append(MEANS)
    sentences.append(f"{', or '.join(sizes)}.")
    sentences.append(f"Made by: {'; the runs: '.join(group.commands)}")
    return " ".join(filter(None, sentences))


def drawn(name: str, panels: Sequence[PaperPanel], below: str) -> dict[str, bytes]:
    """Panels side by side as SVG and as PDF, with the words below them and in the file's own description."""
    import matplotlib
    from matplotlib.figure import Figure

    found, (width, height) = {}, INCHES
    with DRAWING, warnings.catch_warnings(), matplotlib.rc_context(PAPER, FOLDER / "curves.mplstyle"):
        warnings.simplefilter("ignore")  # of letters that the font does not have
        picture = Figure((width * len(panels), height))
        for panel, axes in zip(panels, picture.subplots(1, len(panels), squeeze=False)[0], strict=True):
            _draw(panel, axes)
        picture.legend(*picture.axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2 * len(panels))
        words = "\n".join(textwrap.wrap(below, CAPTION_CHARACTERS * len(panels)))
        picture.supxlabel(words, x=0.01, ha="left", fontsize=6.5, color="#444444")
        for kind, about in (("svg", "Description"), ("pdf", "Subject")):
            buffer = io.BytesIO()
            picture.savefig(buffer, format=kind, metadata=UNDATED[kind] | {"Title": name, about: below})
            found[kind] = buffer.getvalue()
    return found


def _draw(panel: PaperPanel, axes: Any) -> None:
    from matplotlib import colormaps

    count = len(panel.lines)
    scale = [colormaps["cividis"](0.92 * place / count) for place in range(count)]
    looks = zip(itertools.cycle(DASHES), itertools.cycle(MARKERS), COLOURS if count <= len(COLOURS) else scale)
    for (label, x, curve, each), (dashes, marker, colour) in zip(panel.lines, looks, strict=False):
        low, high = np.array([curve.low, curve.high], float)  # not a number where there is none
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        for one in each:
            axes.plot(*one.to_numpy().T, color=colour, linewidth=0.5, alpha=0.6)
        look = {"color": colour, "linestyle": dashes, "marker": marker, "markevery": 0.1}
        axes.plot(x, curve.mean, label=label, **look)
    axes.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
