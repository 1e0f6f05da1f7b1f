"""A run with `experiments: true` is marked in whatever leaves the playground, and in every list and view of runs."""

import json

import pytest

from playground import exports
from playground.exports import card, csv_tables, curves, html_report, push, saving
from playground.exports.report import Report
from playground.runs.folder.records import Label
from playground.setup import catalog
from playground.ui.feed import run_serializer
from tests.exports import saved_runs

WORDS = "Wrong on purpose: The score enters the advantages with the wrong sign."
WRITTEN = card.Written("merged", 3, 10, "fp32")


def write(outputs, run_id, **changes):
    config = catalog.preset("kinder-reviews").model_copy(update=changes)
    return saved_runs.write_records(outputs, run_id, config)


@pytest.fixture
def wrong(outputs):
    return write(outputs, "wrong", experiments=True, faults=("reward-sign",))


@pytest.fixture
def usual(outputs):
    return write(outputs, "usual")


def exported(run):
    """Every export that is text, by name."""
    report = Report.of(run)
    config = report.config
    planned = push.PushPlan("me", "me/x", False, True, run.path, 1, "apache-2.0")
    return {
        "yaml": exports.yaml_text(config),
        "trl": exports.trl_script(config),
        "csv": csv_tables.metrics_csv(config, report.metrics, report.events),
        "samples": csv_tables.samples_csv(report.samples, config),
        "behaviours": csv_tables.behaviours_csv(report.behaviours, config),
        "html": html_report.page(report),
        "card": card.text(report, WRITTEN),
        "push": "\n".join(push.in_words(planned, config)),
        "summary": json.dumps(report.summary()),
        "page": json.dumps(run_serializer.run_summary(run.id, config, Label())),
    }


def test_a_run_that_is_wrong_on_purpose_is_marked_in_every_export_and_on_the_page_and_a_usual_run_in_none(wrong, usual):
    assert [name for name, text in exported(wrong).items() if WORDS not in text] == []
    marked = [name for name, text in exported(usual).items() if "on purpose" in text or "wrong-on-purpose" in text]
    assert marked == []


def test_the_picture_of_the_card_says_what_is_wrong_on_purpose(wrong, usual, tmp_path, monkeypatch):
    warnings = []
    monkeypatch.setattr(curves, "png", lambda panels, warning="": warnings.append(warning) or b"")

    class Service:
        def ask(self, *_):
            yield {"parameters": 10, "precision": "fp32"}

    monkeypatch.setattr(saving, "checkpoint_of", lambda run, *_: run.checkpoints_path / "update-000002")
    for run in (wrong, usual):
        (run.checkpoints_path / "update-000002").mkdir(parents=True)
        saving.save(run, Service(), "merged", tmp_path / run.id)
    assert warnings == [WORDS, ""]
