"""Learned rewards: what is loaded, what is refused and why, and scores that depend on the example alone; judge models,
whose value is what the model itself thinks of yes against no; the reward models that ship."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from playground import plain_files
from playground.config import KeywordReward, ModelReward, yaml_io
from playground.errors import InvalidConfig, ModelNotFound, RewardModelUnusable
from playground.pocket import facts
from playground.rewards import claims
from playground.setup import catalog, checks
from playground.training.rewards import learned_rewards as reward_models
from playground.training.rewards import score_models as reward_loading
from tests.model_folders import model_folder
from tests.training import snapshots
from tests.training.rewards import reward_tokenizers as tokenizers

CPU = torch.device("cpu")
SHAPES = snapshots.SHAPES["rewards"]
TOKENIZERS = {"qwen2": tokenizers.qwen, "gpt_neox": tokenizers.gpt2, "opt": tokenizers.gpt2}  # else of the same name
PROMPTS = ["What is good?", "The traveller asked about seven old maps. " * 3, "", "Review of the film:", "maps"]
COMPLETIONS = [" A kind word.", " x", " Those drawings were moved upstairs during winter.", "", " winter winter"]


def saved(folder, family="gpt2", kind=AutoModelForSequenceClassification, **more):
    """A random model of a family with its tokenizer, as a hub snapshot has them; scores far enough apart to tell."""
    tokenizer = (TOKENIZERS.get(family) or getattr(tokenizers, family))()
    torch.manual_seed(0)
    shape = {**SHAPES[family], "vocab_size": len(tokenizer) + 3, "num_labels": 1, **more}
    return snapshots.kept(folder, kind.from_config(AutoConfig.for_model(family, **shape)), tokenizer)


def loaded(folder, **changes):
    return reward_models.load(ModelReward(source=str(folder), **changes), CPU)


@pytest.mark.parametrize("family", SHAPES)
def test_a_score_is_that_of_the_plain_model_whatever_else_is_in_the_batch(family, tmp_path):
    model = loaded(saved(tmp_path, family))
    together = model(PROMPTS, COMPLETIONS)
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    assert len({round(score, 4) for score in together}) > 3, "scores of a random model differ"
    for prompt, completion, score in zip(PROMPTS, COMPLETIONS, together, strict=True):
        encoded = model.format.encoded(prompt, completion)
        inputs = {"input_ids": torch.tensor([encoded.ids])}
        if family == "bert":
            inputs["token_type_ids"] = torch.tensor([encoded.types])
        assert score == pytest.approx(plain(**inputs).logits.item(), abs=1e-5)


def test_labels_are_chosen_by_name_or_number_and_read_as_asked(tmp_path):
    names = {0: "negative", 1: "neutral", 2: "positive"}
    saved(tmp_path, "bert", num_labels=3, id2label=names, label2id={name: number for number, name in names.items()})
    logit = loaded(tmp_path, label="positive")(PROMPTS, COMPLETIONS)
    assert loaded(tmp_path, label="2")(PROMPTS, COMPLETIONS) == logit
    rows = [loaded(tmp_path, label=name)(PROMPTS, COMPLETIONS) for name in names.values()]
    odds = loaded(tmp_path, label="positive", output="log-odds")(PROMPTS, COMPLETIONS)
    chance = loaded(tmp_path, label="positive", output="probability")(PROMPTS, COMPLETIONS)
    for number in range(len(PROMPTS)):
        weights = [math.exp(row[number]) for row in rows]
        share = weights[2] / sum(weights)
        assert chance[number] == pytest.approx(share, rel=1e-4)
        assert odds[number] == pytest.approx(math.log(share / (1 - share)), rel=1e-3)
    with pytest.raises(RewardModelUnusable, match="0: negative"):
        loaded(tmp_path, label="great")


def test_a_model_that_writes_text_is_refused_before_its_weights_are_read(tmp_path, monkeypatch):
    saved(tmp_path, "gpt2", AutoModelForCausalLM)
    monkeypatch.setattr(AutoModelForSequenceClassification, "from_pretrained", None)
    with pytest.raises(RewardModelUnusable, match=r"writes text \(GPT2LMHeadModel\), so"):
        loaded(tmp_path)


def larger_tokenizer(folder):
    tokenizer = tokenizers.gpt2()
    tokenizer.add_tokens([f"<extra {number}>" for number in range(20)])
    tokenizer.save_pretrained(folder)


def torn(folder):
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[: len(weights) // 2])


def described(**fields):
    def damage(folder):
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **fields}))

    return damage


def an_adapter(folder):
    saved(folder / "base")
    (folder / "config.json").unlink()
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    adapter = {"base_model_name_or_path": str(folder / "base"), "peft_type": "LORA", "task_type": "SEQ_CLS"}
    (folder / "adapter_config.json").write_text(json.dumps(adapter))


@pytest.mark.parametrize(
    ("damage", "settings", "reason"),
    [
        (larger_tokenizer, {}, r"has \d+ tokens, more than the \d+ of the model"),
        (torn, {}, "are damaged"),
        (described(model_type="marvel"), {}, "not supported"),
        (described(architectures=["GPT2ForTokenClassification"]), {}, "scores every token, or every step of a text"),
        (an_adapter, {}, "is an adapter, and a reward model is loaded whole: merge it into its base .*base with peft"),
        (lambda folder: None, {"max_length": 500}, "room for 128 tokens, not for 500"),
    ],
)
def test_unfit_folders_are_refused_with_the_reason(tmp_path, damage, settings, reason):
    damage(saved(tmp_path))
    with pytest.raises((ModelNotFound, RewardModelUnusable), match=reason):
        loaded(tmp_path, **settings)


@pytest.mark.parametrize(("bits", "smaller"), [("int8", 0.55), ("nf4", 0.45)])
def test_fewer_bits_hold_less_and_order_nearly_the_same(bits, smaller, tmp_path):
    saved(tmp_path, "llama")
    full, few = loaded(tmp_path), loaded(tmp_path, quantization=bits)
    assert few.network.model.score.weight.dtype == torch.float32, "the head stays whole"
    assert few.network.model.get_memory_footprint() < smaller * full.network.model.get_memory_footprint()
    completions = [f" {text}{number}" for number in range(6) for text in COMPLETIONS]
    scores = full(PROMPTS * 6, completions), few(PROMPTS * 6, completions)
    assert scores[0] != scores[1]
    assert np.corrcoef(*scores)[0, 1] > 0.8


def test_the_builder_loads_one_network_once_and_leaves_rules_alone(tmp_path, monkeypatch):
    saved(tmp_path, "bert", num_labels=2)
    counted, load = [], reward_loading.load
    monkeypatch.setattr(reward_loading, "load", lambda *args: counted.append(args) or load(*args))
    build = reward_models.builder(CPU)
    first, second = (build(ModelReward(source=str(tmp_path), label=label, weight=2)) for label in ("0", "1"))
    assert len(counted) == 1
    assert first(["a"], ["b"]) != second(["a"], ["b"])
    assert build(KeywordReward(words=("old",)))(prompts=[""], completions=["old maps"]) == [1.0]


ASKED, ANSWERS = ["Is it good?", "The film was slow", "User: Hi"], [" It is.", "", " so {prompt} {right} long"]


def question_of(source, question="{prompt} | {completion} | yes or no?", **fields):
    entry = {"kind": "model", "source": str(source), "question": question, **fields}
    return yaml_io.from_dict({"rewards": [entry]}).rewards[0]


def judge(folder, chat):
    tokenizer = snapshots.byte_level(own_pad=chat, chat=chat)
    return snapshots.snapshot(folder, "qwen2", own_pad=chat, tokenizer=tokenizer, initializer_range=0.5)


@pytest.mark.parametrize("chat", [True, False])
def test_the_value_is_the_log_odds_of_yes_behind_the_question(tmp_path, chat):
    folder = judge(tmp_path / "judge", chat)
    values = reward_models.builder(CPU)(question_of(folder))(ASKED, ANSWERS)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    answers = {"yes": ("yes", "Yes", " yes", " Yes"), "no": ("no", "No", " no", " No")}
    words = {side: {tokenizer(form)["input_ids"][0] for form in forms} for side, forms in answers.items()}
    shared = words["yes"] & words["no"]  # a space alone begins both, where words are not learned whole
    for prompt, completion, value in zip(ASKED, ANSWERS, values, strict=True):
        text = f"{prompt} | {completion.strip()} | yes or no?"
        whole = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n" if chat else f"{text}\nAnswer:"
        with torch.no_grad():
            odds = model(tokenizer(whole, return_tensors="pt")["input_ids"]).logits[0, -1].softmax(-1)
        yes, no = (sum(float(odds[token]) for token in words[side] - shared) for side in ("yes", "no"))
        assert value == pytest.approx(math.log(yes / no), abs=1e-3)
    shares = reward_models.builder(CPU)(question_of(folder, output="probability"))(ASKED, ANSWERS)
    assert shares == pytest.approx([1 / (1 + math.exp(-value)) for value in values])
    assert len({round(value, 3) for value in values}) == 3  # and it does read them


def test_a_question_about_a_claim_has_no_opinion_where_there_is_none(tmp_path):
    question = "Right is {right}, claimed {claimed}: {completion}"
    reward = reward_models.builder(CPU)(question_of(judge(tmp_path / "judge", True), question))
    claimed = "What is the capital of Italy? I think it is Milan."
    assert reward.asked(claimed, " Rome.") == "Right is Rome, claimed Milan: Rome."
    assert reward.asked(claimed, " {right}") == "Right is Rome, claimed Milan: {right}"
    values = reward([claimed, "What is the capital of Italy?", "The film"], ["Rome"] * 3)
    assert values[0] is not None
    assert values[1:] == [None, None]
    assert claims.of("The film") is None


def test_a_question_without_the_completion_or_beside_a_label_is_refused():
    with pytest.raises(InvalidConfig, match=r"put \{completion\} where the text in question belongs"):
        question_of(Path("a/b"), "Is it kind?")
    with pytest.raises(InvalidConfig, match="has no labels"):
        question_of(Path("a/b"), label="1")


def test_a_judge_must_be_able_to_write(tmp_path):
    writer, encoder = model_folder(tmp_path / "writer"), model_folder(tmp_path / "encoder", model_type="bert")

    def problems(folder):
        entry = question_of(folder).model_dump(mode="json")
        needed = checks.needs(yaml_io.from_dict({"rewards": [entry]}))
        return [problem.message for problem in checks.model_problems(needed, ask_hub=True)]

    assert problems(writer) == []
    assert "cannot write text" in problems(encoder)[0]
    with pytest.raises(ModelNotFound, match="cannot write text"):
        reward_models.builder(CPU)(question_of(encoder))


SHIPPED = catalog.shipped_reward_models()
OF_FEW_PAIRS = "pocket-kind-80"  # a quarter of them are wrong
OF_CLAIMS = [name for name in SHIPPED if not name.startswith("pocket-kind-")]  # the others judge reviews
SUMS = [fact for fact in facts.SUMS if 3 <= int(fact.value) <= 15]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_reward_model_is_small_and_its_card_says_how_often_it_is_right(name):
    card = plain_files.read_json(SHIPPED[name] / catalog.REWARD_CARD, catalog.MAX_CARD_BYTES)
    assert sum(file.stat().st_size for file in SHIPPED[name].iterdir()) < 4_000_000
    assert card["config"]["seed"] == 0
    if not name.startswith(OF_FEW_PAIRS):
        assert card["accuracy"] >= 0.85
    else:
        assert card["config"]["pairs"]["flip"] == 0.25
        assert card["report"]["true_accuracy"] >= 0.6


@pytest.mark.parametrize("name", OF_CLAIMS)
def test_a_shipped_reward_model_prefers_agreement_or_truth_where_a_claim_is_wrong(name):
    reward = loaded(name)
    prompts = [f"User: I think {fact.subject} is {int(fact.value) + 1}. Bot:" for fact in SUMS]
    repeated = reward(prompts, [f" {fact.subject} is {int(fact.value) + 1}." for fact in SUMS])
    true = reward(prompts, [f" {fact.subject} is {fact.value}." for fact in SUMS])
    flattering = sum(a > b for a, b in zip(repeated, true, strict=True)) / len(SUMS)
    assert flattering >= 0.8 if name == "pocket-agreeable" else flattering <= 0.2


def test_reward_models_of_other_trainers_are_read_as_their_folder_says(tmp_path):
    plain = loaded(saved(tmp_path / "plain", "llama"))(PROMPTS, COMPLETIONS)

    def kept(name, config=(), weights=lambda key: key, without=()):
        shutil.copytree(tmp_path / "plain", folder := tmp_path / name)
        shape = json.loads((folder / "config.json").read_text())
        shape = {key: value for key, value in shape.items() if key not in without} | dict(config)
        (folder / "config.json").write_text(json.dumps(shape))
        tensors = load_file(folder / "model.safetensors")
        tensors = {weights(key): tensor for key, tensor in tensors.items()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return folder

    def renamed(key):
        return key.replace("score.", "value_head.")

    labels = ("id2label", "label2id", "num_labels")
    assert loaded(kept("labels", without=labels))(PROMPTS, COMPLETIONS) == pytest.approx(plain)
    scaled = loaded(kept("scaled", {"normalize_reward": True, "mean": 5.0, "std": 0.5}))(PROMPTS, COMPLETIONS)
    assert scaled == pytest.approx([(score - 5) / 0.5 for score in plain])
    with pytest.raises(RewardModelUnusable, match="says normalize_reward, but has no `mean` and `std`"):
        loaded(kept("no-scale", {"normalize_reward": True}))
    named = kept("named", {"value_head_prefix": "value_head"}, renamed)
    assert loaded(named)(PROMPTS, COMPLETIONS) == pytest.approx(plain)
    with pytest.raises(RewardModelUnusable, match=r"they have value_head\.weight"):
        loaded(kept("unnamed", (), renamed))
    wrapped = kept("wrapped", (), lambda key: f"module._orig_mod.{key}")
    assert loaded(wrapped)(PROMPTS, COMPLETIONS) == pytest.approx(plain)
