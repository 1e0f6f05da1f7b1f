"""The curves of a run, drawn by matplotlib: each as SVG for the HTML report, several in one PNG for the model card, in
the colours of the report's style sheet."""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from playground.analysis import frames, plateau
from playground.analysis.run_report import RunReport
from playground.exports.rendering import FOLDER, figure, short

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LIGHT = (FOLDER / "report.css").read_text(encoding="utf-8").partition("@media")[0]
COLOURS: dict[str, str] = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", LIGHT))
MANY = [name for name in COLOURS if name.startswith("many-")]  # for lines of one kind
DASHES: Sequence[Any] = ("-", (0, (5, 2)), (0, (1.5, 2)), (0, (7, 2, 1.5, 2)), (0, (10, 3)), (0, (3, 1, 1, 1)))
MOST_POINTS = 400  # of a line
MOST_CHARACTERS = 36  # of what a line is called
INCHES, LEGEND_INCHES = (4.4, 2.4), 0.18  # of a panel, and of each line below it
DRAWING = threading.Lock()  # matplotlib's settings are global
STYLE: dict[Any, Any] = {
    "grid.color": COLOURS["rule"],
    "text.color": COLOURS["text"],
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
}
NOTHING = dict.fromkeys(("Creator", "Date", "Format", "Type"))  # what an SVG says of itself, with addresses in it
SINGLE = (
    ("penalised_reward", "Score minus leash cost", "training batches, what training maximises, by update", "teal"),
    ("kl_coef", "Leash (beta)", "price of a nat of KL, by update", "amber"),
    ("entropy", "Entropy", "nats per token, by update", "slate"),
    ("completion_length", "Length", "tokens per completion, by update", "slate"),
    ("clip_fraction", "Clip fraction", "share of tokens, by update", "slate"),
    ("explained_variance", "Value fit", "explained variance, by update", "slate"),
)


class DrawnLine(NamedTuple):
    """A figure by update, joined by a line, or only dots. `band` has a low and a high column, drawn behind it."""

    values: pd.Series
    colour: str
    label: str = ""
    dots: bool = False
    band: pd.DataFrame | None = None

    @property
    def words(self) -> str:
        """What it is called, and its first and last value."""
        values = self.values.dropna()
        ends = figure(values.iloc[0])
        if len(values) != 1:
            ends += f" \u2192 {figure(values.iloc[-1])}"
        label = "".join(letter if letter.isprintable() else " " for letter in self.label)
        return f"{short(label, MOST_CHARACTERS)}: {ends}".lstrip(": _")  # matplotlib leaves out what begins with _


class Panel(NamedTuple):
    """One chart. `mark` is an update and what it is."""

    title: str
    note: str
    lines: Sequence[DrawnLine]
    mark: tuple[float, str] | None = None

    @property
    def words(self) -> str:
        """For who does not see it."""
        return f"{self.title}, {self.note}. {'; '.join(line.words for line in self.lines)}."


def panels(report: RunReport) -> list[Panel]:
    """Score, KL and, where there are any, behaviours and perplexities."""
    metrics = frames.metrics(report.metrics).set_index("update")
    evaluations = frames.evaluations(report.evaluations).set_index("update")
    above, begins = " above the reference" if report.unit == "sd" else "", report.plateau.update
    shares = frames.shares(report.behaviours).groupby("behaviour", sort=False)
    behaviours = [
        DrawnLine(100 * table["share"], colour, table["words"].iloc[0], band=100 * table[["low", "high"]])
        for colour, (_, table) in zip(MANY, shares, strict=False)
    ]
    score = [
        DrawnLine(metrics["score_mean"], "teal", "training batches", band=metrics[["score_p10", "score_p90"]]),
        DrawnLine(plateau.curve_of(report.samples).mean(axis=1), "indigo", "fixed prompts", dots=True),
    ]
    kl = [
        DrawnLine(metrics["kl_to_reference"], "amber", "training batches"),
        DrawnLine(metrics["kl_to_first"], "slate", "training batches, to the first reference"),
        DrawnLine(frames.latest(report.samples).groupby("update")["kl"].mean(), "indigo", "fixed prompts", dots=True),
    ]
    perplexity = [
        DrawnLine(metrics["perplexity_reference"], "slate", "its texts, under the reference"),
        DrawnLine(evaluations["perplexity_text"], "indigo", "held-out text, under the policy"),
    ]
    return _with_values(
        Panel("Behaviours", "% of the answers to the fixed prompts, by update", behaviours),
        Panel("Score", f"{report.unit}{above}, by update", score, None if begins is None else (begins, "plateau")),
        Panel("Distance from the reference", "KL, nats per completion, by update", kl),
        Panel("Perplexity", "by update", perplexity),
    )


