"""Will what a run writes fit on the disk? Asked before it starts: the page, the command line and the worker call it.

Loads nothing. The disk is the one that the outputs folder is on, whatever other disks this machine has.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from playground.config import RunConfig
from playground.config.training_settings import rollout_bytes
from playground.errors import ModelNotFound, NoRoom, Problem
from playground.models.architectures import Architecture
from playground.setup.estimates import measures
from playground.setup.estimates.memory import trained_parameters

WEIGHT_BYTES = 12  # a weight that is trained, in fp32, and the optimizer's two numbers for it
BESIDE_BYTES, LOG_BYTES = 1_000_000, 20_000_000  # tokenizer and so on; what `runs.folder.logs` lets a log grow to
UPDATE_BYTES, ANSWER_BYTES = 2_000, 800  # a line of metrics.jsonl; one of samples.jsonl without its completion
TEXT_BYTES = 400  # of a training text that is kept: its prompt and its figures
TOKEN_BYTES, TRACE_BYTES = 5, 140  # of a completion; of a token of a batch that is recorded in slow motion
MARGIN, MB = 1.1, 1e6


def records_bytes(config: RunConfig) -> int:
    """What a run writes down: each update, with some of its texts, each answer to a fixed prompt, tokens of the updates
    in slow motion."""
    updates, new_tokens = config.ppo.num_updates, config.sampling.max_new_tokens
    traces = min(config.evaluation.traces, updates) * config.ppo.batch_size * new_tokens * TRACE_BYTES
    answers = config.evaluation.samples(updates) * (ANSWER_BYTES + TOKEN_BYTES * new_tokens)
    texts = config.evaluation.rollout_texts * (TEXT_BYTES + TOKEN_BYTES * new_tokens)
    return updates * (UPDATE_BYTES + min(texts, rollout_bytes(config.evaluation.rollout_texts))) + answers + traces


def needed_bytes(config: RunConfig, policy: Architecture) -> int:
    """All that a run may have on the disk at once: the checkpoints that it keeps (of a model with an adapter only the
    adapter), the best one and the one that is being written, the log, and what it writes down."""
    count = config.checkpoint.keep + 2 if config.checkpoint.every else 1
    weights = (1 + config.separate_critic) * trained_parameters(config, policy)
    return int(MARGIN * (count * (weights * WEIGHT_BYTES + BESIDE_BYTES) + LOG_BYTES + records_bytes(config)))


def free_bytes(outputs: Path) -> int:
    """What is free on the disk of an outputs folder, which need not be there yet."""
    existing = next((folder for folder in (outputs, *outputs.absolute().parents) if folder.is_dir()), Path("/"))
    return shutil.disk_usage(existing).free


def check(configs: Sequence[RunConfig], outputs: Path, held_bytes: int = 0) -> None:
    """Is there room for these runs in this outputs folder, where resumed ones hold `held_bytes` already? A model of
    which nothing is known yet is asked about when the worker has fetched it. Raises: NoRoom."""
    needed, free = 0, free_bytes(outputs) + held_bytes
    for config in configs:
        with contextlib.suppress(ModelNotFound):
            needed += needed_bytes(config, measures(config, outputs).policy)
    if needed > free:
        what = "The run" if len(configs) == 1 else "All runs together"
        sentence = f"{what} may need {needed / MB:,.0f} MB on the disk of {outputs}, and {free / MB:,.0f} MB are free."
        ways = "Free some space, choose another outputs folder, lower checkpoint.keep, or train with LoRA."
        raise NoRoom([Problem("checkpoint.keep", f"{sentence} {ways}")])
