"""The workbench ranks as a run would: held to `trying.weigh`, and to ranks by hand."""

import pytest

from playground.config import yaml_io
from playground.rewards import trying
from playground.ui.rewards.weighing_part import weigh_rewards
from playground.ui.train import reward_form

LENGTH = {"kind": "length", "weight": 1, "normalise": False, "cap": "", "target": ""}
REWARDS = [
    LENGTH,
    {"kind": "sentiment", "weight": 1, "normalise": False, "cap": "", "judge": "pocket-lexicon"},
    {"kind": "truth", "weight": 1, "normalise": False, "cap": ""},
]
FOUND = {
    "names": ["length", "sentiment", "truth"],
    "labels": ["Length", "Sentiment", "Truth"],
    "rewards": REWARDS,
    "texts": {"length": [7.0, 2.0], "sentiment": [1.0, -3.0], "truth": [None, 1.0]},
    "reference": {
        "length": [3.0, 5.0, 9.0, 4.0, 4.0],
        "sentiment": [0.0, 2.0, None, -1.0, None],
        "truth": [1.0, None, -1.0, None, None],
    },
}


def test_it_weighs_as_a_run_does():
    treatments = [(2, True, 1.2), (-0.5, True, ""), (3, False, 0.7)]
    rewards = [
        {**reward, "weight": weight, "normalise": normalise, "cap": cap}
        for reward, (weight, normalise, cap) in zip(REWARDS, treatments, strict=True)
    ]
    found = weigh_rewards({"found": FOUND, "rewards": rewards})
    specs = yaml_io.from_dict({"rewards": reward_form.reward_data(rewards)}).rewards
    weighed = trying.weigh(specs, {**FOUND, "samples": ["some"]})
    assert [text["score"] for text in found["texts"]] == pytest.approx(weighed.scores)
    for row, text in enumerate(found["texts"]):
        assert text["adds"] == pytest.approx([weighed.adds[name][row] for name in FOUND["names"]])
        assert text["z"] == pytest.approx([weighed.z[name][row] for name in FOUND["names"]])
    assert found["terms"][1] == {"label": "Sentiment", "weight": -0.5, "normalise": True, "cap": None}


def test_texts_are_ranked_by_their_score_and_ties_by_their_order():
    found = weigh_rewards({"found": FOUND, "rewards": [LENGTH]})
    assert [sample["rank"] for sample in found["samples"]] == [5, 2, 1, 3, 4]
    assert found["order"] == [2, 1, 3, 4, 0]
    assert [text["rank"] for text in found["texts"]] == [2, 6]
    assert [text["better"] for text in found["texts"]] == [0.8, 0.0]
    duel = found["duel"]
    assert (duel["winner"], [term["label"] for term in duel["terms"]]) == (0, ["Length"])
    assert duel["by"] == duel["terms"][0]["by"] > 0