def single_panels(report: RunReport) -> list[Panel]:
    """Further figures of the updates, one in each."""
    metrics = frames.metrics(report.metrics).set_index("update")
    return _with_values(*(Panel(title, note, [DrawnLine(metrics[name], hue)]) for name, title, note, hue in SINGLE))


def _with_values(*panels: Panel) -> list[Panel]:
    """Without lines of which nothing is known, and without panels that have no other."""
    filled = [panel._replace(lines=[line for line in panel.lines if line.values.notna().any()]) for panel in panels]
    return [panel for panel in filled if panel.lines]


def png(panels: Sequence[Panel], warning: str = "") -> bytes:
    """The panels side by side on white, with their titles, below a line of warning, if there is one."""
    return _saved(panels, warning, format="png")


def svg(panel: Panel) -> Markup:
    """One panel without its title, to be written into an HTML page that has the report's style sheet."""
    text = _saved([panel._replace(title="", note="")], format="svg", transparent=True, metadata=NOTHING).decode()
    # Before the first drawing there are namespaces, and a style that would be for the whole page.
    head, drawn = text.partition("</defs>")[::2]
    size = head.partition('viewBox="')[2].partition('"')[0]
    drawn = re.sub('<g id="[^"]*">', "<g>", drawn).replace("<use xlink:href", "<use href")
    for name, colour in COLOURS.items():
        drawn = drawn.replace(colour, f"var(--{name})")
    return Markup('<svg viewBox="{}" role="img" aria-label="{}">').format(size, panel.words) + Markup(drawn)


def _saved(panels: Sequence[Panel], warning: str = "", **how: Any) -> bytes:
    import matplotlib
    from matplotlib.figure import Figure

    width, height = INCHES
    height += LEGEND_INCHES * max((len(panel.lines) for panel in panels), default=0)
    buffer = io.BytesIO()
    with DRAWING, warnings.catch_warnings(), matplotlib.rc_context(STYLE, FOLDER / "curves.mplstyle"):
        warnings.simplefilter("ignore")  # of letters that the font does not have
        picture = Figure((width * max(1, len(panels)), height))
        if warning:
            picture.suptitle(warning, color=COLOURS["danger"], fontsize=9, fontweight="bold", wrap=True)
        for panel, axes in zip(panels, picture.subplots(1, max(1, len(panels)), squeeze=False)[0], strict=False):
            _draw(panel, axes)
        picture.savefig(buffer, **how)
    return buffer.getvalue()


def _draw(panel: Panel, axes: Axes) -> None:
    if panel.title:
        axes.set_title(panel.title, loc="left", pad=18, fontsize=11)
        axes.annotate(panel.note, (0, 1), (0, 6), "axes fraction", "offset points", color=COLOURS["muted"])
    if panel.mark:
        axes.axvline(panel.mark[0], color=COLOURS["text"], linewidth=0.8, clip_on=False)
        axes.annotate(panel.mark[1], (panel.mark[0], 1), (3, -8), ("data", "axes fraction"), "offset points")
    for line, dashes in zip(panel.lines, DASHES, strict=False):
        known, colour = line.values.dropna(), COLOURS[line.colour]
        values = known[:: 1 + (len(known) - 1) // MOST_POINTS]
        if line.band is not None:
            band = line.band[line.band.index.isin(values.index)].dropna()
            at, (low, high) = band.index, band.to_numpy(float).T
            axes.fill([*at, *at[::-1]], [*low, *high[::-1]], color=colour, alpha=0.14, linewidth=0, clip_on=False)
        style = {"marker": "o", "linestyle": ""} if line.dots else {"linestyle": dashes}
        axes.plot(values.index, values, color=colour, label=line.words, clip_on=False, **style)
    axes.set_xlim(0, max(1, *(line.values.dropna().index.max() for line in panel.lines)))
    axes.grid(axis="y", clip_on=False)  # as everything here: a clip would need a name that no other drawing has
    axes.locator_params("x", integer=True)
    axes.locator_params("y", nbins=5)
    axes.yaxis.set_major_formatter(lambda value, _: figure(value))
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.12), borderaxespad=0, borderpad=0.2)
