"""The report of a run in one HTML file, and its curves: what they hold, that nothing in it runs or is fetched."""

import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from playground.analysis.run_report import RunReport
from playground.config import knobs
from playground.exports import curves, html_report
from playground.exports.curves import DrawnLine, Panel
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from tests.exports import saved_runs
from tests.security import payloads
from tests.security.payloads import PAYLOADS
from tests.support import sample, small_config, update_metrics


def drawn(label=""):
    values = pd.Series([0.0, 1.0, 0.5], index=[0, 5, 10])
    return curves.svg(Panel("Title", "note", (DrawnLine(values, "teal", label),)))


def test_a_line_is_drawn_where_its_values_are():
    path = re.search(r'<path d="([^"]*)" style="fill: none; [^"]*stroke: var\(--teal\)', drawn())
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML] ([\d.]+) ([\d.]+)", path[1])]
    (left, foot), (middle, top), (right, half) = points
    assert middle == pytest.approx((left + right) / 2, abs=0.01)
    assert half == pytest.approx((foot + top) / 2, abs=0.01)
    assert left < right
    assert foot > top


def test_there_is_a_panel_for_what_was_measured(outputs):
    run = RunDirectory.create(outputs, small_config(behaviours=[]), "one")
    assert curves.panels(RunReport.of(run)) == []
    assert curves.png([]).startswith(b"\x89PNG")
    RunWriter(run, 3).metrics(update_metrics(1, perplexity_reference=None, entropy=None))
    assert [panel.title for panel in curves.panels(RunReport.of(run))] == ["Score", "Distance from the reference"]
    assert "Entropy" not in [panel.title for panel in curves.single_panels(RunReport.of(run))]
    counted = RunDirectory.create(outputs, small_config(behaviours=["ends"]), "two")
    RunWriter(counted, 3).samples([sample(0, "before", 1.0), sample(0, "after", 2.0)])
    assert curves.panels(RunReport.of(counted))[0].title == "Behaviours"


TAGS = """html head meta title style body main header section h1 h2 p ul li div strong span details summary table thead
tbody tr th td figure figcaption svg g defs use path text article pre footer"""
ATTRIBUTES = "lang charset http-equiv content name class role scope viewbox aria-label style transform id href x y d"
MOST_BYTES = 2_000_000


class Parsed(HTMLParser):
    """A file as a browser takes it: elements, attributes, text."""

    def __init__(self, page):
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        assert all(value and value.startswith("#") for name, value in attributes if name == "href")

    def handle_data(self, data):
        if self.lasttag != "style" or data.isspace():
            self.words.append(data)

    @property
    def foreign(self):
        """What the template has not put there."""
        return [*(self.tags - {*TAGS.split()}), *(self.attributes - {*ATTRIBUTES.split()})]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Of a run whose fixed prompts gained 1.5, and whose name looks like markup."""
    config = small_config('a < b & "c"', kl={"coef": 0.5})
    return html_report.page(RunReport.of(saved_runs.write_records(tmp_path_factory.mktemp("outputs"), "one", config)))


def test_the_report_holds_what_came_of_the_run_its_texts_its_figures_and_its_settings(page):
    report = Parsed(page)
    parts = ["finished, update 3 of 3", "Score +1.50 sd on 4 prompts", "After, score 1.75, 4 nats"]
    parts += [f"{knobs()['kl.coef']['label']} 0.25 0.5", "coef: 0.5", "192 episodes", "training batches: 1 \u2192 3"]
    assert [words for words in parts if words not in report.text] == []
    assert report.foreign == []
    assert page.count("a &lt; b &amp; &#34;c&#34;</h1>") == 1 == page.count("a &lt; b &amp; &#34;c&#34; \u2013 RLHF")


def test_no_text_of_anybody_is_markup_in_the_report(tmp_path):
    """Every text of these runs is a payload: names, prompts, completions, events, rewards, messages."""
    for run_id in payloads.write(tmp_path):
        page = html_report.page(RunReport.of(RunDirectory.open(tmp_path / run_id)))
        report = Parsed(page)
        assert report.foreign == []
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
        spaced = " ".join("".join(report.words).split())
        shown = [item for item in PAYLOADS if item.isprintable() and " ".join(item.split()) in spaced]
        assert len(shown) >= 30, sorted(set(PAYLOADS) - set(shown))


def test_nothing_of_the_report_is_fetched_and_nothing_may_run(page):
    assert "content=\"default-src 'none'; style-src 'unsafe-inline'\"" in page
    assert not re.search(r"https?:|<script|<link|<img|@import|url\(|@font-face", page)


def test_the_report_stays_below_two_megabytes_whatever_the_run(outputs):
    measure = {"kind": "keyword", "words": ["x"]}
    marks = {f"own-{number}": True for number in range(8)}
    behaviours = [{"measure": measure, "name": name, "words": "&" * 78 + name[-1]} for name in marks]
    prompts = {"source": "typed", "typed": ["&" * 3900 + str(n) for n in range(24)]}
    run = RunDirectory.create(outputs, small_config("&" * 80, prompts=prompts, behaviours=behaviours), "large")
    writer = RunWriter(run, 3000)
    for update in range(1, 3001):
        writer.metrics(update_metrics(update, score_mean=float(update * 7919 % 1013)))
    for stage in ("before", "after"):
        long = {"prompt": "&" * 9000, "completion": "&<\U0001f600" * 5000, "update": 0 if stage == "before" else 3000}
        writer.samples([sample(number, stage, 0.0, behaviours=marks, **long) for number in range(300)])
    for number in range(500):
        writer.event("warning", f"{number} {'&' * 2000}")
    page = html_report.page(RunReport.of(run))
    assert len(page.encode()) < MOST_BYTES
    text = Parsed(page).text
    assert "The first 32 of 300" in text
    assert "And 400 more." in text
