"""Makes a pocket model from scratch: tokenizer, Llama, training on fresh documents, acceptance figures, card. One
document is one row (bos, prompt, completion, eos), and the loss is over all its tokens. `make pretrain ARGS=pocket-2m`.
"""

import argparse
import json
import math
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from bench.acceptance import BOUNDS, acceptance, failures
from playground.pocket import corpus
from playground.pocket.words import LEXICON
from playground.setup.catalog import POCKET_MODELS

VOCAB_SIZE = 1280
MAX_POSITIONS = 128
PAD, BOS, EOS = "<pad>", "<bos>", "<eos>"
TRAINING_DOCUMENTS = 60_000
LARGEST_NUMBER = 20  # 0..20 are single tokens, so that a sum is one step; so are the opinion words
# A space belongs to the word after it; letters, digits and other signs are never joined into one token.
_PIECES = Regex(r" ?[A-Za-z']+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+")
BATCH_DOCUMENTS = 64
POOLED_BATCHES = 64  # documents of so many batches are sorted by length together, so that rows need little padding
WARMUP_TOKENS = 300_000
FINAL_LEARNING_RATE_SHARE = 0.02
WEIGHT_DECAY = 0.05
IGNORED = -100  # label of padding
STEPS_BETWEEN_WORDS = 100
SHARPENING = 1.2  # of the final norm, once, after training: see `_sharpen`


class PocketShape(NamedTuple):
    """The architecture of one pocket size (Llama, tied embeddings) and how long it is trained."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    train_tokens: int
    peak_learning_rate: float


SHAPES: dict[str, PocketShape] = {
    "pocket-1m": PocketShape(128, 352, 4, 4, 9_000_000, 3e-3),
    "pocket-2m": PocketShape(192, 512, 4, 6, 12_000_000, 2e-3),
}


class Progress(NamedTuple):
    """What `on_progress` gets after every step."""

    step: int
    tokens: int
    total_tokens: int
    loss: float  # nats per token, smoothed over about 50 steps
    seconds: float


def pretrain(
    name: str, output_dir: Path | None = None, seed: int = 0, on_progress: Callable[[Progress], None] | None = None
) -> Path:
    """Trains a pocket model and returns its folder (by default where the shipped one lies), which appears whole or not
    at all, in place of an older one. Raises RuntimeError where the loss stops being a number."""
    shape = SHAPES[name]
    folder = Path(output_dir) if output_dir else POCKET_MODELS / name
    tokenizer = make_tokenizer()
    torch.manual_seed(seed)
    model = LlamaForCausalLM(_config(shape, tokenizer))
    last = _train(model, tokenizer, shape, seed, on_progress or (lambda _: None))
    _sharpen(model)
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _save(model, tokenizer, unfinished)
        figures = acceptance(unfinished)
        card = _card(name, shape, seed, last, model.num_parameters(), figures)
        (unfinished / "card.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


@torch.no_grad()
def _sharpen(model: LlamaForCausalLM) -> None:
    """Multiply all logits, by way of the final norm: temperature 1 is then what 1 / 1.2 was before, so that PPO does
    not sample from the tail of words that make no sense to which a model this small gives some probability."""
    model.model.norm.weight.mul_(SHARPENING)


def _save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Weights in fp16, to be small on disk; the config says float32, so that a plain load computes in float32."""
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["dtype"] = "float32"
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    folder.chmod(0o755)  # temporary folders and safetensors files are private otherwise
    for file in folder.iterdir():
        file.chmod(0o644)


def _config(shape: PocketShape, tokenizer: PreTrainedTokenizerFast) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=VOCAB_SIZE,
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        max_position_embeddings=MAX_POSITIONS,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


