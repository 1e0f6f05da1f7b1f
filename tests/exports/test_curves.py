"""The curves: which there are, that a drawing holds its values and is no markup of anybody's, and what is left out."""

import re

import pandas as pd
import pytest

from playground.exports import curves
from playground.exports.curves import DrawnLine, Panel
from playground.exports.report import Report
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.support import sample, small_config, update_metrics

VALUES = pd.Series([0.0, 1.0, 0.5], index=[0, 5, 10])


def drawn(label=""):
    return curves.svg(Panel("Title", "note", (DrawnLine(VALUES, "teal", label),)))


def test_a_line_is_drawn_where_its_values_are():
    path = re.search(r'<path d="([^"]*)" style="fill: none; [^"]*stroke: var\(--teal\)', drawn())
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path[1])]
    (left, foot), (middle, top), (right, half) = points
    assert middle == pytest.approx((left + right) / 2, abs=0.01)
    assert half == pytest.approx((foot + top) / 2, abs=0.01)
    assert left < right
    assert foot > top


@pytest.mark.parametrize("label", ["<script>x</script>", '" onload="x', "$\\frac{$", "_", "\x00\u202e", "a" * 200])
def test_a_label_is_text_whatever_it_is(label):
    svg = drawn(label)
    assert "<script" not in svg
    assert ' onload="' not in svg.partition("</text>")[0].partition(">")[0]
    assert "0 \u2192 0.5</text>" in svg
    assert "a" * 60 not in svg


def test_there_is_a_panel_for_what_was_measured(outputs):
    run = RunDirectory.create(outputs, small_config(behaviours=[]), "one")
    assert curves.panels(Report.of(run)) == []
    assert curves.png([]).startswith(b"\x89PNG")
    RunWriter(run, 3).metrics(update_metrics(1, perplexity_reference=None, entropy=None))
    assert [panel.title for panel in curves.panels(Report.of(run))] == ["Score", "Distance from the reference"]
    assert "Entropy" not in [panel.title for panel in curves.single_panels(Report.of(run))]
    counted = RunDirectory.create(outputs, small_config(behaviours=["ends"]), "two")
    RunWriter(counted, 3).samples([sample(0, "before", 1.0), sample(0, "after", 2.0)])
    assert curves.panels(Report.of(counted))[0].title == "Behaviours"
