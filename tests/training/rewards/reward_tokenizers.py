"""Tokenizers as different families of reward models have them, made from nothing."""

import functools

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tests.training import snapshots

LLAMA_CHAT = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}[INST] {{ m['content'] }} [/INST]"
    "{% else %} {{ m['content'] }} {{ eos_token }}{% endif %}{% endfor %}"
)
gpt2 = snapshots.byte_level


def qwen(chat_template=snapshots.CHATML):
    tokenizer = snapshots.byte_level(chat=True)
    tokenizer.chat_template = chat_template
    return tokenizer


def llama():
    tokenizer = snapshots.sentencepiece_like(own_pad=False, pieces="bpe")
    tokenizer.chat_template = LLAMA_CHAT
    return tokenizer


def roberta():
    """Begin and separator, and nothing that says which text a token belongs to."""
    return bert(("input_ids", "attention_mask"))


@functools.cache
def bert(inputs=("input_ids", "token_type_ids", "attention_mask")):
    """Word pieces without case and accents, [CLS] and [SEP]; those that are learned differ from time to time."""
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=[*special.values()], show_progress=False)
    words = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer()
    words.pre_tokenizer, words.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
    words.train_from_iterator(snapshots.TEXT, trainer)
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, words.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    settings = {"model_max_length": 64, "model_input_names": list(inputs)}
    return PreTrainedTokenizerFast(tokenizer_object=words, **special, **settings)
