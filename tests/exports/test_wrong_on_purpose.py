"""A run with `experiments: true` is marked in whatever leaves the playground, and in every list and view of runs."""

from __future__ import annotations

import csv
import io
import json

import pytest

from playground import cli, exports
from playground.exports import card, csv_tables, html_report, pictures, push
from playground.exports.report import Report
from playground.insight import meters
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Label
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog, telling
from playground.ui.live import run_serializer
from tests.support import sample, update_metrics

WORDS = "Wrong on purpose: The score enters the advantages with the wrong sign."
WRITTEN = card.Written("merged", 3, 10, "fp32", None)


def write(outputs, run_id, **changes):
    config = catalog.preset("kinder-reviews").model_copy(update=changes)
    run = RunDirectory.create(outputs, config, run_id)
    writer = RunWriter(run, 3)
    writer.samples([sample(number, "before", 0.0) for number in range(3)])
    writer.metrics(update_metrics(1))
    writer.metrics(update_metrics(2))
    writer.samples([sample(number, "after", 1.0) for number in range(3)])
    writer.finish("finished")
    return run


@pytest.fixture
def wrong(outputs):
    return write(outputs, "wrong", experiments=True, faults=("reward-sign",))


@pytest.fixture
def usual(outputs):
    return write(outputs, "usual")


def told_by(run) -> dict[str, str]:
    """Every export that is text, by name."""
    report = Report.of(run)
    config = report.config
    planned = push.Plan("me", "me/x", False, True, run.path, 1, "apache-2.0")
    return {
        "yaml": exports.yaml_text(config),
        "trl": exports.trl_script(config),
        "csv": csv_tables.metrics_csv(config, report.metrics, report.events),
        "samples": csv_tables.samples_csv(report.samples, config),
        "behaviours": csv_tables.behaviours_csv(meters.meters(config, report.samples), config),
        "html": html_report.page(report),
        "card": card.text(report, WRITTEN),
        "push": "\n".join(push.in_words(planned, config)),
        "summary": json.dumps(report.summary()),
        "page": json.dumps(run_serializer.run_summary(run.id, config, Label())),
    }


def test_it_is_marked_in_every_export_and_on_the_page(wrong):
    missing = [name for name, text in told_by(wrong).items() if WORDS not in text]
    assert missing == []


def test_nothing_of_it_is_said_of_a_usual_run(usual):
    assert [name for name, text in told_by(usual).items() if "on purpose" in text or "wrong-on-purpose" in text] == []


def test_every_row_of_a_table_says_it(wrong, usual):
    table = csv_tables.metrics_csv(wrong.config(), wrong.metrics(), [])
    found = list(csv.DictReader(io.StringIO(table)))
    assert [row["wrong_on_purpose"] for row in found] == [WORDS, WORDS]
    assert "wrong_on_purpose" not in csv_tables.metrics_csv(usual.config(), usual.metrics(), [])


def test_the_picture_of_the_card_says_it(wrong, usual, monkeypatch):
    given = []
    monkeypatch.setattr(pictures, "png", lambda panels, warning="": given.append(warning) or b"")
    for run in (wrong, usual):
        Report.of(run).curves()
    assert given == [WORDS, ""]
    monkeypatch.undo()
    panels = Report.of(wrong).panels()
    assert pictures.png(panels, WORDS) != pictures.png(panels)


def test_what_is_allowed_and_not_planted_is_said_too(outputs):
    run = write(outputs, "allowed", experiments=True)
    assert telling.wrong_on_purpose(run.config()).startswith("An experiment: what is knowingly wrong is allowed here")
    assert "An experiment: what is knowingly wrong" in exports.yaml_text(run.config())


def test_the_command_line_says_it_of_a_run_and_in_the_list(outputs, wrong, usual, capsys):
    def printed(*arguments):
        with pytest.raises(SystemExit, match="0"):
            cli.main([*arguments, "--outputs", str(outputs)])
        return " ".join(capsys.readouterr().out.split())

    assert "careful Wrong on purpose: The score enters the advantages with the wrong sign." in printed("show", "wrong")
    assert "careful" not in printed("show", "usual")
    assert json.loads(printed("show", "wrong", "--json"))["wrong_on_purpose"] == WORDS
    assert printed("runs").count("Wrong on purpose") == 1
    assert {run.id: run.wrong_on_purpose for run in history.list_runs(outputs)} == {"wrong": WORDS, "usual": ""}