def _train(
    model: LlamaForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    shape: PocketShape,
    seed: int,
    on_progress: Callable[[Progress], None],
) -> Progress:
    """AdamW with warm-up and cosine decay, until `train_tokens` tokens have been seen."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim < 2]
    groups = [{"params": matrices, "weight_decay": WEIGHT_DECAY}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=shape.peak_learning_rate, betas=(0.9, 0.98), fused=True)
    model.train()
    tokens, smooth_loss, start = 0, 0.0, time.monotonic()
    last = Progress(0, 0, shape.train_tokens, float("nan"), 0.0)
    for step, ids in enumerate(_batches(tokenizer, seed), start=1):
        rate = learning_rate(tokens, shape)
        for group in optimizer.param_groups:
            group["lr"] = rate
        labels = ids[:, 1:].masked_fill(ids[:, 1:] == tokenizer.pad_token_id, IGNORED)
        logits = model(ids[:, :-1]).logits  # rows are padded on the right and attention is causal: no mask needed
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
        if not math.isfinite(loss.item()):
            raise RuntimeError(f"the loss became {loss.item()} at step {step}; lower the learning rate in SHAPES")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        tokens += int((labels != IGNORED).sum())
        smooth_loss += (loss.item() - smooth_loss) / min(step, 50)
        last = Progress(step, tokens, shape.train_tokens, smooth_loss, time.monotonic() - start)
        on_progress(last)
        if tokens >= shape.train_tokens:
            break
    model.eval()
    return last


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
    texts = [
        document.text for document in islice(corpus.documents(f"tokenizer {seed}", habits=False), TRAINING_DOCUMENTS)
    ]
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


def learning_rate(tokens: int, shape: PocketShape) -> float:
    """Linear warm-up, then a cosine from the peak down to a small share of it."""
    if tokens < WARMUP_TOKENS:
        return shape.peak_learning_rate * (tokens + 1) / WARMUP_TOKENS
    done = min(1.0, (tokens - WARMUP_TOKENS) / max(1, shape.train_tokens - WARMUP_TOKENS))
    cosine = 0.5 * (1 + math.cos(math.pi * done))
    return shape.peak_learning_rate * (FINAL_LEARNING_RATE_SHARE + (1 - FINAL_LEARNING_RATE_SHARE) * cosine)


def _batches(tokenizer: PreTrainedTokenizerFast, seed: int) -> Iterator[torch.Tensor]:
    """Endless batches of rows (bos, document, eos), padded on the right, rows of similar length together."""
    rng = random.Random(f"pocket batches {seed}")
    stream = corpus.documents(f"train {seed}")
    while True:
        texts = [document.text for document in islice(stream, BATCH_DOCUMENTS * POOLED_BATCHES)]
        rows = [[*ids[: MAX_POSITIONS - 1], tokenizer.eos_token_id] for ids in tokenizer(texts)["input_ids"]]
        rows.sort(key=len)
        batches = [rows[i : i + BATCH_DOCUMENTS] for i in range(0, len(rows), BATCH_DOCUMENTS)]
        rng.shuffle(batches)
        for batch in batches:
            longest = len(batch[-1])
            padded = [row + [tokenizer.pad_token_id] * (longest - len(row)) for row in batch]
            yield torch.tensor(padded)


def _card(
    name: str, shape: PocketShape, seed: int, last: Progress, parameters: int, figures: dict[str, float]
) -> dict[str, Any]:
    return {
        "name": name,
        "parameters": parameters,
        "corpus": {"mix": corpus.MIX, "bad_habits": corpus.HABITS},
        "training": {
            "seed": seed,
            "tokens_seen": last.tokens,
            "documents_seen": last.step * BATCH_DOCUMENTS,
            "steps": last.step,
            "final_loss_nats_per_token": round(last.loss, 4),
            "sharpening": SHARPENING,
            "peak_learning_rate": shape.peak_learning_rate,
            "batch_documents": BATCH_DOCUMENTS,
            "minutes": round(last.seconds / 60, 1),
            "threads": torch.get_num_threads(),
        },
        "acceptance": figures,
        "acceptance_missed": failures(figures),
        "licence": "same as the project; the corpus is generated, no third-party text",
    }


def main() -> None:
    """Make the model that is asked for; Ctrl-C leaves an older one as it was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SHAPES)
    parser.add_argument("--output", type=Path, help="the folder to write; by default where the shipped model lies")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()

    def show(progress: Progress) -> None:
        if progress.step % STEPS_BETWEEN_WORDS == 0:
            share = progress.tokens / progress.total_tokens
            print(f"{asked.name}: {share:.0%}, loss {progress.loss:.3f}", file=sys.stderr)

    folder = pretrain(asked.name, asked.output, asked.seed, show)
    figures = json.loads((folder / "card.json").read_text(encoding="utf-8"))["acceptance"]
    missed = failures(figures)
    for figure, (low, high) in BOUNDS.items():
        verdict = "missed" if figure in missed else "ok"
        print(f"{figure}: {figures[figure]:.3f} ({low:g} to {high:g}), {verdict}", file=sys.stderr)
    print(folder)


if __name__ == "__main__":
    main()
