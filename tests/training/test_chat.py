"""Prompts in a model's own chat template: what is said to whom, no token twice, and templates that cannot be used."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from playground.config import PromptsConfig
from playground.errors import PromptsUnusable
from playground.training.models.chat import PromptForm
from playground.training.models.language_model import Tokens

SPECIAL = ["<bos>", "<eos>", "<|im_start|>", "<|im_end|>"]
CHATML = (
    "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
NO_SYSTEM = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
DEAF = (
    "{% for m in messages if m['role'] != 'system' %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def tokens(template: str | None = None) -> Tokens:
    """A byte-level tokenizer that puts <bos> in front of every text, as Llama's does."""
    vocabulary = {
        piece: number for number, piece in enumerate([*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())])
    }
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<bos>", eos_token="<eos>", additional_special_tokens=SPECIAL[2:]
    )
    tokenizer.chat_template = template
    return Tokens(tokenizer, pad_id=1, eos_id=1)


def said(chat_template: str | None, text: str, **fields: object) -> str:
    """What the model reads, special tokens included."""
    made = tokens(chat_template)
    ids = PromptForm(made, PromptsConfig(**fields)).ids(text)
    names = made.tokenizer.convert_ids_to_tokens(ids)
    return "".join(names).replace("\u0120", " ").replace("\u010a", "\n")


DIALOGUE = "\n\nHuman: a\n\nAssistant: b\n\nHuman: c\n\nAssistant:"


START, USER, SYSTEM = "<bos>", "<|im_start|>user\n", "<|im_start|>system\nBe kind.<|im_end|>"
ANSWER = "<|im_end|><|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("template", "text", "fields", "expected"),
    [
        (None, "The film", {}, f"{START}The film"),
        (None, DIALOGUE, {}, f"{START}{DIALOGUE}"),
        (CHATML, "The film", {"template": "plain"}, f"{START}The film"),
        (CHATML, "The film", {}, f"{START}{USER}The film{ANSWER}"),
        (CHATML, "Hi", {"template": "chat", "system": "Be kind."}, f"{START}{SYSTEM}{USER}Hi{ANSWER}"),
        (CHATML, DIALOGUE, {}, f"{START}{USER}a{ANSWER}b<|im_end|>{USER}c{ANSWER}"),
        (CHATML, "\n\nHuman: a\n\nAssistant: I", {}, f"{START}{USER}a{ANSWER}I"),
        (NO_SYSTEM + CHATML, "Hi", {}, f"{START}{USER}Hi{ANSWER}"),
    ],
)
def test_the_model_reads_the_prompt_in_its_own_form_with_each_special_token_once(template, text, fields, expected):
    assert said(template, text, **fields) == expected


KIND = {"system": "Be kind."}


@pytest.mark.parametrize(
    ("template", "fields", "message"),
    [
        (None, {"template": "chat"}, "prompts.template: "),
        (None, KIND, "prompts.system: "),
        (CHATML, {"template": "plain", **KIND}, "prompts.system: "),
        (NO_SYSTEM + CHATML, KIND, "no place for a system prompt"),
        (DEAF, KIND, "no place for a system prompt"),
        ("{% for %}", {}, "prompts.template: "),
        ("{{ 1 / 0 }}", {}, "division by zero"),
        ("{{ raise_exception('only on Sundays') }}", KIND, "only on Sundays"),
        ("hello", {}, "leaves the prompt out"),
        ("{{ 'x' * 30000 }}{{ messages[0].content }}", {}, "20,000 characters"),
        ("{{ ''.__class__.__mro__ }}", {}, "cannot be used"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_in_one_sentence(template, fields, message):
    with pytest.raises(PromptsUnusable) as caught:
        PromptForm(tokens(template), PromptsConfig(**fields))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
