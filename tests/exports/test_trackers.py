"""Trackers: an event file that a reader of the format understands, and the calls that trackio and W&B would get."""

from __future__ import annotations

import json
import struct
import sys
import types
from pathlib import Path

import pytest
from tensorboardX.proto.event_pb2 import Event

from playground import cli
from playground.exports import trackers
from playground.exports.report import Report
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation
from playground.runs.folder.writer import RunWriter
from tests.support import sample, small_config, update_metrics

SECRET = "hf_thisisasecrettokenthatnobodysees"


@pytest.fixture
def run(outputs, monkeypatch):
    """A finished run of three updates with two looks."""
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


def test_tensorboard_gets_every_curve_histogram_and_the_configuration(run, tmp_path):
    handed = trackers.to_tensorboard(Report.of(run), tmp_path / "logs")
    events = list(read_events(Path(handed.where)))
    assert events[0].file_version == "brain.Event:2"
    scalars, histograms, texts = {}, {}, {}
    for event in events[1:]:
        (value,) = event.summary.value
        if value.HasField("histo"):
            histograms.setdefault(value.tag, {})[event.step] = value.histo
        elif value.HasField("tensor"):
            texts[value.tag] = value.tensor.string_val[0]
        else:
            scalars.setdefault(value.tag, {})[event.step] = value.simple_value
    assert scalars["playground/score_mean"] == {1: 0.5, 2: 1.0, 3: 1.5} == scalars["objective/scores"]
    assert scalars["playground/terms/length"] == {1: 3.0, 2: 3.0, 3: 3.0} and "playground/entropy" not in scalars
    assert scalars["behaviours/ends"] == {0: 1.0, 3: 1.0}
    assert scalars["text/perplexity"] == {0: 4.0, 3: 5.0} and scalars["fixed_prompts/score"] == {0: 1.0, 3: 2.0}
    histogram = histograms["fixed_prompts/scores"][3]
    assert (histogram.min, histogram.max, histogram.num, histogram.sum) == (1.0, 3.0, 3.0, 6.0)
    assert histogram.sum_squares == 14.0 and sum(histogram.bucket) == 3
    assert b"seed: 0" in texts["configuration/text_summary"] and b"state: finished" in texts["summary/text_summary"]
    assert {event.wall_time for event in events if event.step == 2} == {run.status().started_at + 4.0}
    assert SECRET.encode() not in Path(handed.where).read_bytes()


class Recorder(types.ModuleType):
    """A package that remembers what it was asked. `run` is what init gives back."""

    def __init__(self, name):
        super().__init__(name)
        self.calls = []
        self.summary = types.SimpleNamespace(update=lambda values: self.calls.append(("summary", values, {})))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments, **named):
            self.calls.append((name, *arguments, named))
            return self

        return call

    def logged(self):
        return [(call[2]["step"], call[1]) for call in self.calls if call[0] == "log"]


@pytest.mark.parametrize("name", ["trackio", "wandb"])
def test_trackio_and_wandb_get_configuration_history_and_summary_and_nothing_else(run, tmp_path, monkeypatch, name):
    recorder = Recorder(name)
    monkeypatch.setitem(sys.modules, name, recorder)
    trackers.TRACKERS[name](Report.of(run), tmp_path / name)
    first = next(call for call in recorder.calls if call[0] == "init")[-1]
    assert first["name"] == "one" and first["config"]["ppo.num_updates"] == 3 and first["project"] == "rlhf-playground"
    steps = [step for step, _ in recorder.logged()]
    assert steps[:4] == [0, 1, 2, 3] and steps == sorted(steps)
    first_look = recorder.logged()[0][1]
    assert first_look.pop("behaviours/ends") == 1.0 and first_look.pop("behaviours/parses") == 0.0
    assert first_look == {"fixed_prompts/score": 1.0, "text/perplexity": 4.0}
    last = recorder.logged()[3][1]
    assert last["objective/kl"] == 3.0 == last["playground/kl_to_reference"] and last["text/perplexity"] == 5.0
    told = json.dumps([call[1:] for call in recorder.calls], default=str)
    assert "outcome/gain" in told and "behaviours/ends_before" in told and recorder.calls[-1][0] == "finish"
    assert SECRET not in told and "Prompt 0" not in told
    if name == "wandb":
        settings = next(call for call in recorder.calls if call[0] == "Settings")[-1]
        assert settings["mode"] == "offline"


@pytest.mark.parametrize("name", ["trackio", "wandb"])
def test_a_tracker_that_is_not_installed_is_one_sentence(run, monkeypatch, capsys, name):
    monkeypatch.setitem(sys.modules, name, None)  # what makes an import fail
    with pytest.raises(SystemExit) as left:
        cli.main(["export", str(run.path), "--as", name])
    assert left.value.code == 1
    assert capsys.readouterr().err.startswith(f"{name} is not installed here. Install it with `pip install {name}`")


def test_the_command_says_where_it_went_and_how_to_look(run, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["export", str(run.path), "--as", "tensorboard"])
    shown = capsys.readouterr()
    assert left.value.code == 0 and Path(shown.out.strip()).is_file()
    assert f"tensorboard --logdir {run.path.parent.resolve() / 'tensorboard'}" in shown.err
