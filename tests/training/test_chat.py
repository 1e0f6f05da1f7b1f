"""Prompts in a model's own chat template: what is said to whom, no token twice, and templates that cannot be used."""

from pathlib import Path

import pytest
import yaml
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from playground.config import PromptsConfig
from playground.errors import PromptsUnusable
from playground.training.models.chat import PromptForm
from playground.training.models.language_model import Tokens

SPECIAL = ["<bos>", "<eos>", "<|im_start|>", "<|im_end|>"]
TEXTS = yaml.safe_load(Path(__file__).with_name("chat.yaml").read_text(encoding="utf-8"))


def tokens(template=None):
    """A byte-level tokenizer that puts <bos> in front of every text, as Llama's does."""
    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    words = Tokenizer(models.BPE(vocab={piece: number for number, piece in enumerate(pieces)}, merges=[]))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 0)])
    special = {"bos_token": "<bos>", "eos_token": "<eos>", "additional_special_tokens": SPECIAL[2:]}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **special)
    tokenizer.chat_template = template
    return Tokens(tokenizer, pad_id=1, eos_id=1)


@pytest.mark.parametrize(("template", "text", "fields", "expected"), TEXTS["read"])
def test_the_model_reads_the_prompt_in_its_own_form_with_each_special_token_once(template, text, fields, expected):
    asked = tokens(template)
    names = asked.tokenizer.convert_ids_to_tokens(PromptForm(asked, PromptsConfig(**fields)).ids(text))
    assert "".join(names).replace("\u0120", " ").replace("\u010a", "\n") == expected


@pytest.mark.parametrize(("template", "fields", "message"), TEXTS["refused"])
def test_a_template_that_cannot_be_used_is_refused_in_one_sentence(template, fields, message):
    with pytest.raises(PromptsUnusable) as caught:
        PromptForm(tokens(template), PromptsConfig(**fields))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
