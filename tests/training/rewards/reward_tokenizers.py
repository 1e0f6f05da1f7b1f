"""Tokenizers as different families of reward models have them, made from nothing."""

from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tests.training import snapshots

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


def byte_level(chat_template: str | None = None, **special: str) -> Any:
    names = list(dict.fromkeys(special.values()))
    words = snapshots.of_bytes(names, 600, TEXTS)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, clean_up_tokenization_spaces=False, **special)
    tokenizer.chat_template = chat_template
    return tokenizer


def qwen() -> Any:
    return byte_level(CHATML, eos_token="<|im_end|>", pad_token="<|endoftext|>", unk_token="<|im_start|>")


def gpt2() -> Any:
    """End is the only special token; no pad."""
    return byte_level(eos_token="<|endoftext|>")


def llama() -> Any:
    """Sentencepiece-style: a mark for spaces, one put in front of the text, a begin token added by the tokenizer."""
    special = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    alphabet = [*map(chr, range(33, 127)), "\n"]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=[*special.values()], initial_alphabet=alphabet)
    spaces = pre_tokenizers.Metaspace(prepend_scheme="first")
    decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    words = snapshots.learned(models.BPE(unk_token="<unk>", byte_fallback=True), trainer, spaces, decoder, TEXTS)
    words.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", words.token_to_id("<s>"))]
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, clean_up_tokenization_spaces=False, **special)
    tokenizer.chat_template = LLAMA_CHAT
    return tokenizer


def roberta() -> Any:
    """Begin and separator, and nothing that says which text a token belongs to."""
    return bert(("input_ids", "attention_mask"))


def bert(inputs: tuple[str, ...] = ("input_ids", "token_type_ids", "attention_mask")) -> Any:
    """Word pieces without case and accents, [CLS] and [SEP]."""
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=[*special.values()], show_progress=False)
    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer()
    words.pre_tokenizer, words.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    words.train_from_iterator(TEXTS, trainer)
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, words.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    settings = {"model_max_length": 64, "model_input_names": list(inputs)}
    return PreTrainedTokenizerFast(tokenizer_object=words, **special, **settings)
