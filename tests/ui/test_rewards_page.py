"""The Rewards page: the workbench answers with progress, figures, or sentences on what is wrong, and ranks texts as
`trying.weigh` and by hand; the self-test of a reward model; the panel that trains one, once in a browser."""

import json
import re

import pytest
from playwright.sync_api import expect

from playground.config import RewardTrainingConfig, RunConfig, yaml_io
from playground.rewards import rules, trying
from playground.runs import launcher, reward_models
from playground.setup import catalog
from playground.ui.auth.access import Access
from playground.ui.own_files import STATIC
from playground.ui.rewards import self_test_part, workbench_part
from playground.ui.rewards import training_part as panel
from playground.ui.rewards.weighing_part import weigh_rewards
from playground.ui.train import form, reward_form
from tests.reward_tools import REPORT
from tests.support import AskedService, data_beside, small_config, wait_until
from tests.ui import fake_run
from tests.ui.asking import refused
from tests.ui.conftest import in_page, of_module

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
    example = json.loads((STATIC / "rewards" / "example.json").read_text(encoding="utf-8"))
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
    assert (only["state"], service.asked) == ("error", [])
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


SELF_TEST = data_beside(__file__, "reward-report.json")


def states(service, source, outputs, pairs="automatic", **spec):
    flat = form.values_of(small_config())
    values = {name: flat[name] for name in form.FIELDS if name.startswith(self_test_part.FORM_GROUPS)}
    asked = {"source": source, "template": "auto", "quantization": "none", "label": "", **spec}
    return list(self_test_part.checked(service, outputs, asked, pairs, values))


def test_the_form_and_the_panel_make_the_question(tmp_path):
    service = AskedService({"phase": "scoring"}, {"report": SELF_TEST})
    heard = states(service, "someone/judge", tmp_path, "kind", template="pair", label="good", quantization="int8")
    assert [state["state"] for state in heard] == ["asking", "asking", "done"]
    assert heard[-1]["report"] == SELF_TEST
    ((kind, question),) = service.asked
    config = RunConfig.model_validate(question["config"])
    (reward,) = config.rewards
    read = (reward.source, reward.template, reward.label, reward.quantization)
    assert read == ("someone/judge", "pair", "good", "int8")
    assert config.model == small_config().model
    assert (kind, question["pairs"]) == ("reward-check", "kind")
    assert question["outputs"] == str(tmp_path.resolve())


@pytest.mark.parametrize(("source", "pairs", "sentence"), refused("reward_checks"))
def test_what_cannot_be_tested_is_said_before_the_model_is_woken(source, pairs, sentence, tmp_path):
    service = AskedService()
    (state,) = states(service, source, tmp_path, pairs)
    assert state["state"] == "error"
    assert sentence in state["message"]
    assert not service.asked


def asked(outputs, name, argument):
    (function,) = [item for item in panel.guarded_functions(outputs, Access()) if item.__name__ == name]
    return function(argument)


def values(name="finish", **changes):
    fields = {"pairs.source": "kind", "base": "pocket-1m", "pairs.limit": 100, "learning_rate": ""}
    return {"name": name, **fields, **changes}


def test_a_training_is_started_from_flat_values_and_read_back(outputs, fake_worker):
    answer = asked(outputs, "start_training", {"values": values(**{"pairs.flip": 0.25}), "replace": False})
    assert answer == {"name": "finish", "exists": False, "problems": []}
    training = reward_models.find(outputs, "finish")
    wait_until(lambda: training.status().ended)
    config = training.config()
    assert (config.pairs.flip, config.pairs.limit, config.learning_rate) == (0.25, 100, None)
    seen = panel.detail(outputs, "finish")
    assert (seen["state"], seen["settings"]) == ("finished", "100 pairs, 5 epochs, 25 % wrong answers, seed 0")
    assert seen["training"] == {"step": [1, 2], "loss": [1.0, 0.5], "accuracy": [0.5, 0.75]}
    assert seen["held_out"]["accuracy"] == [0.9]
    assert seen["card"]["report"] == REPORT
    again = asked(outputs, "start_training", {"values": values(), "replace": False})
    assert again["exists"]
    assert again["name"] is None
    assert asked(outputs, "start_training", {"values": values(), "replace": True})["name"] == "finish"


@pytest.mark.parametrize(("changes", "field"), refused("trainings"))
def test_what_is_wrong_is_said_beside_its_field(outputs, fake_worker, changes, field):
    answer = asked(outputs, "start_training", {"values": values(**changes), "replace": False})
    assert [item["field"] for item in answer["problems"]] == [field]
    assert reward_models.trainings(outputs) == []


def test_one_that_trains_is_watched_and_stopped_and_another_is_trained_and_used_as_reward(site, make_page, monkeypatch):
    monkeypatch.setattr(launcher, "new_worker", fake_run.spawn)
    reward_models.start(RewardTrainingConfig(name="wait"), site.outputs)
    page = make_page()
    page.goto(site.url + "?tab=rewards&part=train")
    report = page.locator(".reward-report")
    expect(report).to_contain_text("step 1 of")
    expect(report.locator(".small-plot").first).to_be_visible()
    expect(report.locator(".state strong")).to_have_text("running")
    expect(page.locator(".reward-form button[type=submit]")).to_be_disabled()
    report.get_by_role("button", name="Stop").click()
    expect(report).to_contain_text("nothing was saved")
    page.locator("#reward-name").fill("judge")
    page.get_by_role("button", name="Train", exact=True).click()
    expect(report.locator(".outcome")).to_have_text(re.compile(r"^Right on 90 % of 60 held-out pairs.* 80 % to 95 %"))
    expect(report.locator(".state strong")).to_be_in_viewport()  # the button is at the end of a long form
    expect(page.locator("#check-source-menu")).to_have_value("judge")  # what is to be tested next
    report.get_by_role("button", name="Try on texts").click()
    expect(page).to_have_url(re.compile(r"tab=rewards$"))
    bench = page.locator("#bench-rewards .reward")
    expect(bench).to_have_count(1)
    expect(bench.get_by_label("Model", exact=True)).to_have_value("judge")
    page.get_by_role("tab", name="Train").click()
    report.get_by_role("button", name="Test", exact=True).click()
    expect(page.locator("#check-button")).to_be_visible()
    text = of_module(page, "rewards/check.js", in_page("mount-check"), SELF_TEST)  # its report is drawn as text
    assert (text["images"], text["special"], text["rows"]) == (0, ["<bos>", "<eos>"], ["", "in-force"])
    for part in ("Right on <b>few</b> of kind.", "<img src=x>", "Look at this before training on it", "60 %", "sd 1.5"):
        assert part in text["text"], part
    page.go_back()
    report.get_by_role("button", name="Use as reward on Train").click()
    expect(page.locator("#notes")).to_contain_text("Reward model judge")
    expect(page).to_have_url(re.compile(r"/\?settings=all$"))  # where the picker is
    row = page.locator("#field-rewards .reward")
    expect(row.get_by_label("Model", exact=True)).to_have_value("judge")
