"""Model folders laid out as the hub lays them out, of several architectures and kinds of tokenizer, tiny and random."""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    OPTConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

TEXT = [
    "The film was slow but the ending was lovely. I would watch it again.",
    "The phone is terrible because the battery is weak. Do not buy it.",
    "User: What is 3 plus 4? Bot: 3 plus 4 is 7. Thank you, it's kind.",
    "A café in the rain, a book on the table; she smiled and said: hello!",
] * 5
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
VOCABULARY = 300
SHAPE = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
SHAPE["max_position_embeddings"] = 128
OPT_SHAPE = {**{name: SHAPE[name] for name in SHAPE if name != "intermediate_size"}, "ffn_dim": 64}
GPT2_SHAPE = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 128}
FAMILIES: dict[str, tuple[type, dict[str, Any]]] = {
    "gpt2": (GPT2Config, GPT2_SHAPE),
    "opt": (OPTConfig, {**OPT_SHAPE, "word_embed_proj_dim": 32}),
    "gpt_neox": (GPTNeoXConfig, SHAPE),
    "llama": (LlamaConfig, {**SHAPE, "num_key_value_heads": 2}),
    "qwen2": (Qwen2Config, {**SHAPE, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    "qwen3": (Qwen3Config, {**SHAPE, "num_key_value_heads": 2, "head_dim": 16}),
    "gemma": (GemmaConfig, {**SHAPE, "num_key_value_heads": 1, "head_dim": 16}),
    "gemma2": (Gemma2Config, {**SHAPE, "num_key_value_heads": 1, "head_dim": 16, "sliding_window": 8}),
}


def learned(model: Any, trainer: Any, pieces: Any, decoder: Any, texts: Iterable[str] = TEXT) -> Tokenizer:
    """A tokenizer that has learned its vocabulary from texts, cut into `pieces` first."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer, tokenizer.decoder = pieces, decoder
    trainer.show_progress = False
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def of_bytes(special: list[str], size: int = VOCABULARY, texts: Iterable[str] = TEXT) -> Tokenizer:
    """Byte-level BPE, as GPT-2, OPT, Pythia and Qwen have it; nothing is added around a text."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet)
    return learned(models.BPE(), trainer, pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel(), texts)


def byte_level(*, own_pad: bool = False, chat: bool = False) -> PreTrainedTokenizerFast:
    """Like GPT-2's: bytes, one special token for the end, no beginning; padding is the end, unless `own_pad`."""
    special = ["<|endoftext|>", *(["<|pad|>"] if own_pad else []), *(["<|im_start|>", "<|im_end|>"] if chat else [])]
    named = {"eos_token": "<|im_end|>" if chat else "<|endoftext|>", "pad_token": "<|pad|>" if own_pad else None}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=of_bytes(special), **named)
    tokenizer.chat_template = CHATML if chat else None
    return tokenizer


def sentencepiece_like(*, own_pad: bool = True, pieces: str = "unigram") -> PreTrainedTokenizerFast:
    """Like Llama's (`bpe`) and T5's: a mark for spaces, one of them in front of the text, a beginning before it."""
    special = ["<unk>", "<s>", "</s>", *(["<pad>"] if own_pad else [])]
    options = {"vocab_size": VOCABULARY, "special_tokens": special}
    if pieces == "unigram":
        model, trainer = models.Unigram(), trainers.UnigramTrainer(unk_token="<unk>", **options)
    else:
        model, trainer = models.BPE(unk_token="<unk>"), trainers.BpeTrainer(**options)
    spaces, decoder = (kind.Metaspace(prepend_scheme="first") for kind in (pre_tokenizers, decoders))
    words = learned(model, trainer, spaces, decoder)
    words.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    named = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>" if own_pad else None}
    return PreTrainedTokenizerFast(tokenizer_object=words, **named)


TOKENIZERS: dict[str, Any] = {
    **dict.fromkeys(("gpt2", "opt", "gpt_neox", "qwen2", "qwen3"), byte_level),
    "llama": functools.partial(sentencepiece_like, pieces="bpe"),
}


def snapshot(folder: Path, family: str, *, own_pad: bool, seed: int = 0, tokenizer: Any = None, **config: Any) -> Path:
    """Write a model of a family with random weights and the tokenizer usual for it into a folder.

    Weights are scaled up, so that its distributions are far from uniform and positions matter.
    """
    tokenizer = tokenizer or TOKENIZERS.get(family, sentencepiece_like)(own_pad=own_pad)
    pad = tokenizer.pad_token_id
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": pad}
    torch.manual_seed(seed)
    kind, shape = FAMILIES[family]
    model = AutoModelForCausalLM.from_config(kind(vocab_size=len(tokenizer) + 4, **ids, **{**shape, **config}))
    return kept(folder, model, tokenizer)


def kept(folder: Path, model: Any, tokenizer: Any) -> Path:
    """A random model in a folder with its tokenizer; its matrices are made larger, so that answers differ enough."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
