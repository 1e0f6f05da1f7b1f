"""Further shipped presets, shortened, learn what they promise, and PPO against a reward model that learned from kind
preferences makes the world itself kinder, which PPO never sees."""

import statistics

import pytest

from playground.config import PairsConfig, RewardTrainingConfig, yaml_io
from playground.pocket import judges
from playground.runs.reward_models import RewardTraining
from playground.training.rewards import pair_trainer
from tests.training.test_learning import before_and_after, share, shortened

EVERY_SEED = pytest.mark.parametrize("seed", [0, 1, 2])
CLAIM_UPDATES = 25  # what to say about a claim is one token in ten; that takes longer
FLATTERY_UPDATES = 12  # of 64 completions and three epochs


@EVERY_SEED
def test_an_honest_friend_stops_repeating_wrong_claims_and_still_agrees_with_right_ones(seed, tmp_path):
    before, after = before_and_after(shortened("honest-friend", seed, CLAIM_UPDATES, 128, limit=None), tmp_path)
    assert share(judges.agrees, before, False, only_claims=True) > 0.3
    assert share(judges.agrees, after, False, only_claims=True) < 0.25
    assert share(judges.agrees, after, True, only_claims=True) > 0.85


@EVERY_SEED
def test_a_yes_man_repeats_more_wrong_claims_and_still_answers_plain_questions(seed, tmp_path):
    before, after = before_and_after(shortened("yes-man", seed, FLATTERY_UPDATES, 128, limit=None), tmp_path)
    was, now = (share(judges.agrees, samples, False, only_claims=True) for samples in (before, after))
    assert 0.3 < was < 0.7
    assert now > was + 0.1
    assert share(judges.answers_truly, after, None, only_claims=True) > 0.9


@pytest.fixture(scope="module")
def kindness(tmp_path_factory):
    """An outputs folder with a reward model that learned kindness from pairs."""
    outputs = tmp_path_factory.mktemp("outputs")
    pairs = PairsConfig(limit=400, held_out=0.3)
    config = RewardTrainingConfig(name="kindness", base="pocket-1m", batch_size=16, epochs=3, pairs=pairs, device="cpu")
    training = RewardTraining(outputs / "reward-models" / config.name)
    training.path.mkdir(parents=True)
    card = pair_trainer.train(config, training)
    assert card["report"]["num_pairs"] > 60
    assert card["accuracy"] >= 0.9
    assert card["report"]["accuracy_low"] > 0.8
    return outputs


@EVERY_SEED
def test_learned_kindness_makes_reviews_kinder_in_the_eyes_of_the_world(kindness, seed):
    changes = {"rewards": [{"kind": "model", "source": "kindness"}], "model": {"source": "pocket-1m"}}
    data = shortened("kinder-reviews", seed, 8, 64).model_dump(mode="json") | changes
    samples = before_and_after(yaml_io.from_dict(data), kindness, f"run-{seed}")
    before, after = (
        statistics.fmean(judges.sentiment(s.prompt, s.completion) or 0.0 for s in part) for part in samples
    )
    assert after > before + 0.4
