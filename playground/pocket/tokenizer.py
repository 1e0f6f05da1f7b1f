"""Makes the pocket tokenizer: byte-level BPE, learned from the grammar, with its own pad, bos and eos.

Needs `tokenizers` and `transformers`; only `pretrain` calls it. Everything else loads the saved files.
"""

from itertools import islice

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from playground.pocket.corpus import documents
from playground.pocket.words import LEXICON

VOCAB_SIZE = 1280
MAX_POSITIONS = 128
PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"
TRAINING_DOCUMENTS = 60_000
LARGEST_NUMBER = 20  # 0..20 are single tokens, so that a sum is one step; so are the opinion words
# A space belongs to the word after it; letters, digits and other signs are never joined into one token.
_PIECES = Regex(r" ?[A-Za-z']+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+")


def make_tokenizer(seed: int = 0) -> PreTrainedTokenizerFast:
    """A tokenizer whose encoding puts bos in front and no eos behind; decoding what was encoded gives the same text."""
    tokenizer = Tokenizer(models.BPE())
    by_piece = pre_tokenizers.Split(_PIECES, behavior="isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([by_piece, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=[PAD, BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    opinions = " " + " ".join(LEXICON)
    numbers = "".join(f" {number}\n{number}" for number in range(LARGEST_NUMBER + 1))
    texts = [document.text for document in islice(documents(f"tokenizer {seed}", habits=False), TRAINING_DOCUMENTS)]
    tokenizer.train_from_iterator([*texts, *[numbers, opinions] * (TRAINING_DOCUMENTS // 20)], trainer)
    bos = tokenizer.token_to_id(BOS)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A $B", special_tokens=[(BOS, bos)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        bos_token=BOS,
        eos_token=EOS,
        model_max_length=MAX_POSITIONS,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )
