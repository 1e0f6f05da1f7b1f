"""A reward model is trained on any base, saved as plain transformers load it, and says what it is worth."""

import json
import math
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from playground import worker as reward_worker
from playground.config import ModelReward, RewardTrainingConfig, yaml_io
from playground.data.preferences import Pair
from playground.errors import ModelNotFound, PairsUnusable, TrainingDiverged
from playground.pocket import annotators, judges
from playground.rewards.agreement import wilson
from playground.runs.reward_models import RewardTraining
from playground.setup import catalog, devices
from playground.setup.estimates import memory
from playground.training.rewards import learned_rewards, pair_trainer
from playground.training.rewards import pairs as preference_pairs
from playground.training.rewards.pair_report import report
from tests.nights import cases
from tests.training.snapshots import FAMILIES, snapshot

CPU = torch.device("cpu")


def pairs_file(folder, dialogue=False):
    """Forty pairs: the chosen answer is lovely, the rejected one bad; of several lengths."""
    prompt = "\n\nHuman: Film {}?\n\nAssistant:" if dialogue else "The film {}"
    rows = []
    for n in range(40):
        asked, sides = prompt.format(n), {"chosen": " was lovely" + " the" * (n % 4), "rejected": " is bad the"}
        whole = {side: asked + text for side, text in sides.items()}
        rows.append(whole if dialogue else {"prompt": asked, **sides})
    path = folder / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def config_for(base, source, **changes):
    data = {"name": "judge", "base": str(base), "pairs": {"source": source}, "device": "cpu"}
    data |= {"max_steps": 6, "batch_size": 8, "learning_rate": 3e-3}
    for path, value in changes.items():
        yaml_io.set_path(data, f"{path.replace('__', '.')}={json.dumps(value)}")
    return yaml_io.validated(data, RewardTrainingConfig)


def in_folder(outputs, config):
    training = RewardTraining(outputs / "reward-models" / config.name)
    training.control_path.mkdir(parents=True)
    training.config_path.write_text(config.to_yaml(), encoding="utf-8")
    return training


def trained(outputs, config):
    training = in_folder(outputs, config)
    steps = []
    card = pair_trainer.train(config, training, record=lambda metrics, total: steps.append(metrics))
    return card, steps, training


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return snapshot(tmp_path_factory.mktemp("base"), "llama", own_pad=True)


@pytest.mark.parametrize("family", cases(FAMILIES, always=["gpt2", "gemma2"]))
def test_each_family_becomes_a_reward_model_that_scores_the_same_wherever_it_is_loaded(tmp_path, family):
    source = snapshot(tmp_path / "base", family, own_pad=False)
    card, steps, training = trained(tmp_path, config_for(source, pairs_file(tmp_path)))
    assert [item.step for item in steps if not item.held_out] == [1, 2, 3, 4, 5, 6]
    assert steps[-1].held_out
    assert steps[-1].accuracy == card["accuracy"]
    tokenizer = AutoTokenizer.from_pretrained(training.folder)
    model = AutoModelForSequenceClassification.from_pretrained(training.folder).eval()
    assert model.config.num_labels == 1
    assert model.config.get_text_config().pad_token_id == tokenizer.pad_token_id != tokenizer.eos_token_id
    here = learned_rewards.load(ModelReward(source="judge"), CPU, tmp_path)
    prompts, completions = ["The film 3"] * 3, [" was lovely", " is terrible the the", ""]
    for prompt, completion, score in zip(prompts, completions, here(prompts, completions), strict=True):
        ids = torch.tensor([here.format.ids(prompt, completion)])
        assert ids[0, -1] == tokenizer.eos_token_id
        with torch.no_grad():
            alone = model(ids, attention_mask=torch.ones_like(ids)).logits.item()
        assert alone == pytest.approx(score, abs=1e-4)


@pytest.mark.parametrize("family", cases(["llama", "gpt2"], always=["llama"]))
def test_an_adapter_is_merged_into_what_is_saved_and_scores_in_what_its_file_holds(tmp_path, family, monkeypatch):
    monkeypatch.setattr(devices, "computes_in_bf16", lambda kind, parameters: True)
    source = snapshot(tmp_path / "base", family, own_pad=True)
    config = config_for(source, pairs_file(tmp_path), adapter__kind="lora", adapter__r=4, micro_batch_size=4)
    card, _, training = trained(tmp_path, config)
    assert not list(training.folder.glob("adapter*"))
    here = learned_rewards.load(ModelReward(source="judge"), CPU, tmp_path)
    assert len(card["examples"]) == 8
    assert learned_rewards.misreading(here) == pytest.approx(0, abs=1e-4)
    assert learned_rewards.facts(here)["rounded"] == ""
    rounded = learned_rewards.load(ModelReward(source="judge", precision="bf16"), CPU, tmp_path)
    assert learned_rewards.facts(rounded)["rounded"] == "bf16"
    scorer = memory.RewardShape(ModelReward(source="judge"), catalog.files(training.folder, "reward").architecture)
    assert scorer.number("cpu") == 4
    pairs = preference_pairs.load(config, CPU).held_out
    right = [here([pair.prompt] * 2, [pair.chosen, pair.rejected]) for pair in pairs]
    assert sum(high > low for high, low in right) / len(right) == pytest.approx(card["accuracy"])


def test_a_reward_model_learns_and_reports_a_difference_of_all_pairs(tmp_path, base):
    config = config_for(base, pairs_file(tmp_path, dialogue=True), max_steps=30, pairs__held_out=0.5)
    card, steps, training = trained(tmp_path, config)
    assert card["accuracy"] == 1.0
    assert card["report"]["margin_mean"] > 0.5
    assert (card["template"], card["max_length"]) == ("dialogue", 128)
    assert card["pairs"]["training"] == card["pairs"]["held_out"] == 20
    assert json.loads((training.folder / "reward.json").read_text()) == json.loads(json.dumps(card))
    assert "100.0%" in (training.folder / "README.md").read_text()
    assert catalog.reward_models(tmp_path)[0].name == "judge"
    losses = [item.loss for item in steps if item.held_out]
    assert len(losses) == 5
    assert losses[-1] < losses[0]


def test_the_same_seed_gives_the_same_reward_model(tmp_path, base):
    source = pairs_file(tmp_path)
    cards = [
        trained(tmp_path / str(number), config_for(base, source, seed=seed, max_steps=2))[0]
        for number, seed in enumerate((1, 1, 2))
    ]
    assert cards[0]["report"] == cards[1]["report"] != cards[2]["report"]


def test_bad_pairs_and_a_bad_base_are_refused_and_a_loss_that_is_not_finite_ends_the_training(tmp_path, base):
    source = pairs_file(tmp_path)
    text = Path(source).read_text(encoding="utf-8")
    diverging = config_for(base, source, max_steps=40).model_copy(update={"learning_rate": 1e30})
    with pytest.raises(TrainingDiverged, match="learning_rate"):
        trained(tmp_path / "a", diverging)
    Path(source).write_text(text.replace(" was lovely", " was lovely" * 20), encoding="utf-8")
    with pytest.raises(PairsUnusable, match=r"^max_length: .* 40 that are too long"):
        trained(tmp_path / "b", config_for(base, source, max_length=20))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelNotFound):
        trained(tmp_path / "c", config_for(tmp_path / "empty", source))


def test_the_worker_writes_states_metrics_and_the_model(tmp_path, base, monkeypatch):
    monkeypatch.setattr(reward_worker, "show_one_gpu", lambda device: None)  # it would for the whole process
    training = in_folder(tmp_path, config_for(base, pairs_file(tmp_path)))
    assert reward_worker.main([str(training.path)]) == 0
    status = training.status()
    assert (status.state, status.update, status.num_updates) == ("finished", 6, 6)
    assert f"{training.card()['accuracy']:.1%}" in status.message
    assert [item.step for item in training.steps()] == [1, 2, 2, 3, 4, 4, 5, 6, 6]
    assert training.card()["curve"] == [item.model_dump() for item in training.steps()]
    assert not training.is_alive()


def test_the_held_out_prompts_are_none_of_those_learned_from():
    pairs = [Pair(f"prompt {number % 20}", f"a {number}", "b") for number in range(100)]
    training, held_out = preference_pairs.split(pairs, 0.2, seed=0)
    assert (len(held_out), len(training)) == (20, 80)
    assert not {pair.prompt for pair in training} & {pair.prompt for pair in held_out}
    assert preference_pairs.split(pairs, 0.2, seed=0) == (training, held_out)
    assert preference_pairs.split(pairs, 0.2, seed=1)[1] != held_out
    with pytest.raises(PairsUnusable, match=r"^pairs\.held_out: "):
        preference_pairs.split([Pair("one", str(number), "b") for number in range(9)], 0.2, seed=0)


