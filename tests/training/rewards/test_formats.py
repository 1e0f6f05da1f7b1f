"""How an example is put before a reward model: ids, frame, ends, cuts, and the round trip."""

import json

import pytest
from transformers import AutoTokenizer

from playground.errors import RewardModelUnusable
from playground.setup import catalog
from playground.training.rewards.formats import Format
from tests.support import data_beside
from tests.training.rewards import reward_tokenizers as tokenizers

FORMS = data_beside(__file__, "formats.yaml")
TEXTS = ("What is good?", "Time.")


def pocket():
    return AutoTokenizer.from_pretrained(catalog.model_folder("pocket-2m"), local_files_only=True)


FAMILIES = {
    "pocket": (pocket, "plain"),
    "gpt2": (tokenizers.gpt2, "plain"),
    "llama": (tokenizers.llama, "chat"),
    "qwen": (tokenizers.qwen, "chat"),
    "bert": (tokenizers.bert, "pair"),
}


def test_plain_is_begin_then_both_texts_then_end():
    tokenizer = pocket()
    ids = Format(tokenizer).ids("Review of the film:", " The plot was dull.")
    assert ids == [1, *tokenizer("Review of the film: The plot was dull.", add_special_tokens=False).input_ids, 2]


def test_a_pair_has_the_separators_of_its_tokenizer_and_no_second_end():
    form = Format(tokenizers.bert())
    encoded = form.encoded("What is good?", "A kind word")
    second = encoded.ids.index(form.tokenizer.sep_token_id) + 1
    assert encoded.types == [0] * second + [1] * (len(encoded.ids) - second)


@pytest.mark.parametrize(("family", "template", "prompt", "completion", "text"), FORMS["read"])
def test_an_example_has_the_form_of_its_template(family, template, prompt, completion, text):
    assert Format(FAMILIES[family][0](), template).text(prompt, completion) == text


def test_chat_begins_and_ends_once():
    llama = Format(tokenizers.llama())
    ids, begin, end = llama.ids(*TEXTS), llama.tokenizer.bos_token_id, llama.tokenizer.eos_token_id
    assert (ids[0], ids[-1], ids.count(begin), ids.count(end)) == (begin, end, 1, 1)
    bare = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"  # a template without an end
    form = Format(tokenizers.qwen(bare))
    assert form.ids(*TEXTS)[-1] == form.tokenizer.eos_token_id


@pytest.mark.parametrize("family", FAMILIES)
def test_auto_suits_the_tokenizer_and_a_long_prompt_loses_its_beginning_while_the_frame_stays(family):
    make, name = FAMILIES[family]
    form = Format(make(), max_length=44)
    assert form.name == name
    short = form.encoded("old maps", "moved upstairs")
    assert not short.cut
    for prompt in ("old " * 60 + "about old maps", FORMS["dialogue"]):
        long = form.encoded(prompt, "moved upstairs")
        assert len(long.ids) <= 44
        assert len(long.types) == len(long.ids)
        tail = len(form.tokenizer("upstairs").input_ids)
        assert long.ids[-tail:] == short.ids[-tail:], "the completion and the end stay"
        assert long.ids[0] == short.ids[0] or short.ids[0] not in form.tokenizer.all_special_ids, "the begin stays"
        if long.cut:
            assert len(Format(make(), max_length=10_000).ids(prompt, "moved upstairs")) == len(long.ids) + long.cut


def test_whole_first_turns_go_before_the_last_question_is_cut():
    whole = len(Format(tokenizers.qwen()).ids(FORMS["dialogue"], "Time."))
    text = Format(tokenizers.qwen(), max_length=whole - 20).text(FORMS["dialogue"], "Time.")
    assert "What is good" not in text
    assert "And what else?" in text
    assert text.startswith("<|im_start|>user\n")


def test_a_completion_that_alone_is_too_long_keeps_its_end():
    form = Format(pocket(), max_length=12)
    encoded = form.encoded("Review of the film:", " The plot was dull." * 10)
    assert len(encoded.ids) <= 12
    assert form.visible(encoded.ids).endswith("dull.<eos>")
    assert encoded.cut > 0


def test_reward_json_in_the_folder_says_what_auto_means(tmp_path):
    pocket().save_pretrained(tmp_path)
    (tmp_path / "reward.json").write_text(json.dumps({"format": 1, "template": "dialogue", "max_length": 40}))
    form = Format(AutoTokenizer.from_pretrained(tmp_path))
    assert (form.name, form.max_length) == ("dialogue", 40)
    (tmp_path / "reward.json").write_text(json.dumps({"template": "nonsense"}))
    with pytest.raises(RewardModelUnusable, match="`nonsense` is not a template"):
        Format(AutoTokenizer.from_pretrained(tmp_path))


@pytest.mark.parametrize(("family", "template", "settings", "reason"), FORMS["refused"])
def test_a_template_that_cannot_be_used_is_refused(family, template, settings, reason):
    tokenizer = FAMILIES[family][0]()
    tokenizer.chat_template = template or tokenizer.chat_template
    with pytest.raises(RewardModelUnusable, match=reason):
        Format(tokenizer, **settings)
