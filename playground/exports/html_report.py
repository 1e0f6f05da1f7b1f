"""The report of a run as one HTML file that needs nothing else: no server, no network, no script, no font.

What stands in it comes from `Report`; texts of models and people go through `markup`, which escapes them, and the page
forbids itself scripts and requests on top of that. The command line and the page call `page`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from playground import __version__
from playground.config import RunConfig, differences, knobs, methods
from playground.exports import svg
from playground.exports.markup import Html, tag
from playground.exports.pictures import AMBER, MANY, SLATE, TEAL, Line, Panel
from playground.exports.report import COUNTS, Report
from playground.insight import before_after, compute, frames, knee, meters
from playground.insight.diagnosis import diagnose
from playground.insight.diagnosis.alert import Alert
from playground.insight.diagnosis.run_records import WINDOW, Records
from playground.rewards import behaviours as counted
from playground.runs.folder.records import Sample
from playground.setup import catalog, telling

STYLE = Path(__file__).with_name("report.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
MOST_PAIRS = 32
MOST_CHARACTERS = 1500  # of a prompt or a completion
MOST_TEXT = 700_000  # bytes of all of them as they stand in the file
MOST_CONFIGURATION = 100_000
MOST_EVENTS = 100
MOST_ROWS = 200  # of the table of figures
MOST_WORDS = 500  # characters of a name, a note, a message
FIGURES = {
    "score_mean": "Score", "score_p10": "10 % below", "score_p90": "10 % above", "kl_to_reference": "KL",
    "penalised_reward": "Score \u2212 \u03b2 KL", "kl_coef": "Beta", "entropy": "Entropy",
    "clip_fraction": "Clip fraction", "completion_length": "Length", "explained_variance": "Value fit",
}  # fmt: skip
SMALL = (
    ("penalised_reward", "Score minus leash cost", "training batches, what training pushes up", TEAL),
    ("kl_coef", "Leash (beta)", "price of a nat of KL", AMBER),
    ("entropy", "Entropy", "nats per token", SLATE),
    ("completion_length", "Length", "tokens per completion", SLATE),
    ("clip_fraction", "Clip fraction", "share of tokens", SLATE),
    ("explained_variance", "Value fit", "explained variance", SLATE),
)


def page(report: Report) -> str:
    """The whole file."""
    title = _short(report.title)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{title} \u2013 RLHF Playground"),
        tag("style", Html(STYLE.read_text(encoding="utf-8"))),
    )
    sections = (_head, _outcome, _counted, _health, _curves, _settings, _cost, _texts, _events, _configuration)
    body = tag("body", tag("main", *(section(report) for section in sections), _foot(report)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _head(report: Report) -> Html:
    config, status = report.config, report.status
    started = time.strftime("%Y-%m-%d %H:%M", time.gmtime(status.started_at)) + " UTC" if status.started_at else ""
    facts = (
        f"{status.state}, update {status.update} of {status.num_updates}",
        started,
        f"model {telling.in_words('model.source', config.model.source)}",
        f"reward {telling.in_words('rewards', [reward.model_dump() for reward in config.rewards])}",
        f"method {methods.METHODS[config.method].label}",
        "TRL\u2019s trainer" if config.by_trl else None,
        f"seed {config.seed}",
    )
    wrong = report.wrong_on_purpose
    line = telling.told(config).line(report.title)
    return tag(
        "header",
        tag("p", "RLHF Playground, report of a run", class_="muted"),
        tag("h1", _short(report.title)),
        tag("p", _short(line)) if line else None,
        tag("ul", *(tag("li", _short(fact)) for fact in facts if fact), class_="facts"),
        tag("p", f"! {wrong}", class_="wrong", role="note") if wrong else None,
    )


def _outcome(report: Report) -> Html:
    others = [knee.knee_sentence(report.knee)]
    if forgetting := report.forgetting():
        others.append(f"Perplexity on held-out text: {_told(forgetting)} (rising: it forgets).")
    if strange := report.strangeness():
        others.append(f"Perplexity of its texts to the reference: {_told(strange)} (rising: they become strange).")
    found = report.sentence or "Nothing was measured on the fixed prompts."
    message = report.status.message
    return _section(
        "What came of it",
        tag("p", _short(found, 2000), class_="lead"),
        tag("p", _short(message)) if message else None,
        *(tag("p", other) for other in others if other),
    )


def _counted(report: Report) -> Html:
    if not report.behaviours:
        return Html("")
    known = [heading for heading in COUNTS if report.verdicts or heading != COUNTS[-1]]
    rows = [row[: len(known)] for row in report.counts_told()]
    return _section(
        "What it does, counted",
        tag("p", "Of the completions of the fixed prompts. The interval is Wilson\u2019s, of the share after; "
            "\u201cno more than chance\u201d is said by an exact sign test over the prompts.", class_="muted"),
        _table(known, rows),
    )  # fmt: skip


def _health(report: Report) -> Html:
    if len(report.metrics) < WINDOW:
        return _section("Is it healthy?", tag("p", f"Lamps need {WINDOW} updates; this run has fewer."))
    lamps = diagnose(Records(report.config, report.metrics, report.samples, report.events))
    lit = [lamp for lamp in lamps if lamp.state in ("red", "amber")]
    rest = [lamp for lamp in lamps if lamp not in lit]
    return _section(
        "Is it healthy?",
        *(_lamp(lamp) for lamp in lit),
        None if lit else tag("p", "Nothing is lit."),
        tag(
            "details",
            tag("summary", f"The {len(rest)} lamps that are not lit"),
            _table(["Lamp", "State", "What was seen"], [(lamp.label, lamp.state, lamp.evidence) for lamp in rest]),
        ),
    )


def _lamp(lamp: Alert) -> Html:
    updates = ", ".join(map(str, lamp.updates[-8:]))
    return tag(
        "div",
        tag("strong", f"{lamp.state.capitalize()}: {lamp.label}. "),
        f"{lamp.evidence}{f' Seen at updates {updates}.' if updates else ''}",
        tag("p", f"Rule: {lamp.rule}", class_="muted"),
        tag("p", f"Likely cause: {lamp.cause}") if lamp.cause else None,
        tag("p", f"Try: {lamp.as_data()['remedy']}.") if lamp.remedies else None,
        class_=f"lamp {lamp.state}",
    )


def _curves(report: Report) -> Html:
    if not report.metrics:
        return _section("Curves", tag("p", "There is no update yet."))
    table = frames.metrics(report.metrics).set_index("update")
    panels = [_with_dashes(panel) for panel in report.panels()]
    panels += [
        Panel(title, f"{note}, by update", [Line(table[name], colour)]) for name, title, note, colour in SMALL
        if table[name].notna().any()
    ]  # fmt: skip
    wrong = report.wrong_on_purpose
    names = [name for name in FIGURES if table[name].notna().any()]
    chosen = table.iloc[_spread(len(table), MOST_ROWS)]
    rows = [(str(update), *(_figure(row[name]) for name in names)) for update, row in chosen.iterrows()]
    fewer = f", {len(rows)} of {len(table)} updates" if len(rows) < len(table) else ""
    return _section(
        "Curves",
        tag("p", f"! {wrong}", class_="wrong") if wrong else None,
        tag("div", *map(svg.chart, panels), class_="charts"),
        tag(
            "details",
            tag("summary", f"The same as a table{fewer}"),
            _table(["Update", *(FIGURES[name] for name in names)], rows, numbers=True),
        ),
    )


def _with_dashes(panel: Panel) -> Panel:
    """A panel whose lines are told apart by more than their colour; of behaviours only as many as have one."""
    return panel._replace(lines=list(panel.lines)[: len(MANY)])


def _texts(report: Report) -> Html:
    pairs = report.pairs
    if not pairs:
        return _section("Before and after", tag("p", "The run answered no fixed prompts after training."))
    shown: list[Html] = []
    room = MOST_TEXT
    for pair in pairs[:MOST_PAIRS]:
        drawn = _pair(report.config, pair)
        room -= len(drawn.encode())
        if room < 0:
            break
        shown.append(drawn)
    count = f"The first {len(shown)} of {len(pairs)}" if len(shown) < len(pairs) else f"All {len(pairs)}"
    return _section(
        "Before and after",
        tag("p", f"{count} answers to the fixed prompts, not the best ones; the same random numbers on both sides. "
            f"Scores in {report.unit}.", class_="muted"),
        *shown,
    )  # fmt: skip


def _pair(config: RunConfig, pair: before_after.Pair) -> Html:
    return tag(
        "article",
        tag("div", _short(pair.before.prompt, MOST_CHARACTERS), class_="prompt"),
        tag("div", _side(config, pair.before, "Before"), _side(config, pair.after, "After"), class_="sides"),
        class_="pair",
    )


def _side(config: RunConfig, item: Sample, name: str) -> Html:
    found = counted.of_config(config)
    marks = meters.marks_of(item, found)
    shows = [f"{one.words}: {'yes' if mark else 'no'}" for one in found if (mark := marks.get(one.name)) is not None]
    figures = f"score {_figure(item.score)}, {_figure(item.kl)} nats"
    return tag(
        "div",
        tag("span", f"{name}, {figures}", class_="muted"),
        tag("div", _short(item.completion.strip(), MOST_CHARACTERS), class_="answer"),
        tag("span", _short("; ".join(shows)), class_="muted") if shows else None,
        class_=f"side {name.lower()}",
    )


def _settings(report: Report) -> Html:
    config = report.config
    preset = catalog.preset_titled(config.about.title, config.name)
    if preset is None:
        changed = differences(config, RunConfig(rewards=config.rewards, judges=config.judges))
        what = "It belongs to no preset that ships here. What is not at its default:"
    else:
        changed = differences(config, preset)
        what = f"What differs from the preset \u201c{preset.about.title}\u201d:"
    if not changed:
        return _section("Settings", tag("p", f"All as in the preset \u201c{config.about.title}\u201d."))
    labels = {field: knob["label"] for field, knob in knobs().items()}
    rows = [
        (labels.get(field, field), telling.in_words(field, before), telling.in_words(field, after))
        for field, (before, after) in changed.items()
    ]
    return _section("Settings", tag("p", what), _table(["Setting", "Preset" if preset else "Default", "Here"], rows))


def _cost(report: Report) -> Html:
    ledger = report.ledger
    if ledger is None:
        return Html("")
    rows = [
        (phase.name, f"{phase.seconds:.1f}", compute.operations_in_words(phase.operations)) for phase in ledger.phases
    ]
    return _section(
        "What it cost",
        tag("p", compute.ledger_sentence(ledger)),
        _table(["Phase", "Seconds", "Operations, counted"], rows),
    )


def _events(report: Report) -> Html:
    told = [event for event in report.events if event.message]
    if not told:
        return Html("")
    rows = [(str(event.update), event.kind.replace("_", " "), event.message) for event in told[:MOST_EVENTS]]
    more = len(told) - len(rows)
    return _section(
        "What happened on the way",
        _table(["After update", "What", ""], rows),
        tag("p", f"And {more} more.", class_="muted") if more else None,
    )


def _configuration(report: Report) -> Html:
    whole = report.config.to_yaml()
    cut = len(whole) > MOST_CONFIGURATION
    return _section(
        "Configuration",
        tag("p", "Saved as a .yaml file, `python -m playground train FILE` runs it again.", class_="muted")
        if not cut
        else tag("p", f"Its first {MOST_CONFIGURATION:,} characters.", class_="muted"),
        tag("pre", whole[:MOST_CONFIGURATION]),
    )


def _foot(report: Report) -> Html:
    return tag(
        "footer",
        f"Run {report.run_id}. Written by the RLHF Playground {__version__} from what the run recorded. The score is "
        "the reward that was trained on, measured on few prompts: no measure of truth, safety or quality elsewhere.",
    )


def _section(heading: str, *children: Html | str | None) -> Html:
    return tag("section", tag("h2", heading), *children)


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> Html:
    kind = "number" if numbers else None
    head = tag("tr", *(tag("th", heading, scope="col", class_=kind) for heading in headings))
    body = [tag("tr", *(tag("td", _short(cell), class_=kind) for cell in row)) for row in rows]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="wide")


def _spread(count: int, most: int) -> list[int]:
    """Places of at most so many rows, evenly, the last among them."""
    return list(range(count)) if count <= most else sorted({round(n * (count - 1) / (most - 1)) for n in range(most)})


def _short(words: str, most: int = MOST_WORDS) -> str:
    return words if len(words) <= most else f"{words[:most]} \u2026"


def _figure(value: Any) -> str:
    return "none" if value is None or value != value else svg.figure(float(value))


def _told(pair: tuple[float, float]) -> str:
    return f"{_figure(pair[0])} \u2192 {_figure(pair[1])}"
