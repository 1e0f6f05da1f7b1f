"""Figures for other programs: tables under our names and under TRL's, event files, and the calls of trackio and W&B."""

import csv
import io
import json
import math
import struct
import sys
from pathlib import Path
from unittest import mock

import pytest
from tensorboardX.proto.event_pb2 import Event

from playground.analysis.run_report import RunReport
from playground.exports import csv_tables, trackers
from playground.runs.folder.records import Evaluation, Sample, UpdateMetrics
from tests.exports import saved_runs
from tests.support import data_beside, sample, small_config, update_metrics

TRL_NAMES = {*data_beside(__file__, "tables.yaml")["trl"]}


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_trl_s_figures_are_ours_in_its_units():
    ours = {"kl_coef": 0.5, "perplexity_reference": math.exp(0.7), "completion_length": 10.0, "eos_fraction": 0.75}
    figures = csv_tables.trl_figures(update_metrics(2, learning_rate=3e-4, **ours), small_config())
    assert set(figures) == TRL_NAMES
    sums = {"objective/kl": 2.0, "objective/non_score_reward": -1.0, "objective/scores": 1.0}
    sums |= {"objective/rlhf_reward": 0.0, "val/num_eos_tokens": 36, "episode": 128, "lr": 3e-4}
    assert {name: figures[name] for name in sums} == sums
    assert figures["objective/entropy"] == pytest.approx(10 * 0.7 - 2.0)  # -log pi = -log pi_ref - log(pi / pi_ref)
    nothing = csv_tables.trl_figures(update_metrics(1, kl_to_reference=None), small_config())
    assert nothing["objective/entropy"] is None
    assert nothing["objective/non_score_reward"] is None


def test_the_table_of_updates_has_every_field_terms_estimates_and_the_text_s_perplexity():
    metrics = [
        update_metrics(1, terms={"=length": 3.0}, kl_estimates={"k3": 0.5}),
        update_metrics(2, terms={"=length": None}, kl_estimates={"k3": 0.25}, score_mean=None),
    ]
    evaluations = [Evaluation(update=2, stage="after", perplexity_text=9)]
    table = rows(csv_tables.metrics_csv(RunReport(small_config(), (), metrics, (), evaluations)))
    by_name = {"terms", "contributions", "kl_estimates", "kl_spreads"}
    added = {"terms.length", "kl_estimates.k3", "perplexity_text", "changed_before"}
    assert set(table[0]) == UpdateMetrics.model_fields.keys() - by_name | TRL_NAMES | added
    columns = {name: [row[name] for row in table] for name in ("terms.length", "score_mean", "perplexity_text")}
    assert columns == {"terms.length": ["3.0", ""], "score_mean": ["0.5", ""], "perplexity_text": ["", "9.0"]}
    assert "perplexity_text" not in rows(csv_tables.metrics_csv(RunReport(small_config(), (), metrics)))[0]


def test_the_table_of_samples_has_every_field_and_runs_no_formula():
    samples = [
        sample(0, "before", 1.0, completion='=cmd|"x"', prompt="a\nb", scores={"length": 3.0}),
        sample(0, "before", None, completion=" @SUM(1)", kl=-2.0),
    ]
    first, second = rows(csv_tables.samples_csv(RunReport(small_config(), samples)))
    assert set(first) == Sample.model_fields.keys() - {"scores", "judges", "behaviours"} | {"scores.length"}
    assert (first["completion"], first["prompt"], first["scores.length"]) == ('\'=cmd|"x"', "a\nb", "3.0")
    assert (second["completion"], second["kl"]) == ("' @SUM(1)", "-2.0")


SECRET = "hf_thisisasecrettokenthatnobodysees"


@pytest.fixture
def run(outputs, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", SECRET)
    return saved_runs.write_records(outputs, "one", small_config(), terms={"length": 3.0}, entropy=None)


def read_events(path):
    """The events of a file: each record is a length, its checksum, the data, its checksum."""
    data = path.read_bytes()
    while data:
        length = struct.unpack("<Q", data[:8])[0]
        yield Event.FromString(data[12 : 12 + length])
        data = data[16 + length :]


def test_tensorboard_gets_every_curve_and_the_configuration(run, tmp_path):
    log = Path(trackers.handed_over("tensorboard", RunReport.of(run), tmp_path / "logs").where)
    events = list(read_events(log))
    assert events[0].file_version == "brain.Event:2"
    scalars, texts = {}, {}
    for event in events[1:]:
        (value,) = event.summary.value
        if value.HasField("tensor"):
            texts[value.tag] = value.tensor.string_val[0]
        else:
            scalars.setdefault(value.tag, {})[event.step] = value.simple_value
    assert scalars["playground/score_mean"] == {1: 0.5, 2: 1.0, 3: 1.5} == scalars["objective/scores"]
    assert scalars["playground/terms/length"] == {1: 3.0, 2: 3.0, 3: 3.0}
    assert "playground/entropy" not in scalars
    assert scalars["behaviours/ends"] == {0: 1.0, 3: 1.0}
    assert scalars["text/perplexity"] == {0: 4.0, 3: 7.0}
    assert scalars["fixed_prompts/score"] == {0: 0.25, 3: 1.75}
    assert b"seed: 0" in texts["configuration/text_summary"]
    assert b"state: finished" in texts["summary/text_summary"]
    assert {event.wall_time for event in events if event.step == 2} == {run.status().started_at + 4.0}
    assert SECRET.encode() not in log.read_bytes()


@pytest.mark.parametrize("name", ["trackio", "wandb"])
def test_trackio_and_wandb_get_configuration_history_and_summary_and_nothing_else(run, tmp_path, monkeypatch, name):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    package = mock.MagicMock()
    package.init.return_value = package  # of wandb what logs is the run, of trackio the package
    monkeypatch.setitem(sys.modules, name, package)
    trackers.handed_over(name, RunReport.of(run), tmp_path / name)
    began = package.init.call_args.kwargs
    assert (began["name"], began["config"]["ppo.num_updates"], began["project"]) == ("one", 3, "rlhf-playground")
    logged = [(call.kwargs["step"], call.args[0]) for call in package.log.call_args_list]
    steps = [step for step, _ in logged]
    assert steps[:4] == [0, 1, 2, 3]
    assert steps == sorted(steps)
    counted = {"behaviours/ends": 1.0, "behaviours/parses": 0.0, "behaviours/trained_reward": 0.0}
    assert logged[0][1] == {**counted, "fixed_prompts/score": 0.25, "text/perplexity": 4.0}
    last = logged[3][1]
    assert last["objective/kl"] == 3.0 == last["playground/kl_to_reference"]
    assert last["text/perplexity"] == 7.0
    summary = json.dumps([call.args for call in (*package.log.call_args_list[4:], *package.summary.update.mock_calls)])
    assert all(name in summary for name in ("outcome/gain", "behaviours/ends_before"))
    assert package.finish.called
    assert not any(text in str(package.mock_calls) for text in (SECRET, "Prompt 0"))
    assert name == "trackio" or package.Settings.call_args.kwargs["mode"] == "offline"
    trackers.TRACKERS[name](RunReport.of(run), tmp_path / name, "the key")  # while it trains: all attempts are one run
    began = package.init.call_args.kwargs
    assert (began["name"], began["resume"]) == ("one", "allow")
    assert name == "trackio" or (began["id"], package.Settings.call_args.kwargs["mode"]) == ("the key", "online")