def test_pairs_of_one_dialogue_stay_together_in_a_share_and_long_ones_are_cut_at_a_turn(tmp_path):
    begun = [f"\n\nHuman: a{number}\n\nAssistant:" for number in range(40)]
    longer = [f"{text} no\n\nHuman: {'b' * 30}\n\nAssistant:" for text in begun]
    rows = [{"chosen": f"{prompt} good", "rejected": f"{prompt} bad"} for prompt in [*begun, *longer]]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    seen = []
    for share in ("0-50", "50-100"):
        pairs = preference_pairs.load(config_for("pocket-1m", str(path), pairs__share=share), CPU)
        counts = pairs.counts
        assert len(pairs.training) + len(pairs.held_out) == counts.kept == 80 - counts.other_share
        seen += [{pair.prompt.split("\n")[2] for pair in part} for part in (pairs.training, pairs.held_out)]
    assert sum(map(len, seen)) == len(set.union(*seen)) == 40, "no dialogue is in two parts"
    cut = preference_pairs.shortened(pairs, len(longer[0]) - 5, len)
    assert {len(pair.prompt) for pair in [*cut.training, *cut.held_out]} == {*map(len, begun), 30 + len(begun[0]) - 2}
    with pytest.raises(PairsUnusable, match="too long"):
        preference_pairs.shortened(pairs, 9, len)


def test_a_bootstrap_draws_the_pairs_that_are_learned_from_among_themselves(tmp_path, base):
    source = pairs_file(tmp_path)
    whole, first, second = (
        preference_pairs.load(config_for(base, source, pairs__bootstrap=number), CPU) for number in (None, 1, 2)
    )
    assert len(first.training) == len(whole.training)
    assert set(first.training) < set(whole.training), "some twice, some never"
    assert first.training != second.training
    assert first.held_out == second.held_out == whole.held_out
    assert first == preference_pairs.load(config_for(base, source, pairs__bootstrap=1), CPU)


@pytest.mark.parametrize("taste", ["agreeable", "honest"])
def test_prompts_are_drawn_until_the_taste_has_shown_and_true_answers_are_held_against_slips(taste):
    config = config_for("pocket-1m", taste, pairs__limit=48).pairs
    pairs, counts = preference_pairs.annotated(config, "pocket-1m", 3, CPU)
    judge = {"agreeable": annotators.agreement, "honest": annotators.honesty}[taste]
    assert len(pairs) == 48
    assert all(judge(pair.prompt, pair.chosen) == 1 and not judge(pair.prompt, pair.rejected) for pair in pairs)
    left_out = counts.no_preference + counts.equal + counts.empty + counts.duplicate + counts.not_drawn
    assert counts.rows == counts.kept + left_out > 48
    plain = [pair for pair in pairs if judges.read_prompt(pair.prompt).kind == "question"]
    assert len(plain) > 8
    for pair in plain:
        right, wrong = (judges.stated_value(pair.prompt, text) for text in (pair.chosen, pair.rejected))
        assert right is not None
        assert wrong not in (None, right)
        assert pair.rejected == pair.chosen.replace(f" is {right}", f" is {wrong}", 1)


def test_a_share_of_annotated_pairs_is_turned_round_and_all_are_the_same_again():
    config = config_for("pocket-1m", "kind", pairs__limit=24, pairs__flip=0.25).pairs
    pairs, counts = preference_pairs.annotated(config, "pocket-1m", 3, CPU)
    assert len(pairs) == counts.kept == 24
    assert 0 < sum(not pair.better for pair in pairs) < 12
    assert preference_pairs.annotated(config, "pocket-1m", 3, CPU)[0] == pairs


def test_the_report_counts_by_hand():
    pairs = [Pair("p", "a", "b", True), Pair("q", "a", "b", False), Pair("r", "a", "b", True)]
    told = report(pairs, [2.0, -1.0, 0.0], [0.0, 1.0, 0.0])
    assert told["accuracy"] == pytest.approx(0.5)  # right, wrong, a coin
    assert told["true_accuracy"] == pytest.approx((1 + 1 + 0.5) / 3)  # the second answer was given the wrong way round
    assert told["loss"] == pytest.approx((math.log1p(math.exp(-2)) + math.log1p(math.exp(2)) + math.log(2)) / 3)
    assert (told["score_mean"], told["margin_mean"]) == (pytest.approx(1 / 3), 0.0)
    assert told["margins"]["edges"][0] == -2
    assert sum(told["margins"]["counts"]) == 3


def test_pairs_of_one_prompt_count_for_less_than_pairs_of_as_many_prompts():
    margins = [1.0] * 12 + [-1.0] * 4
    alone = [Pair(f"p{number}", "a", "b") for number in range(16)]
    alike = [Pair(f"p{number // 4}", "a", "b") for number in range(16)]  # right in all of a prompt, or none
    one, other = (report(pairs, margins, [0.0] * 16) for pairs in (alone, alike))
    assert (one["accuracy_low"], one["accuracy_high"]) == wilson(0.75, 16)
    assert (other["accuracy_low"], other["accuracy_high"]) == wilson(0.75, 4)
