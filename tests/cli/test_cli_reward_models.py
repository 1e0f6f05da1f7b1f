"""`reward-train`, with a fake worker."""

import json

import pytest

from playground.cli import reward_model_commands
from playground.runs import reward_models
from playground.runs.reward_models import RewardTraining
from playground.ui.rewards import training_part
from tests.cli.conftest import REFUSED
from tests.reward_tools import finished


def test_a_training_is_followed_and_its_report_printed(run, outputs):
    result = run("reward-train", "--name", "finish", "--set", "pairs.flip=0.25")
    assert (result.code, result.last_line) == (0, str(outputs / "reward-models" / "finish"))
    for words in (
        "90.0% (80.0% to 95.0%) on 60 pairs",
        "95.0% against what the annotator truly prefers",
        "{kind: model, source: finish}",
    ):
        assert words in result.out
    assert "step 2 of 2  held-out pairs:" in result.err
    assert RewardTraining(outputs / "reward-models" / "finish").config().pairs.flip == 0.25


def test_json_lines_of_a_training_end_with_the_report(run):
    *steps, end = run("reward-train", "--name", "finish", "--json").lines
    assert [line["type"] for line in steps] == ["step", "step", "step"]
    assert steps[0]["loss"] == 1.0
    assert steps[2]["held_out"]
    assert (end["type"], end["state"], end["report"]["accuracy"]) == ("end", "finished", 0.9)


def test_a_training_whose_settings_are_at_fault_says_why_and_where_its_log_is(run, outputs):
    result = run("reward-train", "--name", "fail")
    log = outputs / "reward-models" / "fail" / "training" / "worker.log"
    assert result.code == 1
    assert result.err.endswith(f"base: cannot make a reward model of it.\nIts log: {log}\n")


@pytest.mark.parametrize(("arguments", "message"), REFUSED["reward-train"])
def test_a_training_that_cannot_be_is_refused_before_anything_starts(run, outputs, arguments, message):
    finished(outputs, "there")
    result = run("reward-train", *arguments)
    assert result.code == 2
    assert message in result.err
    assert [item.id for item in reward_models.trainings(outputs)] == ["there"]


@pytest.mark.parametrize(("right", "low", "high", "said"), [(0.488, 0.34, 0.64, True), (0.7, 0.51, 0.85, False)])
def test_a_reward_model_at_chance_is_called_a_coin_toss_on_page_and_command_line(
    outputs, capsys, right, low, high, said
):
    training = finished(outputs, "mine")
    card = training.card()
    card["report"] |= {"num_pairs": 41, "accuracy": right, "accuracy_low": low, "accuracy_high": high}
    training.card_path.write_text(json.dumps(card))
    reward_model_commands.print_end(training, training.status(), as_json=False)
    printed, shown = capsys.readouterr().err, training_part.detail(outputs, "mine")["card"]["doubt"]
    for words in ("41 held-out pairs", "coin toss", "48.8%", "34% to 64%"):
        assert (words in printed) == (words in shown) == said


def test_the_page_too_asks_the_hub_before_a_training_starts(outputs, gated):
    for field in ("base", "pairs.writer"):
        answer = training_part.started({"name": "finish", field: "someone/gated"}, outputs, False)
        assert answer["problems"] == [{"field": field, "message": gated}]
    assert not outputs.exists()
