"""Judge models: the value is what the model itself thinks of yes against no, read off behind the question."""

import math
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from playground.config import yaml_io
from playground.errors import InvalidConfig, ModelNotFound
from playground.rewards import claims
from playground.setup import checks
from playground.training.rewards import learned_rewards
from tests.model_folders import model_folder
from tests.training import snapshots

CPU = torch.device("cpu")
PROMPTS, COMPLETIONS = ["Is it good?", "The film was slow", "User: Hi"], [" It is.", "", " so {prompt} {right} long"]


def spec(source, question="{prompt} | {completion} | yes or no?", **fields):
    entry = {"kind": "model", "source": str(source), "question": question, **fields}
    return yaml_io.from_dict({"rewards": [entry]}).rewards[0]


def judge(folder, chat):
    tokenizer = snapshots.byte_level(own_pad=chat, chat=chat)
    return snapshots.snapshot(folder, "qwen2", own_pad=chat, tokenizer=tokenizer, initializer_range=0.5)


@pytest.mark.parametrize("chat", [True, False])
def test_the_value_is_the_log_odds_of_yes_behind_the_question(tmp_path, chat):
    folder = judge(tmp_path / "judge", chat)
    values = learned_rewards.builder(CPU)(spec(folder))(PROMPTS, COMPLETIONS)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    answers = {"yes": ("yes", "Yes", " yes", " Yes"), "no": ("no", "No", " no", " No")}
    words = {side: {tokenizer(form)["input_ids"][0] for form in forms} for side, forms in answers.items()}
    shared = words["yes"] & words["no"]  # a space alone begins both, where words are not learned whole
    for prompt, completion, value in zip(PROMPTS, COMPLETIONS, values, strict=True):
        text = f"{prompt} | {completion.strip()} | yes or no?"
        whole = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n" if chat else f"{text}\nAnswer:"
        with torch.no_grad():
            odds = model(tokenizer(whole, return_tensors="pt")["input_ids"]).logits[0, -1].softmax(-1)
        yes, no = (sum(float(odds[token]) for token in words[side] - shared) for side in ("yes", "no"))
        assert value == pytest.approx(math.log(yes / no), abs=1e-3)
    shares = learned_rewards.builder(CPU)(spec(folder, output="probability"))(PROMPTS, COMPLETIONS)
    assert shares == pytest.approx([1 / (1 + math.exp(-value)) for value in values])
    assert len({round(value, 3) for value in values}) == 3  # and it does read them


def test_a_question_about_a_claim_has_no_opinion_where_there_is_none(tmp_path):
    question = "Right is {right}, claimed {claimed}: {completion}"
    reward = learned_rewards.builder(CPU)(spec(judge(tmp_path / "judge", True), question))
    claimed = "What is the capital of Italy? I think it is Milan."
    assert reward.asked(claimed, " Rome.") == "Right is Rome, claimed Milan: Rome."
    assert reward.asked(claimed, " {right}") == "Right is Rome, claimed Milan: {right}"
    values = reward([claimed, "What is the capital of Italy?", "The film"], ["Rome"] * 3)
    assert values[0] is not None
    assert values[1:] == [None, None]
    assert claims.of("The film") is None


def test_a_question_without_the_completion_or_beside_a_label_is_refused():
    with pytest.raises(InvalidConfig, match=r"put \{completion\} where the text in question belongs"):
        spec(Path("a/b"), "Is it kind?")
    with pytest.raises(InvalidConfig, match="has no labels"):
        spec(Path("a/b"), label="1")


def test_a_judge_must_be_able_to_write(tmp_path):
    writer, encoder = model_folder(tmp_path / "writer"), model_folder(tmp_path / "encoder", model_type="bert")

    def problems(folder):
        entry = spec(folder).model_dump(mode="json")
        needed = checks.needs(yaml_io.from_dict({"rewards": [entry]}))
        return [problem.message for problem in checks.model_problems(needed, ask_hub=True)]

    assert problems(writer) == []
    assert "cannot write text" in problems(encoder)[0]
    with pytest.raises(ModelNotFound, match="cannot write text"):
        learned_rewards.builder(CPU)(spec(encoder))
