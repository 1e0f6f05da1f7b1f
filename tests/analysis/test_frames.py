"""The records of a run as tables: every field, columns by name, and the kinds that a notebook expects."""

import math
import re

import pytest

from playground.analysis import frames, meters
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation, UpdateMetrics
from playground.runs.folder.writer import RunWriter
from tests.support import PROJECT, sample, small_config, update_metrics


@pytest.fixture
def run(outputs):
    """Two updates and two evaluations."""
    run = RunDirectory.create(outputs, small_config(), "one")
    writer = RunWriter(run, 2)
    writer.samples([sample(0, "before", 0.0, scores={"length": 3.0}, ended=None)])
    writer.evaluation(Evaluation(update=0, stage="before", perplexity_text=4.0))
    for update in (1, 2):
        writer.metrics(update_metrics(update, terms={"length": 2.0 * update} if update == 2 else {}, entropy=None))
    writer.samples([sample(0, "after", 1.5, tokens=None)])
    return run


def test_a_run_is_a_row_for_each_record_by_its_folder_or_its_path(run):
    metrics = frames.metrics(run)
    assert set(metrics) == (
        UpdateMetrics.model_fields.keys() - {"terms", "contributions", "kl_estimates", "kl_spreads"} | {"terms.length"}
    )
    assert (metrics["update"].tolist(), metrics["score_mean"].tolist()) == ([1, 2], [0.5, 1.0])
    assert math.isnan(metrics["terms.length"][0])
    assert metrics["terms.length"][1] == 4.0
    samples = frames.samples(str(run.path))
    assert samples["score"].tolist() == [0.0, 1.5]
    assert samples["scores.length"][0] == 3.0
    assert samples["tokens"].isna().tolist() == [False, True]
    assert samples["ended"].isna().tolist() == [True, False]
    assert frames.evaluations(run.path)["perplexity_text"].tolist() == [4.0]


def test_behaviours_are_columns_of_samples_and_counts_a_table_of_their_own(run):
    writer = RunWriter(run, 2)
    writer.samples(
        [sample(number, "after", 0.0, behaviours={"ends": number < 3, "parses": None}) for number in range(4)]
    )
    marks = frames.samples(run)
    assert marks["behaviours.ends"].tolist()[2:] == [True, True, True, False]
    assert marks["behaviours.parses"].isna().all()
    assert str(marks["behaviours.ends"].dtype) == "boolean"
    table = frames.shares(meters.meters(run.config(), run.samples()))
    last = table[table["behaviour"] == "ends"].loc[3]
    assert (last["words"], last["count"], last["of"], last["share"]) == ("ends by itself", 3, 4, 0.75)
    assert last["low"] == pytest.approx(0.3006, abs=1e-4)  # Wilson's, of 3 in 4
    assert len(frames.shares([])) == 0


def test_the_example_of_the_documentation_runs(run):
    text = (PROJECT / "docs" / "outputs.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(from playground.analysis import frames.*?)```", text, re.DOTALL)[1]
    names = {}
    exec(example.replace("outputs/kinder-reviews-20260131-101500", str(run.path)), names)
    assert (names["joined"].score_after - names["joined"].score_before).tolist() == [1.5]
