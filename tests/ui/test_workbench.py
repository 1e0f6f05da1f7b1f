"""The workbench: what its handler answers (progress, figures, or sentences on what is wrong), and the ranks of texts,
held to `trying.weigh` and to ranks by hand."""

import json

import pytest

from playground.config import yaml_io
from playground.rewards import rules, trying
from playground.setup import catalog
from playground.ui.own_files import STATIC
from playground.ui.rewards import workbench_part
from playground.ui.rewards.weighing_part import weigh_rewards
from playground.ui.train import form, reward_form
from tests.support import AskedService, data_beside
from tests.ui.asking import refused

EXAMPLE = STATIC / "rewards" / "example.json"
VALUES = {
    field: value
    for field, value in form.values_of(catalog.preset("chatterbox")).items()
    if field.startswith(workbench_part.FORM_GROUPS)
}
SAMPLES = [{"prompt": "Review of the film:", "completion": " The plot was dull.", "ended": True}]
REWARD = {"kind": "length", "weight": 1, "target": "", "normalise": True, "cap": ""}


def measuring(samples=SAMPLES):
    """A model service that answers with progress and the lengths of samples."""
    lengths = {"texts": {"length": [1.0]}, "reference": {"length": [2.0] * len(samples)}}
    progress = {"phase": "drawing 128 samples", "done": 16, "of": 128}
    return AskedService(progress, {"names": ["length"], **lengths, "samples": samples})


def answers(tmp_path, service=None, rewards=(REWARD,), prompt="The plot was", texts=("dull", ""), values=VALUES):
    asked = (list(rewards), prompt, texts, values)
    return list(workbench_part.scored(service or measuring(), tmp_path, *asked))


def test_progress_comes_first_and_the_figures_last(tmp_path):
    service = measuring()
    *progress, last = answers(tmp_path, service)
    assert [item["state"] for item in progress] == ["asking", "asking"]
    assert last["state"] == "done"
    assert (last["labels"], last["rewards"]) == (["Length"], [REWARD])
    assert last["sides"] == [{"side": "A", "text": " dull"}]
    assert last["outlooks"] == []  # one text is too few to say
    ((kind, question),) = service.asked
    assert kind == "rewards-score"
    assert question["texts"] == [{"prompt": "The plot was", "completion": " dull"}]
    assert question["reference"] == trying.reference_of(catalog.preset("chatterbox"))
    assert question["rewards"][0]["normalise"] is True


def test_the_example_of_the_page_is_what_its_texts_and_its_reward_come_to():
    preset = catalog.preset(catalog.DEFAULT_PRESET)
    example = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    typed = [trying.going_on(workbench_part.FIRST_PROMPT, text) for text in workbench_part.FIRST_TEXTS]
    assert example["rewards"] == form.values_of(preset)["rewards"]
    assert [side["text"] for side in example["sides"]] == typed
    score = rules.score_of(preset.rewards[0])
    assert [score(workbench_part.FIRST_PROMPT, text) for text in typed] == example["texts"]["sentiment"]
    drawn = [score(sample["prompt"], sample["completion"]) for sample in example["samples"]]
    assert drawn == example["reference"]["sentiment"]


def test_what_the_best_policy_would_do_is_said_at_the_form_s_beta(tmp_path):
    completions = [" The plot was superb."] * 10 + [" The plot was dull."] * 10
    reviews = measuring([{**SAMPLES[0], "completion": completion} for completion in completions])
    *_, last = answers(tmp_path, reviews, texts=("", ""), values={**VALUES, "kl.coef": "0.3"})
    (sentence,) = last["outlooks"]
    assert "kind in 10 of 20 answers" in sentence
    assert "at beta 0.3 in 50%" in sentence


UNREADABLE = ({"values": {**VALUES, "sampling.max_new_tokens": "many"}}, "must be a whole number (got 'many').")


@pytest.mark.parametrize(("changes", "words"), [*refused("scores"), UNREADABLE])
def test_what_cannot_be_scored_is_said_before_anything_is_asked(tmp_path, changes, words):
    service = measuring()
    (only,) = answers(tmp_path, service, **changes)
    assert only["state"] == "error"
    assert service.asked == []
    assert any(words in sentence for sentence in only["problems"])


MEASURED = data_beside(__file__, "measured.json")
REWARDS = MEASURED["rewards"]  # length, sentiment, truth


def test_the_workbench_weighs_as_a_run_does():
    treatments = [(2, True, 1.2), (-0.5, True, ""), (3, False, 0.7)]
    rewards = [
        {**reward, "weight": weight, "normalise": normalise, "cap": cap}
        for reward, (weight, normalise, cap) in zip(REWARDS, treatments, strict=True)
    ]
    shown = weigh_rewards({"found": MEASURED, "rewards": rewards})
    specs = yaml_io.from_dict({"rewards": reward_form.reward_data(rewards)}).rewards
    weighed = trying.weigh(specs, {**MEASURED, "samples": ["some"]})
    assert [text["score"] for text in shown["texts"]] == pytest.approx(weighed.scores)
    for row, text in enumerate(shown["texts"]):
        assert text["adds"] == pytest.approx([weighed.adds[name][row] for name in MEASURED["names"]])
        assert text["z"] == pytest.approx([weighed.z[name][row] for name in MEASURED["names"]])
    assert shown["terms"][1] == {"label": "Sentiment", "weight": -0.5, "normalise": True, "cap": None}


def test_texts_are_ranked_by_their_score_and_ties_by_their_order():
    shown = weigh_rewards({"found": MEASURED, "rewards": REWARDS[:1]})
    assert [sample["rank"] for sample in shown["samples"]] == [5, 2, 1, 3, 4]
    assert shown["order"] == [2, 1, 3, 4, 0]
    assert [text["rank"] for text in shown["texts"]] == [2, 6]
    assert [text["better"] for text in shown["texts"]] == [0.8, 0.0]
    duel = shown["duel"]
    assert (duel["winner"], [term["label"] for term in duel["terms"]]) == (0, ["Length"])
    assert duel["by"] == duel["terms"][0]["by"] > 0
