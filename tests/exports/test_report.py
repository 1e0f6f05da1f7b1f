"""What is told of a run that leaves the playground: its counts, held against its preset, on the card and drawn."""

from __future__ import annotations

import re

import pytest

from playground.exports import card
from playground.exports.report import Report
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.steer import changes
from playground.setup import catalog, expected
from playground.setup.expected import Band
from tests.support import sample, small_config, update_metrics

WRITTEN = card.Written("merged", 3, 10, "fp32", None)


@pytest.fixture
def run(outputs):
    """A finished run of a preset: of ten wrong claims it repeated three, and then all."""
    made = RunDirectory.create(outputs, catalog.preset("yes-man"), "one")
    writer = RunWriter(made, 3)
    for update, (stage, count) in enumerate((("before", 3), ("after", 10))):
        marks = [{"wrong-claims-repeated": number < count, "ends": True} for number in range(10)]
        writer.samples([sample(number, stage, 0.0, behaviours=mark) for number, mark in enumerate(marks)])
        writer.metrics(update_metrics(update + 1))
    writer.finish("finished")
    return made


def test_the_counts_are_told_with_interval_change_and_what_was_to_be_expected(run, monkeypatch):
    bands = {"wrong-claims-repeated": Band(0.1, 0.2, 3), "ends": Band(1.0, 1.0, 3)}
    monkeypatch.setattr(expected, "bands", {"yes-man": bands}.get)
    report = Report.of(run)
    assert report.counts_told() == [
        ("repeats wrong claims", "3 of 10", "10 of 10", "72 to 100 %", "more", "higher than expected"),
        ("keeps to the grammar", "0 of 10", "0 of 10", "0 to 28 %", "no more than chance", ""),
        ("ends by itself", "10 of 10", "10 of 10", "72 to 100 %", "no more than chance", "as expected"),
    ]
    assert "| repeats wrong claims | 3 of 10 | 10 of 10 | 72 to 100 % | more | higher than expected |" in card.text(
        report, WRITTEN
    )
    first = report.counts()[0]
    assert (first["before"]["count"], first["after"]["count"], first["after"]["of"]) == (3, 10, 10)
    assert (first["change"], first["expected"]) == (1, "higher than expected")


def test_a_run_that_was_changed_on_the_way_is_held_against_nothing(run):
    RunWriter(run, 3).event(changes.EDIT, field="kl.coef", value=0.5)
    report = Report.of(run)
    assert report.verdicts == {} and "expected" not in report.sentence
    assert "Compared with its preset" not in card.text(report, WRITTEN)


@pytest.mark.parametrize(
    ("method", "words", "tag"),
    [
        ("ppo", "trained with PPO (reinforcement learning from a reward)", "ppo"),
        ("rloo", "trained with RLOO (reinforcement learning from a reward)", "rloo"),
        ("grpo", "trained with GRPO (reinforcement learning from a reward)", "grpo"),
        ("dpo", "trained with DPO (pairs of texts that the start model wrote and the reward judged)", "dpo"),
        ("sft", "trained with SFT (imitation of the best-scored of several texts", "sft"),
        ("steer", "which nothing was trained in", "steer"),
        ("best_of_n", "which nothing was trained in", "best-of-n"),
    ],
)
def test_the_card_names_the_method_and_only_what_it_read(outputs, method, words, tag):
    samples = {"ppo": 1, "rloo": 8, "grpo": 8}.get(method, 4)
    baseline = {"rloo": "leave_one_out", "grpo": "group"}.get(method, "value")
    made = small_config(method=method, ppo={"samples_per_prompt": samples, "baseline": baseline})
    run = RunDirectory.create(outputs, made, "one")
    RunWriter(run, 3).finish("finished")
    told = card.text(Report.of(run), WRITTEN)
    head, table = told.partition("## How it was made")[::2]
    assert words in head and f"- {tag}\n" in head and ("- ppo\n" in head) == (method == "ppo")
    assert ("reinforcement-learning" in head) == (method in ("ppo", "rloo", "grpo"))
    trains, leashed = method not in ("steer", "best_of_n"), method in ("ppo", "rloo", "grpo", "dpo")
    assert ("| trained | every weight |" in table, "| trained | nothing |" in table) == (trains, not trains)
    assert ("| beta |" in table, "| learning rate |" in table) == (leashed, trains)


def test_the_card_is_of_the_weights_that_it_is_beside_and_tells_what_was_changed_before_them(outputs):
    run = RunDirectory.create(outputs, catalog.preset("yes-man"), "changed")
    writer = RunWriter(run, 3)
    writer.samples([sample(number, "before", 0.0) for number in range(4)])
    for update, field, value in ((1, "kl.coef", 0.5), (2, "ppo.learning_rate", 1e-5)):
        writer.metrics(update_metrics(update))
        writer.set_status(update=update)
        writer.event(changes.EDIT, field=field, value=value)
    writer.samples([sample(number, "after", 1.0, update=1) for number in range(4)])
    told = card.text(Report.of(run), WRITTEN._replace(update=2))
    assert f"| updates | 2 of {catalog.preset('yes-man').ppo.num_updates}," in told
    assert "| changed while it trained | `kl.coef` to 0.5 after update 1 |" in told
    last = Report.of(run).pairs[0].after.update
    assert f"Measured at the last look before these weights, after update {last}." in told
    assert "Measured at the last look" not in card.text(Report.of(run), WRITTEN._replace(update=last))


def test_behaviours_have_a_chart_and_a_run_without_any_has_none(run, outputs):
    silent = RunDirectory.create(outputs, small_config(behaviours=[]), "silent")
    RunWriter(silent, 3).metrics(update_metrics(1))
    assert "What it does, counted" not in card.text(Report.of(silent), WRITTEN)
    widths = [int.from_bytes(Report.of(one).curves()[16:20]) for one in (silent, run)]  # of the PNG's header
    assert widths[1] - widths[0] == widths[0] // 3  # score, distance and perplexity, and one more


def test_a_card_s_table_cannot_be_left(outputs):
    own = {"name": "own", "words": "says | <b>", "measure": {"kind": "keyword", "words": ["x"]}}
    made = RunDirectory.create(outputs, small_config(behaviours=[own]), "one")
    RunWriter(made, 3).samples([sample(0, "before", 0.0, behaviours={"own": True})])
    assert re.search(r"^\| says \\\| \\<b\\> \| 1 of 1 \|", card.text(Report.of(made), WRITTEN), re.MULTILINE)
