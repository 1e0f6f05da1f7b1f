"""A reward model learned from kind preferences is right on new pairs, and PPO against it makes the world itself kinder.

On three seeds; judged by the world's sentiment, which PPO never sees. (docs/reward-models.md has reward models of
three seeds.)
"""

import statistics

import pytest

from playground.config import PairsConfig, RewardTrainingConfig, RunConfig
from playground.config.yaml_io import from_dict
from playground.pocket import judges
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.reward_models import RewardTraining
from playground.setup import catalog
from playground.training.process.session import Session
from playground.training.rewards import pair_trainer as reward_trainer
from tests.nights import SEEDS

UPDATES = 8
BASE = "pocket-1m"


def run_against(name: str, seed: int) -> RunConfig:
    """The preset with this reward model in place of its rule, shortened, on the small model."""
    data = catalog.preset("kinder-reviews").model_dump(mode="json")
    data |= {"seed": seed, "rewards": [{"kind": "model", "source": name}]}
    data["model"]["source"] = BASE
    data["ppo"]["num_updates"] = UPDATES
    data["evaluation"] |= {"num_prompts": 64, "every": UPDATES}
    return from_dict(data)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """An outputs folder with a reward model that learned kindness, and what its card says."""
    outputs = tmp_path_factory.mktemp("outputs")
    pairs = PairsConfig(limit=400, held_out=0.3)
    config = RewardTrainingConfig(name="kindness", base=BASE, batch_size=16, epochs=3, pairs=pairs, device="cpu")
    training = RewardTraining(outputs / "reward-models" / config.name)
    training.path.mkdir(parents=True)
    return outputs, reward_trainer.train(config, training)


def test_kindness_is_learned_from_pairs(learned):
    _, card = learned
    assert card["report"]["num_pairs"] > 60
    assert card["accuracy"] >= 0.9
    assert card["report"]["accuracy_low"] > 0.8


@pytest.mark.parametrize("seed", SEEDS)
def test_learned_kindness_makes_reviews_kinder_in_the_eyes_of_the_world(learned, seed):
    outputs, card = learned
    wanted = run_against(card["name"], seed)
    run = RunDirectory.create(outputs, wanted, f"run-{seed}")
    session = Session(run, wanted, RunWriter(run, UPDATES), lambda: None)
    session.fix_scale()
    session.evaluate_and_record("before")
    session.train()
    kindness = {
        stage: statistics.fmean(
            judges.sentiment(s.prompt, s.completion) or 0.0 for s in run.samples() if s.stage == stage
        )
        for stage in ("before", "after")
    }
    print(f"seed {seed}: the world's sentiment {kindness}")
    assert kindness["after"] > kindness["before"] + 0.4
