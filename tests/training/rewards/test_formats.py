"""How an example is put before a reward model: ids, frame, ends, cuts, and the round trip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from playground.errors import RewardModelUnusable
from playground.setup import catalog
from playground.training.rewards.formats import Format
from tests.training.rewards import reward_tokenizers as tokenizers

DIALOGUE = "\n\nHuman: What is good?\n\nAssistant: A kind word.\n\nHuman: And what else?\n\nAssistant:"


def pocket() -> Any:
    return AutoTokenizer.from_pretrained(catalog.model_folder("pocket-2m"), local_files_only=True)


FAMILIES = {
    "pocket": (pocket, "plain"),
    "gpt2": (tokenizers.gpt2, "plain"),
    "llama": (tokenizers.llama, "chat"),
    "qwen": (tokenizers.qwen, "chat"),
    "bert": (tokenizers.bert, "pair"),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_auto_takes_what_the_tokenizer_is_made_for(family: str) -> None:
    make, expected = FAMILIES[family]
    assert Format(make()).name == expected


def test_plain_is_begin_then_both_texts_then_end() -> None:
    tokenizer = pocket()
    made = Format(tokenizer).ids("Review of the film:", " The plot was dull.")
    assert made == [1, *tokenizer("Review of the film: The plot was dull.", add_special_tokens=False).input_ids, 2]


def test_a_pair_has_the_separators_of_its_tokenizer_and_no_second_end() -> None:
    made = Format(tokenizers.bert())
    assert made.text("What is good?", "A kind word") == "[CLS] what is good? [SEP] a kind word [SEP]"
    encoded = made.encoded("What is good?", "A kind word")
    second = encoded.ids.index(made.tokenizer.sep_token_id) + 1
    assert encoded.types == [0] * second + [1] * (len(encoded.ids) - second)


def test_a_dialogue_gets_its_speakers_once() -> None:
    made = Format(tokenizers.gpt2(), "dialogue")
    assert made.text("What is good?", " A kind word.") == (
        "\n\nHuman: What is good?\n\nAssistant: A kind word.<|endoftext|>"
    )
    assert made.text(DIALOGUE, " Time.") == DIALOGUE + " Time.<|endoftext|>"


def test_chat_speaks_the_turns_of_a_dialogue_and_begins_and_ends_once() -> None:
    chatml = Format(tokenizers.qwen()).text(DIALOGUE, " Time.")
    assert chatml == (
        "<|im_start|>user\nWhat is good?<|im_end|>\n<|im_start|>assistant\nA kind word.<|im_end|>\n"
        "<|im_start|>user\nAnd what else?<|im_end|>\n<|im_start|>assistant\nTime.<|im_end|>\n"
    )
    llama = Format(tokenizers.llama())
    ids = llama.ids("What is good?", "Time.")
    assert ids.count(llama.tokenizer.bos_token_id) == 1 and ids.count(llama.tokenizer.eos_token_id) == 1
    assert ids[0] == llama.tokenizer.bos_token_id and ids[-1] == llama.tokenizer.eos_token_id


def test_a_chat_template_without_an_end_gets_one() -> None:
    bare = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    made = Format(tokenizers.byte_level(bare, eos_token="</s>"))
    assert made.ids("What is good?", "Time.")[-1] == made.tokenizer.eos_token_id


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prompt", ["word " * 60 + "about old maps", DIALOGUE])
def test_a_long_prompt_loses_its_beginning_and_the_frame_stays(family: str, prompt: str) -> None:
    make, name = FAMILIES[family]
    made = Format(make(), max_length=44)
    short = made.encoded("old maps", "moved upstairs")
    long = made.encoded(prompt if name != "chat" else prompt.replace("word", "old"), "moved upstairs")
    assert len(long.ids) <= 44 and len(long.types) == len(long.ids)
    tail = len(made.tokenizer("upstairs").input_ids)
    special = made.tokenizer.all_special_ids
    assert long.ids[-tail:] == short.ids[-tail:], "the completion and the end stay"
    assert long.ids[0] == short.ids[0] or short.ids[0] not in special, "the begin stays, where there is one"
    assert not short.cut
    if long.cut:
        uncut = Format(make(), max_length=10_000).ids(prompt, "moved upstairs")
        assert len(uncut) > 44


def test_whole_first_turns_go_before_the_last_question_is_cut() -> None:
    whole = len(Format(tokenizers.qwen()).ids(DIALOGUE, "Time."))
    made = Format(tokenizers.qwen(), max_length=whole - 1)
    assert "And what else?" in made.text(DIALOGUE, "Time.") and "A kind word." in made.text(DIALOGUE, "Time.")
    made = Format(tokenizers.qwen(), max_length=whole - 20)
    text = made.text(DIALOGUE, "Time.")
    assert "What is good" not in text and "And what else?" in text and text.startswith("<|im_start|>user\n")


def test_a_completion_that_alone_is_too_long_keeps_its_end() -> None:
    made = Format(pocket(), max_length=12)
    encoded = made.encoded("Review of the film:", " The plot was dull." * 10)
    assert len(encoded.ids) <= 12 and made.visible(encoded.ids).endswith("dull.<eos>")
    assert encoded.cut > 0


def test_reward_json_in_the_folder_says_what_auto_means(tmp_path: Path) -> None:
    pocket().save_pretrained(tmp_path)
    (tmp_path / "reward.json").write_text(json.dumps({"format": 1, "template": "dialogue", "max_length": 40}))
    made = Format(AutoTokenizer.from_pretrained(tmp_path))
    assert (made.name, made.max_length) == ("dialogue", 40)
    (tmp_path / "reward.json").write_text(json.dumps({"template": "nonsense"}))
    with pytest.raises(RewardModelUnusable, match="`nonsense` is no template"):
        Format(AutoTokenizer.from_pretrained(tmp_path))


def test_a_template_that_the_tokenizer_cannot_do_is_refused() -> None:
    with pytest.raises(RewardModelUnusable, match="`chat` needs a chat template"):
        Format(tokenizers.gpt2(), "chat")
    with pytest.raises(RewardModelUnusable, match="`pair` needs a tokenizer that puts a separator"):
        Format(pocket(), "pair")
    with pytest.raises(RewardModelUnusable, match="do not even hold"):
        Format(tokenizers.qwen(), max_length=8)


@pytest.mark.parametrize(
    "broken",
    [
        "{% for m in messages %}{{ m['content'] }} {{ m['content'] }}<|im_end|>{% endfor %}",  # everything twice
        "{{ messages[-1]['content'] }}<|im_end|>",  # no prompt
        "{{ messages[0]['content'] }}<|im_end|>",  # no completion
        "{{ messages[-1]['content'] }} {{ messages[0]['content'] }}<|im_end|>",  # the wrong order
    ],
)
def test_a_chat_template_that_loses_or_doubles_a_text_is_refused(broken: str) -> None:
    with pytest.raises(RewardModelUnusable, match="does not give the prompt followed by the completion, each once"):
        Format(tokenizers.byte_level(broken, eos_token="<|im_end|>"))


def test_a_chat_template_that_fails_is_told_in_a_sentence() -> None:
    with pytest.raises(RewardModelUnusable, match="chat template of this reward model failed: no way"):
        Format(tokenizers.byte_level("{{ raise_exception('no way') }}", eos_token="</s>"))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("texts", [("", ""), ("a", " a"), ("Ünïcode ☃ 你好", " été ☃"), ("<|im_end|>", " <eos> [SEP]")])
def test_any_text_gives_ids(family: str, texts: tuple[str, str]) -> None:
    ids = Format(FAMILIES[family][0]()).ids(*texts)
    assert ids and all(isinstance(token, int) for token in ids)
