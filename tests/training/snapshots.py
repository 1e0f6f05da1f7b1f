"""Model folders laid out as the hub lays them out, of several architectures and kinds of tokenizer, tiny and random."""

import functools

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from tests.support import data_beside

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
VOCABULARY = 300
SHAPES = data_beside(__file__, "families.yaml")
FAMILIES, TEXT = SHAPES["snapshots"], SHAPES["texts"] * 5


def learned(model, trainer, pieces, decoder):
    """A tokenizer that has learned its vocabulary from `TEXT`, cut into `pieces` first."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer, tokenizer.decoder = pieces, decoder
    trainer.show_progress = False
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def byte_level(*, own_pad=False, chat=False):
    """Like GPT-2's, OPT's, Pythia's and Qwen's: bytes, one special token for the end, no beginning; padding is the end,
    unless `own_pad`."""
    special = ["<|endoftext|>", *(["<|pad|>"] if own_pad else []), *(["<|im_start|>", "<|im_end|>"] if chat else [])]
    named = {"eos_token": "<|im_end|>" if chat else "<|endoftext|>", "pad_token": "<|pad|>" if own_pad else None}
    bytes_as_text = pre_tokenizers.ByteLevel(add_prefix_space=False)
    options = {"vocab_size": VOCABULARY, "special_tokens": special, "initial_alphabet": bytes_as_text.alphabet()}
    words = learned(models.BPE(), trainers.BpeTrainer(**options), bytes_as_text, decoders.ByteLevel())
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **named)
    tokenizer.chat_template = CHATML if chat else None
    return tokenizer


def sentencepiece_like(*, own_pad=True, pieces="unigram"):
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


TOKENIZERS = {
    **dict.fromkeys(("gpt2", "opt", "gpt_neox", "qwen2", "qwen3"), byte_level),
    "llama": functools.partial(sentencepiece_like, pieces="bpe"),
}


def snapshot(folder, family, *, own_pad, seed=0, tokenizer=None, **config):
    """Write a model of a family with random weights and the tokenizer usual for it into a folder.

    Weights are scaled up, so that its distributions are far from uniform and positions matter.
    """
    tokenizer = tokenizer or TOKENIZERS.get(family, sentencepiece_like)(own_pad=own_pad)
    ids = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    shape = {"vocab_size": len(tokenizer) + 4, **ids, **FAMILIES[family], **config}
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(family, **shape))
    return kept(folder, model, tokenizer)


def kept(folder, model, tokenizer):
    """A random model in a folder with its tokenizer; its matrices are made larger, so that answers differ enough."""
    spread_out(model, 3.0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@torch.no_grad()
def spread_out(model, spread):
    """With its matrices scaled, absolute positions too, so that its distributions are far from uniform."""
    for parameter in model.parameters():
        if parameter.ndim == 2:
            parameter.mul_(spread)
    return model
