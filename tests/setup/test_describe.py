"""What a run is called, and how it differs from its preset, in words."""

import pytest

from playground.config import yaml_io
from playground.setup import catalog, describe
from tests.support import data_beside

BASE = catalog.preset("kinder-reviews")
TABLES = data_beside(__file__, "described.yaml")


def changed(**data):
    """The preset with other values in some of its parts."""
    base = BASE.model_dump(mode="json")
    parts = {name: {**base[name], **value} if isinstance(value, dict) else value for name, value in data.items()}
    return yaml_io.from_dict({**base, **parts})


@pytest.mark.parametrize(("changes", "title"), TABLES["titles"])
def test_a_run_is_called_by_its_given_name_or_its_preset(changes, title):
    assert describe.title_of(changed(**changes)) == title


def test_what_was_changed_while_it_trained_comes_with_its_time():
    edits = [(12, "kl.coef", 3.0), (20, "ppo.learning_rate", 1e-4)]
    assert describe.changed_on_the_way("Kinder reviews", BASE, []) == "Kinder reviews"
    words = describe.changed_on_the_way("Kinder reviews", BASE, edits)
    assert words.startswith("Kinder reviews, changed")
    assert words.endswith("leash 3 after update 12 and learning rate 0.0001 after update 20")
    many = [(update, "kl.coef", float(update)) for update in range(1, 1001)]
    assert describe.changed_on_the_way("", BASE, many).endswith("leash 3 after update 3 and 997 more")


@pytest.mark.parametrize("without_effect", TABLES["without_effect"])
def test_a_preset_keeps_its_story_whatever_has_no_effect(without_effect):
    expected = ("Kinder reviews", BASE.about.story, BASE.about.expect, "kinder-reviews")
    assert describe.of(changed(**without_effect)) == expected


@pytest.mark.parametrize(("changes", "words"), TABLES["differs"])
def test_what_differs_stands_in_place_of_the_story(changes, words):
    assert describe.of(changed(**changes)) == (f"Kinder reviews, changed: {words}", "", "", "")


def test_scores_are_one_measure_where_rewards_scale_and_reference_texts_are_the_same():
    same = [BASE, changed(seed=3, kl={"coef": 2.0}, ppo={"num_updates": 9}, model={"adapter": {"kind": "lora"}})]
    assert describe.scores_differ(same) == "" == describe.scores_differ([BASE])
    rewards, model, points = [{"kind": "length"}], {"source": "pocket-1m"}, {"normalise": "none"}
    three = [BASE, changed(model=model), changed(rewards=rewards, score=points)]
    for others, words in (
        (three, "rewards, scales of the score and models differ"),
        ([BASE, changed(prompts={"source": "pocket/stories"})], "prompts differ"),
        ([BASE, changed(sampling={"temperature": 0.5})], "sampling settings differ"),
    ):
        assert words in describe.scores_differ(others)
    for field in ("rewards.0.weight", "score.clip", "prompts.source", "sampling.missing_eos_penalty"):
        assert describe.are_of_the_scale(["kl.coef", field])
    assert not describe.are_of_the_scale(["kl.coef", "ppo.learning_rate", "method"])
    in_points = [changed(score=points), changed(score=points, model=model)]
    assert describe.scores_differ(in_points) == "", "points are points"
