"""The charts of a run as inline SVG, for a page without a script: the same panels that `pictures` draws as a PNG.

Colours are classes, which the style of the page gives a value for each theme; every line also has a dash pattern of its
own, and its first and last value in words. `html_report` calls it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from playground.exports.markup import Html, joined, tag
from playground.exports.pictures import AMBER, INDIGO, MANY, SLATE, TEAL, Line, Panel

if TYPE_CHECKING:
    import pandas as pd

WIDTH, HEIGHT = 440, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 26
MOST_POINTS = 400  # of a line
MOST_DOTS = 60  # that are drawn one by one, each with its value
TICKS = 5
CLASSES = {
    TEAL: "teal", AMBER: "amber", SLATE: "slate", INDIGO: "indigo",
    **{colour: f"many-{number}" for number, colour in enumerate(MANY)},
}  # fmt: skip
Place = Callable[[float], float]  # of a value in the picture
DASHES = (None, "6 3", "2 3", "8 3 2 3", "12 4", "4 2 1 2")


def figure(value: float) -> str:
    """Three significant digits, but all of them before the point; what is less than a twenty-thousandth is 0."""
    if abs(value) < 5e-5:
        return "0"
    return f"{value:{',.0f' if abs(value) >= 999.5 else '.3g'}}".replace("-", "\u2212")


def chart(panel: Panel) -> Html:
    """One chart with its title, its key, and what each line began and ended with."""
    lines = [line for line in panel.lines if len(line.values.dropna())]
    if not lines:
        return Html("")
    words = "; ".join(f"{line.label or panel.title}: {_ends(line)}" for line in lines)
    key = [
        tag("li", _swatch(line, number), f" {line.label} " if line.label else " ", tag("b", _ends(line)))
        for number, line in enumerate(lines)
    ]
    return tag(
        "figure",
        tag("figcaption", tag("strong", panel.title), tag("span", f" {panel.note}", class_="muted")),
        drawing(lines, panel.mark, f"{panel.title}, {panel.note}. {words}."),
        tag("ul", *key, class_="key"),
        class_="chart",
    )


def drawing(lines: Sequence[Line], mark: tuple[float, str] | None, label: str) -> Html:
    """The picture itself."""
    low, high, right = _limits(lines)
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])

    def x_of(update: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * update / right, 1)

    def y_of(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low), 1)

    grid = [
        joined(
            tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y_of(tick), y2=y_of(tick), class_="grid"),
            tag("text", figure(tick), x=LEFT - 6, y=y_of(tick) + 4, text_anchor="end"),
        )
        for tick in ticks
    ]
    feet = [
        tag("text", f"{tick:g}", x=x_of(tick), y=HEIGHT - 8, text_anchor="middle")
        for tick in _ticks(0, right)
        if tick <= right and tick == int(tick)
    ]
    drawn = [_line(line, number, x_of, y_of) for number, line in enumerate(lines)]
    marked = None
    if mark:
        x = x_of(mark[0])
        marked = joined(
            tag("line", x1=x, x2=x, y1=TOP, y2=HEIGHT - BOTTOM, class_="mark"),
            tag("text", mark[1], x=x + 4, y=TOP + 8),
        )
    box = f"0 0 {WIDTH} {HEIGHT}"
    return tag("svg", *grid, *feet, *drawn, marked, viewBox=box, role="img", aria_label=label)


def thinned(values: pd.Series, limit: int = MOST_POINTS) -> pd.Series:
    """At most about `limit` points, among them the lowest and the highest of each stretch: no spike is lost."""
    if len(values) <= limit:
        return values
    stretch = np.arange(len(values)) * (limit // 2) // len(values)
    ends = values.groupby(stretch).agg(["idxmin", "idxmax"]).to_numpy().ravel()
    return values.loc[sorted({values.index[0], values.index[-1], *ends})]


def _line(line: Line, number: int, x_of: Place, y_of: Place) -> Html:
    values = thinned(line.values.dropna())
    colour = f"line {CLASSES.get(line.colour, 'slate')}"
    points = [(x_of(update), y_of(value)) for update, value in values.items()]
    parts: list[Html] = []
    if line.band is not None and len(band := line.band.dropna().loc[lambda table: table.index.isin(values.index)]):
        low, high = ([(x_of(at), y_of(value)) for at, value in band[column].items()] for column in band.columns)
        parts.append(tag("path", d=f"M{_path(low)}L{_path(high[::-1])}Z", class_=f"band {colour}"))
    if not line.dots:
        parts.append(
            tag("polyline", points=_path(points), stroke_dasharray=DASHES[number % len(DASHES)], class_=colour)
        )
    if len(points) <= MOST_DOTS:
        told = f"{line.label}, update" if line.label else "update"
        radius = 3 if line.dots else 5
        parts += [
            tag(
                "g",
                tag("title", f"{told} {update:g}: {figure(value)}"),
                tag("circle", cx=x, cy=y, r=radius),
                class_=f"{'dot' if line.dots else 'hit'} {colour}",
            )
            for (x, y), (update, value) in zip(points, values.items(), strict=True)
        ]
    elif line.dots:
        parts += [tag("circle", cx=x, cy=y, r=2, class_=f"dot {colour}") for x, y in points]
    return joined(*parts)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _limits(lines: Sequence[Line]) -> tuple[float, float, float]:
    """Lowest and highest value, and the last update."""
    values = [line.values.dropna() for line in lines]
    values += [line.band[column].dropna() for line in lines if line.band is not None for column in line.band.columns]
    low = min(float(each.min()) for each in values if len(each))
    high = max(float(each.max()) for each in values if len(each))
    if high - low < 1e-9 * max(1.0, abs(high)):
        low, high = low - 0.5 * max(1e-6, abs(low)), high + 0.5 * max(1e-6, abs(high))
    right = max(float(each.index.max()) for each in values if len(each))
    return low, high, max(right, 1.0)


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers that hold a range between them."""
    rough = (high - low) / (TICKS - 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.999)
    first, last = math.floor(low / step + 1e-3), math.ceil(high / step - 1e-3)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _ends(line: Line) -> str:
    values = line.values.dropna()
    first, last = figure(values.iloc[0]), figure(values.iloc[-1])
    return first if len(values) == 1 else f"{first} \u2192 {last}"


def _swatch(line: Line, number: int) -> Html:
    colour = CLASSES.get(line.colour, "slate")
    drawn = (
        tag("circle", cx=12, cy=5, r=3, class_=f"dot line {colour}")
        if line.dots
        else tag(
            "line", x1=0, x2=24, y1=5, y2=5, stroke_dasharray=DASHES[number % len(DASHES)], class_=f"line {colour}"
        )
    )
    return tag("svg", drawn, viewBox="0 0 24 10", class_="swatch", aria_hidden="true")
