"""Trackers: an event file that a reader of the format understands, and the calls that trackio and W&B would get."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from unittest import mock

import pytest
from tensorboardX.proto.event_pb2 import Event

from playground.exports import trackers
from playground.exports.report import Report
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation
from playground.runs.folder.writer import RunWriter
from tests.support import sample, small_config, update_metrics

SECRET = "hf_thisisasecrettokenthatnobodysees"


@pytest.fixture
def run(outputs, monkeypatch):
    """A finished run of three updates with two evaluations."""
    monkeypatch.setenv("HF_TOKEN", SECRET)
    made = RunDirectory.create(outputs, small_config(), "one")
    writer = RunWriter(made, 3)
    writer.samples([sample(number, "before", float(number)) for number in range(3)])
    writer.evaluation(Evaluation(update=0, stage="before", perplexity_text=4.0))
    for update in (1, 2, 3):
        writer.metrics(update_metrics(update, terms={"length": 3.0}, entropy=None))
        writer.set_status(update=update)
    writer.samples([sample(number, "after", number + 1.0) for number in range(3)])
    writer.evaluation(Evaluation(update=3, stage="after", perplexity_text=5.0))
    writer.finish("finished")
    return made


def read_events(path: Path):
    """The events of a file: each record is a length, its checksum, the data, its checksum."""
    data = path.read_bytes()
    while data:
        length = struct.unpack("<Q", data[:8])[0]
        yield Event.FromString(data[12 : 12 + length])
        data = data[16 + length :]


def test_tensorboard_gets_every_curve_and_the_configuration(run, tmp_path):
    handed = trackers.to_tensorboard(Report.of(run), tmp_path / "logs")
    events = list(read_events(Path(handed.where)))
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
    assert scalars["text/perplexity"] == {0: 4.0, 3: 5.0}
    assert scalars["fixed_prompts/score"] == {0: 1.0, 3: 2.0}
    assert b"seed: 0" in texts["configuration/text_summary"]
    assert b"state: finished" in texts["summary/text_summary"]
    assert {event.wall_time for event in events if event.step == 2} == {run.status().started_at + 4.0}
    assert SECRET.encode() not in Path(handed.where).read_bytes()


@pytest.mark.parametrize("name", ["trackio", "wandb"])
def test_trackio_and_wandb_get_configuration_history_and_summary_and_nothing_else(run, tmp_path, monkeypatch, name):
    package = mock.MagicMock()
    package.init.return_value = package  # of wandb what logs is the run, of trackio the package
    monkeypatch.setitem(sys.modules, name, package)
    trackers.TRACKERS[name](Report.of(run), tmp_path / name)
    began = package.init.call_args.kwargs
    assert (began["name"], began["config"]["ppo.num_updates"], began["project"]) == ("one", 3, "rlhf-playground")
    logged = [(call.kwargs["step"], call.args[0]) for call in package.log.call_args_list]
    steps = [step for step, _ in logged]
    assert steps[:4] == [0, 1, 2, 3]
    assert steps == sorted(steps)
    assert logged[0][1] == {
        "behaviours/ends": 1.0,
        "behaviours/parses": 0.0,
        "fixed_prompts/score": 1.0,
        "text/perplexity": 4.0,
    }
    last = logged[3][1]
    assert last["objective/kl"] == 3.0 == last["playground/kl_to_reference"]
    assert last["text/perplexity"] == 5.0
    summary = json.dumps([call.args for call in (*package.log.call_args_list[4:], *package.summary.update.mock_calls)])
    assert "outcome/gain" in summary
    assert "behaviours/ends_before" in summary
    assert package.finish.called
    everything = str(package.mock_calls)
    assert SECRET not in everything
    assert "Prompt 0" not in everything
    assert name == "trackio" or package.Settings.call_args.kwargs["mode"] == "offline"
