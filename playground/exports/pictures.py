"""The curves of a run as a PNG, for the model card: drawn with Pillow, without a browser.

Colours mean what they mean on the page: score teal, KL amber, reference slate, policy indigo.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

TEAL, AMBER, SLATE, INDIGO = (13, 128, 120), (180, 95, 6), (100, 116, 139), (79, 70, 229)
INK, MUTED, GRID = (30, 41, 59), (100, 116, 139), (226, 232, 240)
PANEL_WIDTH, HEIGHT = 420, 300  # pixels at scale 1
SCALE = 4  # drawn this large, then halved: smooth lines at twice the nominal size
LEFT, RIGHT, TOP, BOTTOM = 52, 18, 54, 34
TICKS = 4


class Line(NamedTuple):
    """Points (x, y) joined by a line, or only dots."""

    points: Sequence[tuple[float, float]]
    colour: tuple[int, int, int]
    dots: bool = False
    label: str = ""


class Panel(NamedTuple):
    """One chart. `band` is (x, low, high) behind the lines; `mark` a labelled upright line."""

    title: str
    note: str
    lines: Sequence[Line]
    band: Sequence[tuple[float, float, float]] = ()
    mark: tuple[float, str] | None = None


def png(panels: Sequence[Panel]) -> bytes:
    """The panels side by side on white."""
    from PIL import Image, ImageDraw

    width = PANEL_WIDTH * len(panels)
    image = Image.new("RGB", (width * SCALE, HEIGHT * SCALE), "white")
    draw = ImageDraw.Draw(image, "RGBA")
    for number, panel in enumerate(panels):
        _draw(draw, panel, number * PANEL_WIDTH)
    buffer = io.BytesIO()
    image.resize((width * 2, HEIGHT * 2), Image.Resampling.LANCZOS).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def ticks(low: float, high: float, count: int = TICKS) -> list[float]:
    """Round numbers from at or below `low` to at or above `high`."""
    rough = ((high - low) or abs(high) or 1.0) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * size for size in (1, 2, 2.5, 5, 10) if power * size >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _draw(draw: ImageDraw, panel: Panel, offset: int) -> None:
    xs = [x for line in panel.lines for x, _ in line.points] or [0.0, 1.0]
    ys = [y for line in panel.lines for _, y in line.points] + [y for _, *pair in panel.band for y in pair]
    grid = ticks(min(ys, default=0.0), max(ys, default=1.0))
    low, high, first, last = grid[0], grid[-1], min(0.0, *xs), max(*xs, 1.0)

    def at(x: float, y: float) -> tuple[float, float]:
        across, down = PANEL_WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return (
            SCALE * (offset + LEFT + across * (x - first) / (last - first)),
            SCALE * (TOP + down * (high - y) / (high - low)),
        )

    for value in grid:
        draw.line([at(first, value), at(last, value)], fill=GRID, width=SCALE)
        x, y = at(first, value)
        draw.text((x - 8 * SCALE, y), f"{value:g}", fill=MUTED, font=_font(11), anchor="rm")
    for value in (value for value in ticks(first, last) if value <= last):
        x, y = at(value, low)
        draw.text((x, y + 9 * SCALE), f"{value:g}", fill=MUTED, font=_font(11), anchor="mt")
    if panel.band:
        edge = [at(x, high) for x, _, high in panel.band] + [at(x, low) for x, low, _ in reversed(panel.band)]
        draw.polygon(edge, fill=(*panel.lines[0].colour, 36))
    if panel.mark:
        x, y = at(panel.mark[0], high)
        draw.line([(x, y), at(panel.mark[0], low)], fill=INK, width=SCALE)
        draw.text((x + 4 * SCALE, y + 2 * SCALE), panel.mark[1], fill=INK, font=_font(11), anchor="lt")
    for line in panel.lines:
        places = [at(*point) for point in line.points]
        if line.dots:
            for x, y in places:
                radius = 3 * SCALE
                draw.ellipse([x - radius, y - radius, x + radius, y + radius], fill=line.colour)
        elif len(places) > 1:
            draw.line(places, fill=line.colour, width=2 * SCALE, joint="curve")
    x = SCALE * (offset + LEFT)
    draw.text((x, 12 * SCALE), panel.title, fill=INK, font=_font(15), anchor="lt")
    draw.text((x, 32 * SCALE), panel.note, fill=MUTED, font=_font(11), anchor="lt")
    x = SCALE * (offset + PANEL_WIDTH - RIGHT)
    for line in reversed([line for line in panel.lines if line.label]):
        text = f"{'o' if line.dots else '-'} {line.label}"
        draw.text((x, 14 * SCALE), text, fill=line.colour, font=_font(11), anchor="rt")
        x -= draw.textlength(text, font=_font(11)) + 12 * SCALE


def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size * SCALE)
