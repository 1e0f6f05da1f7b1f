"""The report of a run in one HTML file: what it holds, that nothing in it runs or is fetched, and how large it gets."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from playground import cli
from playground.exports import html_report, markup, svg
from playground.exports.pictures import TEAL, Line, Panel
from playground.exports.report import Report
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from tests.security import payloads
from tests.security.payloads import PAYLOADS
from tests.support import sample, small_config, update_metrics

MADE_HERE = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "section", "h1", "h2", "p", "ul", "li", "div",
    "strong", "b", "span", "details", "summary", "table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption",
    "svg", "g", "line", "text", "circle", "polyline", "path", "article", "pre", "footer",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "role", "scope", "viewbox", "aria-label",
    "aria-hidden", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "d", "points", "stroke-dasharray", "text-anchor",
}  # fmt: skip
MOST_BYTES = 2_000_000


class Parsed(HTMLParser):
    """A file as a browser takes it: elements, attributes, text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.drawn: list[dict[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        if tag == "polyline":
            self.drawn.append(dict(attributes))

    def handle_data(self, data: str) -> None:
        if self.lasttag != "style" or not data.startswith("/*"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def write(outputs, run_id="one", config=None, updates=3, **changes):
    """A run of three updates whose fixed prompts gained 1.5."""
    config = config or small_config()
    run = RunDirectory.create(outputs, config, run_id)
    writer = RunWriter(run, updates)
    writer.samples([sample(number, "before", 0.25, **changes) for number in range(4)])
    for update in range(1, updates + 1):
        writer.metrics(update_metrics(update))
    writer.samples([sample(number, "after", 1.75, **changes) for number in range(4)])
    writer.set_status(update=updates)
    writer.finish("finished")
    return run


def test_it_holds_what_came_of_the_run_its_texts_and_its_settings(outputs):
    run = write(outputs, config=small_config("my own", kl={"coef": 0.5}))
    found = Parsed(html_report.page(Report.of(run)))
    for words in (
        "my own", "finished, update 3 of 3", "Score +1.50 sd on 4 prompts", "4.0 nats", "before 2 ", "after 2 ",
        "Before, score 0.25, 0 nats", "After, score 1.75, 4 nats", "Leash (beta) 0.25 0.5", "coef: 0.5",
        "192 episodes",
    ):  # fmt: skip
        assert words in found.text, words
    assert found.tags <= MADE_HERE and found.attributes <= ATTRIBUTES
    assert "Distance from the reference" in found.text and len(found.drawn) >= 6


def test_its_title_is_the_name_of_the_run_escaped_once(outputs):
    page = html_report.page(Report.of(write(outputs, config=small_config('a < b & "c"'))))
    assert "<title>a &lt; b &amp; &quot;c&quot; \u2013 RLHF Playground</title>" in page
    assert "<h1>a &lt; b &amp; &quot;c&quot;</h1>" in page


def test_the_lamps_are_told_with_rule_cause_and_what_to_try(outputs):
    run = write(outputs, updates=6)
    writer = RunWriter(run, 12)
    for update in range(7, 13):
        writer.metrics(update_metrics(update, clip_fraction=0.9))
    text = Parsed(html_report.page(Report.of(run))).text
    assert re.search(
        r"Red: The steps are too bold\. .*Seen at updates 8, 9, 10, 11, 12\. Rule: .* Likely cause: .* Try: ", text
    )
    assert "lamps that are not lit" in text


def test_no_text_of_anybody_is_markup(tmp_path):
    """Every text of these runs is a payload: names, prompts, completions, events, rewards, messages."""
    for run_id in payloads.write(tmp_path):
        page = html_report.page(Report.of(RunDirectory.open(tmp_path / run_id)))
        found = Parsed(page)
        assert found.tags <= MADE_HERE and found.attributes <= ATTRIBUTES
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
        spaced = " ".join("".join(found.words).split())
        shown = [item for item in PAYLOADS if item.isprintable() and " ".join(item.split()) in spaced]
        assert len(shown) >= 30, sorted(set(PAYLOADS) - set(shown))


def test_nothing_is_fetched_and_nothing_may_run(outputs):
    page = html_report.page(Report.of(write(outputs)))
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(|@font-face", page)


def test_it_stays_below_two_megabytes_whatever_the_run(outputs):
    config = small_config("&" * 80, prompts={"source": "typed", "typed": ["&" * 3900 + str(n) for n in range(24)]})
    run = write(outputs, config=config, updates=3000)
    writer = RunWriter(run, 3000)
    for stage in ("before", "after"):
        long = {"prompt": "&" * 9000, "completion": "&<\U0001f600" * 5000, "update": 0 if stage == "before" else 3000}
        writer.samples([sample(100 + number, stage, 0.0, **long) for number in range(300)])
    for number in range(500):
        writer.event("warning", f"{number} {'&' * 2000}")
    page = html_report.page(Report.of(run))
    assert len(page.encode()) < MOST_BYTES
    text = Parsed(page).text
    assert "The first" in text and "And 400 more." in text and "200 of 3000 updates" in text


def test_a_run_of_which_little_is_known_says_so(outputs):
    run = RunDirectory.create(outputs, small_config(), "one")
    text = Parsed(html_report.page(Report.of(run))).text
    for words in ("update 0 of 3", "Nothing was measured", "There is no update yet", "answered no fixed prompts"):
        assert words in text, words


def test_what_is_wrong_on_purpose_is_marked_on_top_and_at_the_curves(outputs):
    faulty = catalog.preset("kinder-reviews").model_copy(update={"experiments": True, "faults": ("reward-sign",)})
    text = Parsed(html_report.page(Report.of(write(outputs, config=faulty)))).text
    assert text.count("! Wrong on purpose: The score enters the advantages with the wrong sign.") == 2
    assert text.index("! Wrong") < text.index("What came of it")
    assert "faults none reward-sign" in text
    plain = Parsed(html_report.page(Report.of(write(outputs, "two", catalog.preset("kinder-reviews"))))).text
    assert "Wrong on purpose" not in plain and "All as in the preset" in plain


def test_the_command_writes_it(outputs, tmp_path, capsys):
    run = write(outputs)
    with pytest.raises(SystemExit, match="0"):
        cli.main(["export", str(run.path), "--as", "html", "--output", str(tmp_path / "report.html")])
    assert capsys.readouterr().out.strip() == str(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == html_report.page(Report.of(run))


def test_a_line_is_drawn_where_its_values_are():
    values = pd.Series([0.0, 1.0, 0.5], index=[0, 5, 10])
    (drawn,) = Parsed(svg.chart(Panel("Title", "note", [Line(values, TEAL)]))).drawn
    left, right, top, foot = svg.LEFT, svg.WIDTH - svg.RIGHT, svg.TOP, svg.HEIGHT - svg.BOTTOM
    middle = f"{(left + right) / 2:g}"
    assert drawn["points"] == f"{left},{foot} {middle},{top} {right},{(top + foot) / 2:g}"
    assert drawn["class"] == "line teal"


def test_lines_differ_by_more_than_colour_and_tell_first_and_last():
    values = pd.Series([1.0, -2.5], index=[1, 2])
    found = Parsed(svg.chart(Panel("Title", "note", [Line(values, TEAL, "one"), Line(values, TEAL, "two")])))
    assert len({line.get("stroke-dasharray") for line in found.drawn}) == 2
    assert "one 1 \u2192 \u22122.5" in found.text and "two 1 \u2192 \u22122.5" in found.text


def test_a_spike_survives_thinning():
    values = pd.Series(0.0, index=range(1, 10_001))
    values[7777] = 9.0
    values[7778] = -9.0
    found = svg.thinned(values, 100)
    assert len(found) <= 102 and found[7777] == 9.0 and found[7778] == -9.0
    assert (found.index[0], found.index[-1]) == (1, 10_000)


def test_a_chart_of_one_value_or_none(outputs):
    assert svg.chart(Panel("Title", "note", [Line(pd.Series([], dtype=float), TEAL)])) == ""
    assert "<figure" in svg.chart(Panel("Title", "note", [Line(pd.Series([3.0], index=[1]), TEAL)]))


def test_whatever_is_no_markup_is_escaped():
    made = markup.tag("p", "<b>", markup.tag("b", "x"), None, title='"&', class_=None)
    assert made == '<p title="&quot;&amp;">&lt;b&gt;<b>x</b></p>'
