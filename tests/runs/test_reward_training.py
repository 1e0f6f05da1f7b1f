"""Trainings of reward models are started, found and deleted; with a fake worker, which the real launcher starts."""

import pytest

from playground.config import RUN_ID, RewardTrainingConfig
from playground.errors import RunBusy, RunExists
from playground.runs import launcher, reward_models
from playground.runs.reward_models import RewardTraining
from playground.setup import catalog
from tests.reward_tools import finished
from tests.support import small_config, wait_until

pytestmark = pytest.mark.usefixtures("fake_worker")


def start(outputs, name, replace=False):
    training, process = reward_models.start(RewardTrainingConfig(name=name), outputs, replace)
    if name != "wait":
        process.wait(timeout=120)
    return training


def test_a_training_ends_as_a_reward_model_that_is_offered(outputs):
    training = start(outputs, "finish")
    assert (training.folder, training.status().state) == (outputs / "reward-models" / "finish", "finished")
    assert training.config() == RewardTrainingConfig(name="finish")
    assert [(item.step, item.held_out) for item in training.steps()] == [(1, False), (2, False), (2, True)]
    assert catalog.reward_models(outputs)[0].name == "finish"
    assert "last words" in training.log_tail()
    assert [item.id for item in reward_models.trainings(outputs)] == ["finish"]


def test_one_training_at_a_time_and_beside_a_run(outputs):
    launcher.start(small_config("wait"), outputs, "run")
    first = start(outputs, "wait")
    wait_until(lambda: first.status().state == "running")
    assert reward_models.living(outputs) is not None
    assert [run.id for run in launcher.living_runs(outputs)] == ["run"]
    with pytest.raises(RunBusy, match="The reward model `wait` is in training"):
        start(outputs, "finish")
    with pytest.raises(RunBusy, match="still in training"):
        reward_models.delete(first)
    first.request_stop()
    wait_until(lambda: first.status().ended and not first.is_alive())
    assert first.status().state == "stopped"
    assert first.card() is None
    start(outputs, "finish")


def test_a_reward_model_is_replaced_only_when_asked_to_and_not_lost_when_its_successor_fails(outputs):
    with_card = finished(outputs, "mine")
    (with_card.folder / "old.txt").touch()
    with pytest.raises(RunExists, match="There is already a reward model `mine`"):
        start(outputs, "mine")
    assert (with_card.folder / "old.txt").exists()
    start(outputs, "mine", replace=True)
    assert not (with_card.folder / "old.txt").exists()
    assert (outputs / "reward-models" / "mine-before" / "old.txt").exists()
    for number in range(3):
        (finished(outputs, "fail").folder / f"{number}.txt").touch()
        failed = start(outputs, "fail", replace=True)
        assert failed.status().state == "failed"
        assert failed.card() is None
        assert start(outputs, "fail").status().state == "failed"  # what did not end well gives its name away
        reward_models.delete(failed)
    for number, name in enumerate(("fail-before", "fail-before-2", "fail-before-3")):
        assert (catalog.reward_model_folder(name, outputs=outputs) / f"{number}.txt").exists()
    long = reward_models.name_before(RewardTraining(outputs / "reward-models" / ("long" * 15)))
    assert RUN_ID.fullmatch(long)
    assert long.endswith("longl-before")


def test_a_folder_of_other_contents_is_left_alone(outputs):
    (outputs / "reward-models" / "mine").mkdir(parents=True)
    (outputs / "reward-models" / "mine" / "model.safetensors").touch()
    with pytest.raises(RunExists, match="was not made by a training"):
        start(outputs, "mine", replace=True)
    assert (outputs / "reward-models" / "mine" / "model.safetensors").exists()
