"""Runs as figures for a paper: tables against the records, charts that are whole, and names that are all defined."""

import io
import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from playground.analysis.run_report import RunReport
from playground.exports import csv_tables, figures, trackers
from playground.exports.figures import PaperPanel, RunGroup
from playground.runs.sweeps import sweep_record
from tests.exports import saved_runs
from tests.support import PROJECT, small_config
from tests.ui import fake_run

RED, GREEN = "=red", "<b>&$"  # names that somebody chose


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    """Two settings on two seeds, with a monitor; the last run was stopped."""
    outputs = tmp_path_factory.mktemp("swept") / "outputs"
    vary = {"kl.coef": [0.1, 0.5], "judges": [[{"kind": "grammar"}]], "seed": [0, 1]}
    fake_run.write_sweep(outputs, "leash", vary, finished=3)
    return RunGroup.of_sweep(outputs, sweep_record.find(outputs, "leash"))


@pytest.fixture(scope="module")
def tables(group):
    """Runs and curves as who has the files reads them."""
    found = itertools.islice(figures.files(group), 2)
    return [pd.read_csv(io.BytesIO(content)) for _, content in found]


def means_of(run, update, name):
    return np.mean([getattr(item, name) for item in run.samples() if item.update == update])


def test_a_run_is_a_row_with_its_settings_and_what_came_of_it(group, tables):
    runs, _ = tables
    assert runs[["run", "kl.coef", "seed", "state"]].to_numpy().tolist() == [
        ["leash-1", 0.1, 0, "finished"],
        ["leash-2", 0.1, 1, "finished"],
        ["leash-3", 0.5, 0, "finished"],
        ["leash-4", 0.5, 1, "stopped"],
    ]
    for row, run in zip(runs.itertuples(), group.runs.values(), strict=True):
        last = run.samples()[-1].update
        assert row.gain == pytest.approx(means_of(run, last, "score") - means_of(run, 0, "score"))
        assert row.gain_low < row.gain < row.gain_high
        assert row.kl == pytest.approx(means_of(run, last, "kl"))
    assert (runs["monitor.grammar_low"] < runs["monitor.grammar"]).tolist() == [True] * 3 + [False]
    assert (runs["behaviours.ends_low"] <= runs["behaviours.ends"]).all()


def test_curves_are_long_and_have_each_figure_with_its_unit(group, tables):
    _, curves = tables
    assert list(curves) == ["run", "update", "figure", "value", "unit"]
    assert not curves.duplicated(["run", "update", "figure"]).any()
    known = curves.set_index(["run", "update", "figure"])
    third = group.runs["leash-3"]
    assert known.loc[("leash-3", 7, "score_mean"), "value"] == third.metrics()[6].score_mean
    assert known.loc[("leash-3", 10, "fixed_prompts.kl"), "value"] == pytest.approx(means_of(third, 10, "kl"))
    gain = means_of(third, 10, "score") - means_of(third, 0, "score")
    assert known.loc[("leash-3", 10, "gain")].tolist() == [pytest.approx(gain), "sd"]
    assert known.loc[("leash-3", 10, "monitor.grammar"), "unit"] == "points"
    assert known.loc[("leash-3", 10, "kl_coef"), "unit"] == "sd per nat"


def test_reward_and_quality_stand_against_kl_as_means_over_the_seeds(group, tables):
    _, curves = tables
    drawn = dict(figures.charts(group, curves))
    reward, quality = drawn["reward-and-quality-against-kl"]
    assert (reward.x, reward.y) == ("fixed_prompts.kl, nats per completion", "gain, sd")
    assert (quality.title, quality.y) == ("True quality: monitor.grammar", "monitor.grammar, points")
    (label, places, curve, each), (_, _, other, _) = reward.lines
    assert label.startswith("kl.coef = 0.1")
    at = curves[(curves["figure"] == "fixed_prompts.kl") & curves["run"].isin(["leash-1", "leash-2"])]
    assert places == pytest.approx(at.groupby("update")["value"].mean().tolist())
    assert (curve.seeds[-1], other.seeds[-1], len(each)) == (2, 1, 2)
    assert {"score_mean", "kl_to_reference", "explained_variance", "monitor.grammar"} <= drawn.keys()


def test_a_chart_says_what_it_is_how_many_seeds_it_has_and_how_it_is_made_again(group, tables):
    panel = PaperPanel(
        "", f"{GREEN} update", "score_mean, sd", [(GREEN, [1.0], figures.over_seeds.curve([{1: 2.0}]), [])]
    )
    below = figures.caption(group, dict(figures.charts(group, tables[1]))["score_mean"])
    files = figures.drawn("score_mean", [panel], below)
    assert files == figures.drawn("score_mean", [panel], below)
    texts = " ".join(ElementTree.fromstring(files["svg"]).itertext())
    assert all(words in texts for words in (f"{GREEN} update", "score_mean, sd", "n = 2 seeds a line (seed 0, 1)"))
    assert "python -m playground sweep export leash" in below
    assert "sweep settings.yaml --vary kl.coef=0.1,0.5" in below
    assert below in texts.replace("\n", " ")
    assert files["pdf"].startswith(b"%PDF")
    assert b"/Subject" in files["pdf"]
    assert b"/FontType3" not in files["pdf"].replace(b" ", b"")


def test_every_name_in_a_table_or_a_tracker_is_defined(group, tables, tmp_path):
    text = (PROJECT / "docs" / "definitions.md").read_text(encoding="utf-8")
    names = {name.replace("NAME", ".+") for name in re.findall(r"`([^`\n]+)`", text)}
    run = saved_runs.write_records(tmp_path, "one", small_config(), terms={"length": 3.0})
    report, runs, curves = RunReport.of(run), *tables
    texts = [
        csv_tables.metrics_csv(report),
        csv_tables.samples_csv(RunReport.of(group.runs["leash-1"])),
        csv_tables.behaviours_csv(report),
    ]
    found = {name for one in texts for name in one.partition("\r\n")[0].split(",")} | {
        *runs,
        *curves,
        *curves["figure"],
    }
    tracked = {name for step in trackers.steps(report).values() for name in step} | {*report.summary()}
    found |= {re.sub("^playground.", "", name.replace("/", ".")) if "playground/" in name else name for name in tracked}
    settings = {"kl.coef", "judges"}
    ends = {*runs} - settings
    assert len(found) > 100
    assert ends <= found
    known = [re.compile(name + ("(_low|_high)?" if name[0] not in "f" else "")) for name in names]
    assert sorted(name for name in found - settings if not any(one.fullmatch(name) for one in known)) == []
