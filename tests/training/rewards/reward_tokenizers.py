"""Tokenizers as different families of reward models have them, made from nothing."""

from __future__ import annotations

from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEXTS = (
    "The traveller asked the librarian about seven old maps. Those drawings were moved upstairs during winter.",
    "Human: What is good? Assistant: A kind word, said in time, is good. Review of the film: I loved the plot.",
    "user assistant system [INST] [/INST]",
)
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA_CHAT = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}[INST] {{ m['content'] }} [/INST]"
    "{% else %} {{ m['content'] }} {{ eos_token }}{% endif %}{% endfor %}"
)


def learn(tokenizer: Tokenizer, trainer: Any) -> None:
    trainer.show_progress = False
    tokenizer.train_from_iterator(TEXTS, trainer)


def byte_level(chat_template: str | None = None, **special: str) -> Any:
    """Byte-level BPE, as GPT-2, OPT, Pythia and Qwen have it; nothing is added around a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    names = list(dict.fromkeys(special.values()))
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    learn(tokenizer, trainers.BpeTrainer(vocab_size=600, special_tokens=names, initial_alphabet=alphabet))
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **special)
    made.chat_template = chat_template
    return made


def qwen() -> Any:
    return byte_level(CHATML, eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token="<|im_start|>")


def gpt2() -> Any:
    """End is the only special token; no pad."""
    return byte_level(eos_token="<|endoftext|>")


def llama(chat_template: str | None = LLAMA_CHAT) -> Any:
    """Sentencepiece-style: a mark for spaces, one put in front of the text, a begin token added by the tokenizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special, alphabet = (
        {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"},
        [*map(chr, range(33, 127)), "\n"],
    )
    names = [*special.values()]
    learn(tokenizer, trainers.BpeTrainer(vocab_size=400, special_tokens=names, initial_alphabet=alphabet))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, **special)
    made.chat_template = chat_template
    return made


def roberta() -> Any:
    """Begin and separator, and nothing that says which text a token belongs to."""
    return bert(("input_ids", "attention_mask"))


def bert(inputs: tuple[str, ...] = ("input_ids", "token_type_ids", "attention_mask")) -> Any:
    """Word pieces without case and accents, [CLS] and [SEP]."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    learn(tokenizer, trainers.WordPieceTrainer(vocab_size=400, special_tokens=[*special.values()]))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    settings = {"model_max_length": 64, "model_input_names": list(inputs)}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special, **settings)
