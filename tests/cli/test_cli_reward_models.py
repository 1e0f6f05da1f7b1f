"""`reward-train` and `reward-models`, with a fake worker; and once for real, from pairs to a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from playground.cli import app, main
from playground.errors import ModelNotFound
from playground.models import hub
from playground.runs import reward_models
from playground.runs.reward_models import RewardTraining
from playground.ui.rewards import training_part
from tests.reward_tools import finished


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("playground.runs.launcher.WORKER_MODULE", "tests.fake_worker")


def run(outputs: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--outputs", str(outputs)])


def test_a_training_is_followed_and_its_report_printed(outputs: Path, fake: None) -> None:
    result = run(outputs, "reward-train", "--name", "finish", "--set", "pairs.flip=0.25")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[-1] == str(outputs / "reward-models" / "finish")
    assert "90.0% (80.0% to 95.0%) on 60 pairs" in result.stdout
    assert "95.0% against what the annotator truly prefers" in result.stdout
    assert "{kind: model, source: finish}" in result.stdout
    assert "step 2 of 2  held-out pairs:" in result.stderr
    assert RewardTraining(outputs / "reward-models" / "finish").config().pairs.flip == 0.25


def test_json_lines_end_with_the_report(outputs: Path, fake: None) -> None:
    result = run(outputs, "reward-train", "--name", "finish", "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [line["type"] for line in lines] == ["step", "step", "step", "end"]
    assert lines[0]["loss"] == 1.0
    assert lines[2]["held_out"]
    assert lines[-1]["report"]["accuracy"] == 0.9
    assert lines[-1]["state"] == "finished"


def test_invalid_settings_show_the_sentence_and_where_the_log_is(outputs: Path, fake: None) -> None:
    result = run(outputs, "reward-train", "--name", "fail")
    assert result.exit_code == 1
    log = outputs / "reward-models" / "fail" / "training" / "worker.log"
    assert result.stderr.endswith(f"base: cannot make a reward model of it.\nIts log: {log}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "A B"], "name: use 1 to 60 small letters"),
        (["--pairs", "none.jsonl", "--base", "nothing"], "pairs.source: Cannot read none.jsonl"),
        (["--set", "epochs=x"], "epochs: must be a number"),
        (["none.yaml"], "Cannot read none.yaml"),
        (["--name", "there"], "There is already a reward model `there`"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_starts(
    outputs: Path, fake: None, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    finished(outputs, "there")
    with pytest.raises(SystemExit) as ended:
        main(["reward-train", *arguments, "--outputs", str(outputs)])
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
    assert [item.id for item in reward_models.trainings(outputs)] == ["there"]


@pytest.mark.parametrize("field", ["base", "pairs.writer"])
def test_a_model_that_the_hub_refuses_is_told_before_anything_starts(
    outputs: Path, fake: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], field: str
) -> None:
    def refuse(*_: Any) -> None:
        raise ModelNotFound("someone/gated is closed: ask for access on its page.")

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setattr(hub, "facts_kept", refuse)
    with pytest.raises(SystemExit) as ended:
        main(["reward-train", "--set", f"{field}=someone/gated", "--outputs", str(outputs)])
    said = capsys.readouterr()
    answer = f"{field}: someone/gated is closed: ask for access on its page."
    assert (ended.value.code, said.out, said.err) == (2, "", f"{answer}\n")
    by_page = training_part.started({"name": "finish", field: "someone/gated"}, outputs, False)
    assert by_page["problems"] == [{"field": field, "message": "someone/gated is closed: ask for access on its page."}]
    assert not outputs.exists()


def test_reward_models_are_listed(outputs: Path) -> None:
    assert "Train one: python -m playground reward-train --pairs kind" in run(outputs, "reward-models").stdout
    finished(outputs, "mine")
    listed = run(outputs, "reward-models").stdout
    assert "mine" in listed
    assert "90.0% (80.0% to 95.0%)" in listed
    assert "300 (kind)" in listed
    (row,) = json.loads(run(outputs, "reward-models", "--json").stdout)
    assert (row["name"], row["status"]["state"], row["card"]["accuracy"]) == ("mine", "finished", 0.9)


def test_from_pairs_to_a_reward_model_for_real(outputs: Path, forked_workers: None) -> None:
    settings = ["pairs.limit=60", "max_steps=4", "batch_size=8", "device=cpu"]
    arguments = [part for setting in settings for part in ("--set", setting)]
    result = run(outputs, "reward-train", "--base", "pocket-1m", "--name", "real", *arguments)
    assert result.exit_code == 0, result.output
    folder = outputs / "reward-models" / "real"
    assert {"config.json", "model.safetensors", "tokenizer.json", "reward.json", "README.md"} <= {
        path.name for path in folder.iterdir()
    }
    assert json.loads((folder / "reward.json").read_text())["pairs"]["kept"] == 60
