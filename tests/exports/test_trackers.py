"""Trackers: an event file that a reader of the format understands, and the calls that trackio and W&B would get."""

import json
import struct
import sys
from pathlib import Path
from unittest import mock

import pytest
from tensorboardX.proto.event_pb2 import Event

from playground.exports import trackers
from playground.exports.report import Report
from tests.exports import saved_runs
from tests.support import small_config

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
    log = Path(trackers.to_tensorboard(Report.of(run), tmp_path / "logs").where)
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
    counted = {"behaviours/ends": 1.0, "behaviours/parses": 0.0}
    assert logged[0][1] == {**counted, "fixed_prompts/score": 0.25, "text/perplexity": 4.0}
    last = logged[3][1]
    assert last["objective/kl"] == 3.0 == last["playground/kl_to_reference"]
    assert last["text/perplexity"] == 7.0
    summary = json.dumps([call.args for call in (*package.log.call_args_list[4:], *package.summary.update.mock_calls)])
    assert all(name in summary for name in ("outcome/gain", "behaviours/ends_before"))
    assert package.finish.called
    assert not any(text in str(package.mock_calls) for text in (SECRET, "Prompt 0"))
    assert name == "trackio" or package.Settings.call_args.kwargs["mode"] == "offline"
