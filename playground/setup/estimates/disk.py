"""Will what a run writes fit on the disk? Asked before it starts: the page, the command line and the worker call it.

Loads nothing. The disk is the one that the outputs folder is on, whatever other disks this machine has.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path

from playground.config import RunConfig
from playground.errors import ModelNotFound, NoRoom, Problem
from playground.rewards import behaviours
from playground.setup.estimates import measures
from playground.setup.estimates.memory import lora_parameters
from playground.sources.architectures import Architecture

NUMBER_BYTES = 4  # checkpoints are in fp32, and so is the optimizer's state
OPTIMIZER_NUMBERS = 2  # AdamW keeps two for each that is trained
BESIDE_BYTES = 1_000_000  # tokenizer, configuration, value head
LOG_BYTES = 20_000_000  # what `runs.folder.logs` lets a log grow to
METRICS_BYTES = 1_500  # a line of metrics.jsonl without its rewards
SAMPLE_BYTES = 500  # a line of samples.jsonl: names, numbers and a prompt of a few sentences
TOKEN_BYTES = 5  # of a completion
SCORE_BYTES = 40  # of one reward or judge: its name and a number
TRACE_BYTES = 60  # of a token of the batch, in an update that is recorded in slow motion
MARGIN = 1.1
MB = 1e6


def checkpoint_bytes(config: RunConfig, policy: Architecture) -> int:
    """One checkpoint of which training can go on: the weights, the critic where it is a model of its own, and the
    optimizer's state of all that is trained. Of a model with an adapter only the adapter is written."""
    if config.model.adapter.kind == "lora":
        trained = lora_parameters(policy, config.model.adapter.r, config.model.adapter.target_modules)
    else:
        trained = policy.parameters
    copies = 2 if config.separate_critic else 1
    return copies * trained * NUMBER_BYTES * (1 + OPTIMIZER_NUMBERS) + BESIDE_BYTES


def records_bytes(config: RunConfig) -> int:
    """What a run writes down: a line of metrics for each update, a line for each answer to a fixed prompt, and the
    tokens of the updates that are recorded in slow motion."""
    rewards = len(config.rewards)
    scores = rewards + len(config.judges) + len(behaviours.of_config(config))
    line = SAMPLE_BYTES + TOKEN_BYTES * config.sampling.max_new_tokens + SCORE_BYTES * scores
    metrics = config.ppo.num_updates * (METRICS_BYTES + 2 * SCORE_BYTES * rewards)
    tokens = config.ppo.batch_size * config.sampling.max_new_tokens
    traces = min(config.evaluation.traces, config.ppo.num_updates) * tokens * TRACE_BYTES
    return metrics + traces + config.evaluation.samples(config.ppo.num_updates) * line


def needed_bytes(config: RunConfig, policy: Architecture) -> int:
    """All that a run may have on the disk at once: the checkpoints that it keeps and the best one beside them, the one
    that is being written, the log, and what it writes down."""
    most = config.checkpoint.keep + 2 if config.checkpoint.every else 1
    return int(MARGIN * (most * checkpoint_bytes(config, policy) + LOG_BYTES + records_bytes(config)))


def free_bytes(outputs: Path) -> int:
    """What is free on the disk of an outputs folder, which need not be there yet."""
    existing = next((folder for folder in (outputs, *outputs.absolute().parents) if folder.is_dir()), Path("/"))
    return shutil.disk_usage(existing).free


def check_together(configs: Iterable[RunConfig], outputs: Path) -> None:
    """Is there room for all of these runs? As `check`. Raises: NoRoom."""
    needed = 0
    for config in configs:
        with contextlib.suppress(ModelNotFound):
            needed += needed_bytes(config, measures(config, outputs).policy)
    free = free_bytes(outputs)
    if needed > free:
        sentence = f"All runs together may need {needed / MB:,.0f} MB on the disk of {outputs}, and {free / MB:,.0f} MB"
        ways = "Free some space, choose another outputs folder, make fewer runs, or lower checkpoint.keep."
        raise NoRoom([Problem("checkpoint.keep", f"{sentence} are free. {ways}")])


def check(config: RunConfig, outputs: Path, held_bytes: int = 0) -> None:
    """Is there room for a run in this outputs folder? A model of which nothing is known yet is not asked about.

    Args:
        held_bytes: what the run has on the disk already, where it is resumed.

    Raises:
        NoRoom: if there is not, with what to do.
    """
    try:
        policy = measures(config, outputs).policy
    except ModelNotFound:  # the worker asks again when it has fetched it
        return
    free = free_bytes(outputs) + held_bytes
    needed = needed_bytes(config, policy)
    if needed <= free:
        return
    one, keep = checkpoint_bytes(config, policy), config.checkpoint.keep
    ways = "Free some space, or choose another outputs folder"
    if config.checkpoint.every and keep > 1:
        ways += ", or lower checkpoint.keep"
    if config.model.adapter.kind != "lora":
        ways += ", or train with LoRA, whose checkpoints are small"
    raise NoRoom(
        [
            Problem(
                "checkpoint.keep",
                f"The run may need {needed / MB:,.0f} MB on the disk of {outputs} (a checkpoint has {one / MB:,.0f} "
                f"MB, and it keeps {keep}), and {free / MB:,.0f} MB are free. {ways}.",
            )
        ]
    )
