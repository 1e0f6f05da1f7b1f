"""The curves of a run as a PNG, for the model card: drawn with matplotlib, without a browser.

Colours mean what they mean on the page: score teal, KL amber, reference slate, policy indigo.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd

TEAL, AMBER, SLATE, INDIGO = "#0d8078", "#b45f06", "#64748b", "#4f46e5"
MANY = ("#1d6fd1", "#c2267a", "#5d7a12", "#7a4a2a", "#6d4ac2", "#0e7f8c")  # of lines of one kind, as of overlaid runs
INK, MUTED, GRID, DANGER = "#1e293b", "#64748b", "#e2e8f0", "#b91c1c"
PANEL_INCHES, DOTS_PER_INCH = (4.2, 3.0), 200
FONTS: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 10,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
}


class Line(NamedTuple):
    """A figure by update, joined by a line, or only dots. `band` has a low and a high column, drawn behind it."""

    values: pd.Series
    colour: str
    label: str = ""
    dots: bool = False
    band: pd.DataFrame | None = None


class Panel(NamedTuple):
    """One chart. `mark` is an update and what it is."""

    title: str
    note: str
    lines: Sequence[Line]
    mark: tuple[float, str] | None = None


def png(panels: Sequence[Panel], warning: str = "") -> bytes:
    """The panels side by side on white, below a line of warning, if there is one."""
    import matplotlib
    from matplotlib.figure import Figure

    width, height = PANEL_INCHES
    with matplotlib.rc_context(FONTS):
        figure = Figure((width * len(panels), height), DOTS_PER_INCH, layout="constrained")
        if warning:
            figure.suptitle(warning, color=DANGER, fontsize=9, fontweight="bold", wrap=True)
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            axes.set_title(panel.title, loc="left", pad=18)
            axes.annotate(panel.note, (0, 1), (0, 6), "axes fraction", "offset points", color=MUTED)
            axes.grid(axis="y", color=GRID)
            axes.tick_params(length=0)
            axes.set_axisbelow(True)
            axes.spines[:].set_visible(False)
            if panel.mark:
                axes.axvline(panel.mark[0], color=INK, linewidth=0.8)
                axes.annotate(panel.mark[1], (panel.mark[0], 1), (3, -8), ("data", "axes fraction"), "offset points")
            for line in panel.lines:
                if line.band is not None:
                    band = line.band.dropna()
                    axes.fill_between(band.index, *band.to_numpy().T, color=line.colour, alpha=0.14, lw=0)
                axes.plot(line.values.dropna(), "o" if line.dots else "-", color=line.colour, ms=3, label=line.label)
            axes.set_xlim(left=0)
            if any(line.label for line in panel.lines):
                axes.legend(loc="upper right", bbox_to_anchor=(1, -0.1), ncols=2, frameon=False, labelcolor="linecolor")
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
    return buffer.getvalue()
