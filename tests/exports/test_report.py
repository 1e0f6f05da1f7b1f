"""What is said of a run that leaves the playground: its counts, the model card, and what is wrong with it on
purpose, which every list and view of runs says too."""

import dataclasses
import json

import numpy as np
import pytest
from huggingface_hub import ModelCard

from playground import exports
from playground.analysis.run_report import RunReport
from playground.exports import card, csv_tables, curves, html_report, push, saving
from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Label
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog, expected
from playground.setup.expected import Band
from playground.ui.feed import run_serializer
from tests.exports import saved_runs
from tests.model_folders import model_folder
from tests.support import AskedService, data_beside, sample, small_config, update_metrics

WRITTEN = card.Written("merged", 3, 10, "fp32")


@pytest.fixture
def run(outputs):
    """A finished run of a preset: of ten wrong claims it repeated three, and then all."""
    finished = RunDirectory.create(outputs, catalog.preset("yes-man"), "one")
    writer = RunWriter(finished, 3)
    for update, (stage, count) in enumerate((("before", 3), ("after", 10))):
        marks = [{"wrong-claims-repeated": number < count, "ends": True} for number in range(10)]
        writer.samples([sample(number, stage, 0.0, behaviours=mark) for number, mark in enumerate(marks)])
        writer.metrics(update_metrics(update + 1))
    writer.finish("finished")
    return finished


def test_the_counts_come_with_interval_change_and_what_was_to_be_expected(run, monkeypatch):
    bands = {"wrong-claims-repeated": Band(0.1, 0.2, 3), "ends": Band(1.0, 1.0, 3)}
    monkeypatch.setattr(expected, "bands", {"yes-man": bands}.get)
    report = RunReport.of(run)
    assert report.counts_in_words() == [
        ("repeats wrong claims", "3 of 10", "10 of 10", "72 to 100 %", "more", "higher than expected"),
        ("keeps to the grammar", "0 of 10", "0 of 10", "0 to 28 %", "no more than chance", ""),
        ("ends by itself", "10 of 10", "10 of 10", "72 to 100 %", "no more than chance", "as expected"),
    ]
    row = "| repeats wrong claims | 3 of 10 | 10 of 10 | 72 to 100 % | more | higher than expected |"
    assert f"\n{'|---' * 6}|\n{row}\n" in card.text(report, WRITTEN)
    first = report.counts()[0]
    assert (first["before"]["count"], first["after"]["count"], first["after"]["of"]) == (3, 10, 10)
    assert (first["change"], first["expected"]) == (1, "higher than expected")


def stranger(run, shift):
    """How often a run is said to have become stranger, of 200 whose batches differ by a tenth."""
    generator, said = np.random.default_rng(0), 0
    for _ in range(200):
        drift = np.linspace(0, shift, 30)
        logs = 1.5 + drift + 0.1 * generator.normal(size=30)
        metrics = [update_metrics(at + 1, perplexity_reference=float(np.exp(log))) for at, log in enumerate(logs)]
        report = dataclasses.replace(RunReport.of(run), metrics=metrics)
        said += any("they have become stranger" in remark for remark in report.remarks)
    return said / 200


def test_texts_are_said_to_have_become_stranger_by_more_than_the_noise_of_batches(run, monkeypatch):
    monkeypatch.setattr(RunReport, "plateau_sentence", "")  # it takes most of the time, and is tested by itself
    assert stranger(run, 0.0) < 0.05
    assert stranger(run, 0.5) > 0.95


@pytest.mark.parametrize(("method", "words"), data_beside(__file__, "tables.yaml")["cards"])
def test_the_card_names_the_method_and_only_what_it_read(outputs, method, words):
    options = {"template_options": {"enable_thinking": False}}
    config = small_config(method=method, ppo={"samples_per_prompt": 1 if method == "ppo" else 4}, prompts=options)
    text = card.text(RunReport.of(RunDirectory.create(outputs, config, "one")), WRITTEN)
    tags = ModelCard(text).data.tags
    assert words in text
    assert "`enable_thinking=False`: give `apply_chat_template` the same." in text
    assert tags[:3] == [method.replace("_", "-"), "rlhf", "rlhf-playground"]
    assert ("reinforcement-learning" in tags) == (method == "ppo")
    trains = method not in ("steer", "best_of_n")
    assert ("| trained | every weight |" in text, "| trained | nothing |" in text) == (trains, not trains)
    assert ("| beta |" in text) == (method in ("ppo", "dpo"))
    assert ("| learning rate |" in text) == trains


def test_the_card_is_of_the_weights_that_it_is_beside_and_tells_what_was_changed_before_them(outputs):
    config = catalog.preset("yes-man")
    run = RunDirectory.create(outputs, config, "changed")
    writer = RunWriter(run, 3)
    writer.samples([sample(number, "before", 0.0) for number in range(4)])
    for update, field, value in ((1, "kl.coef", 0.5), (2, "ppo.learning_rate", 1e-5)):
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
        writer.event(changes.EDIT, field=field, value=value)
    writer.samples([sample(number, "after", 1.0, update=1) for number in range(4)])
    text = card.text(RunReport.of(run), WRITTEN._replace(update=2))
    assert f"| updates | 2 of {config.ppo.num_updates}," in text
    assert "| changed while it trained | `kl.coef` to 0.5 after update 1 |" in text
    assert "Measured at the last evaluation before these weights, after update 1." in text
    assert "Measured at the last" not in card.text(RunReport.of(run), WRITTEN._replace(update=1))


def test_the_hub_reads_licence_base_and_data_from_the_card(outputs, tmp_path):
    folder = model_folder(tmp_path / "base")
    local = small_config(model={"source": str(folder)})
    assert card.licence_of(local) is None
    assert card.licence_of(small_config()) == "apache-2.0"
    (folder / "README.md").write_text("---\nlicense: mit\ntags: [a]\n---\n# Base\n")
    assert card.licence_of(local) == "mit"
    config = small_config(model={"source": "openai-community/gpt2"}, prompts={"source": "Anthropic/hh-rlhf"})
    facts = ModelCard(card.text(RunReport.of(RunDirectory.create(outputs, config, "one")), WRITTEN)).data
    assert (facts.license, facts.base_model, facts.datasets) == ("mit", "openai-community/gpt2", ["Anthropic/hh-rlhf"])
    assert (facts.library_name, facts.pipeline_tag) == ("transformers", "text-generation")
    shipped = ModelCard(card.text(RunReport.of(RunDirectory.create(outputs, small_config(), "two")), WRITTEN)).data
    assert (shipped.base_model, shipped.datasets) == (None, None)
    assert "datasets" not in card.front_matter(small_config(prompts={"source": "data/train.parquet"}), WRITTEN)


WORDS = "Wrong on purpose: The score enters the advantages with the wrong sign."


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
    report = RunReport.of(run)
    config = report.config
    planned = push.PushPlan("me", "me/x", False, True, run.path, 1, "apache-2.0")
    return {
        "yaml": exports.yaml_text(config),
        "trl": exports.trl_script(config),
        "csv": csv_tables.metrics_csv(report),
        "samples": csv_tables.samples_csv(report),
        "behaviours": csv_tables.behaviours_csv(report),
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
    service = AskedService({"parameters": 10, "precision": "fp32"})
    monkeypatch.setattr(saving, "checkpoint_of", lambda run, *_: run.checkpoints_path / "update-000002")
    for run in (wrong, usual):
        (run.checkpoints_path / "update-000002").mkdir(parents=True)
        saving.save(run, service, "merged", tmp_path / run.id)
    assert warnings == [WORDS, ""]
