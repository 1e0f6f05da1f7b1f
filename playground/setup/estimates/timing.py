"""How long a run takes, reckoned from counted operations and how fast the device multiplies matrices. A wide range.

A model of two multiplications and additions for each weight and token; twice that again for the backward pass. Beside
the arithmetic each call of a model costs a fixed time for every layer, which is what small models and long completions
mostly pay. Knows arithmetic, and on a CPU measures one matrix product; no torch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from playground.config import RunConfig
from playground.config.engines import ROLLOUT_ROWS
from playground.setup.devices import Device, available_cores
from playground.setup.estimates.memory import SCALE_SAMPLES, SMALL_MODEL, Form, Lengths
from playground.sources.architectures import Architecture

LAYER_SECONDS = {"cpu": 6e-4, "cuda": 8e-4, "mps": 1e-3}  # fixed cost of one layer in one call of a model
GPU_OPERATIONS = {  # multiplications and additions a second, 16 bits, that large products reach
    "H200": 5e14, "H100": 4.5e14, "A100": 2e14, "L40": 1.5e14, "L4": 6e13, "A10": 7e13, "T4": 3e13, "V100": 6e13,
    "4090": 1.5e14, "3090": 7e13, "5090": 2e14,
}  # fmt: skip
OTHER_GPU = 2e13
REACHED = 0.4  # of what large products reach, the share that a transformer of small matrices does
FASTEST, SLOWEST = 0.35, 2.5  # the range: completions may end early, and a busy machine is much slower
LAST_FASTEST, LAST_SLOWEST = 0.75, 1.4  # the range around what a run here took: other lengths, other load
TRIED_SECONDS = 1.0
PRODUCT_SIZE, PRODUCTS, TRIES = 64, 400, 6  # so small that one core makes each by itself, whatever else is busy
LARGE_PRODUCTS = 2.4  # how much faster a core is with large products, measured
_best_seconds = float("inf")
_tried_at = float("-inf")


class Pace(NamedTuple):
    """Seconds of one update and of the whole run, from the likely least to the likely most."""

    update_low: float
    update_high: float
    run_low: float
    run_high: float
    as_last_runs: bool = False  # scaled from what a run here took, not from the arithmetic alone


class Finished(NamedTuple):
    """What a finished run of this machine took, in seconds: a typical update, and all of its training (None of a trial,
    which ends before that). `memory`: the bytes that a trial held at its fullest; of runs it is not asked."""

    config: RunConfig
    update: float
    run: float | None
    memory: float | None = None


def pace(
    config: RunConfig, form: Form, model: Architecture, lengths: Lengths, device: Device,
    last: Sequence[tuple[Finished, Lengths]] = (),
) -> Pace:  # fmt: skip
    """How long one update and the run take.

    Args:
        last: finished runs of the same model in the same form on this device, the newest first, with their lengths.
            The one whose work was most like this one's is scaled by the arithmetic.
    """
    rate, layer = operations_per_second(device, model.parameters) * REACHED, LAYER_SECONDS[device.kind] * model.layers
    update, run = _reckoned(config, form, model, lengths, rate, layer)
    then = [(finished, *_reckoned(finished.config, form, model, its, rate, layer)) for finished, its in last]
    if not then:
        return Pace(FASTEST * update, SLOWEST * update, FASTEST * run, SLOWEST * run)
    took, its_update, its_run = min(then, key=lambda item: abs(math.log(item[1] / update)))
    slower = took.update / its_update
    update, run = update * slower, run * (slower if took.run is None else took.run / its_run)
    return Pace(LAST_FASTEST * update, LAST_SLOWEST * update, LAST_FASTEST * run, LAST_SLOWEST * run, True)


def _reckoned(
    config: RunConfig, form: Form, model: Architecture, lengths: Lengths, rate: float, layer: float
) -> tuple[float, float]:
    """Seconds of one update and of the run, at so many operations a second and seconds for a call of the layers."""
    reckon = _update_of_trl if form.trl else _update if form.learns and not form.whole_texts else _update_by_method
    work, calls = reckon(config, form, model, lengths)
    looks, look_calls = _look(config, model, lengths)
    update = work / rate + calls * layer
    ppo = config.ppo
    num_looks = 1 + ppo.num_updates // max(1, config.evaluation.every)
    scale = _sampling(model, SCALE_SAMPLES, lengths) / rate + lengths.completion * layer
    run = ppo.num_updates * update + num_looks * (looks / rate + look_calls * layer) + scale
    return update, run


def _update(config: RunConfig, form: Form, model: Architecture, lengths: Lengths) -> tuple[float, float]:
    """Operations and calls of a model in one update."""
    ppo, rows = config.ppo, config.ppo.batch_size
    head = 2.0 * model.embedding_parameters * rows * lengths.completion  # prompt tokens do not pass the LM head
    trunk = 2.0 * model.linear_parameters * rows * lengths.both
    learning = 2 if form.lora else 3  # LoRA needs no gradient of the model's own weights
    critics = 2 if form.separate_critic else 1
    work = _sampling(model, rows, lengths) + critics * trunk + 2 * head  # the reference, and both heads for the KL
    work += ppo.num_epochs * learning * (critics * trunk + head)
    passes = rows / ppo.micro_batch_size
    calls = lengths.completion + passes * (1 + 3 * critics * ppo.num_epochs)
    return work, calls


def _update_of_trl(config: RunConfig, form: Form, model: Architecture, lengths: Lengths) -> tuple[float, float]:
    """The same with TRL's loop: whole texts through the LM head, and a second model for the value."""
    ppo, rows = config.ppo, config.ppo.batch_size
    value = 2.0 * model.linear_parameters * rows * lengths.both
    forward = value + 2.0 * model.embedding_parameters * rows * lengths.both
    work = _sampling(model, rows, lengths) + forward + value + ppo.num_epochs * 3 * (forward + value)
    generations = math.ceil(rows / ROLLOUT_ROWS)
    return work, generations * (lengths.completion + 2) + 6 * ppo.num_epochs * rows / ppo.micro_batch_size


def _update_by_method(config: RunConfig, form: Form, model: Architecture, lengths: Lengths) -> tuple[float, float]:
    """The same of what trains nothing, and of TRL's other trainers: whole texts through the LM head, and no critic."""
    ppo, rows, sampling = config.ppo, config.ppo.batch_size, _sampling(model, config.ppo.batch_size, lengths)
    if config.method == "best_of_n":
        return sampling, lengths.completion
    if not form.learns:  # steering: the reference, and both LM heads for the KL
        head = 2.0 * model.embedding_parameters * rows * lengths.completion
        work = sampling + 2.0 * model.linear_parameters * rows * lengths.both + 2 * head
        return work, lengths.completion + rows / ppo.micro_batch_size
    learned = rows / ppo.samples_per_prompt if config.method == "sft" else rows  # texts
    forward = 2.0 * (model.linear_parameters + model.embedding_parameters) * learned * lengths.both
    once = 0 if config.method in ("dpo", "sft") else 2  # RLOO and GRPO: the policy that wrote, and the reference
    each = (2 if form.lora else 3) + (config.method == "dpo")  # DPO: the reference each time
    passes = learned / ppo.micro_batch_size
    return sampling + (once + ppo.num_epochs * each) * forward, lengths.completion + passes * (
        once + ppo.num_epochs * (each + 1)
    )


def _look(config: RunConfig, model: Architecture, lengths: Lengths) -> tuple[float, float]:
    rows = config.evaluation.num_prompts * config.evaluation.samples_per_prompt
    rows *= config.answers_each
    work = 2 * _sampling(model, rows, lengths)
    return work, lengths.completion + rows / config.ppo.micro_batch_size


def _sampling(model: Architecture, rows: int, lengths: Lengths) -> float:
    head = model.embedding_parameters * lengths.completion
    return 2.0 * rows * (model.linear_parameters * lengths.both + head)


def operations_per_second(device: Device, parameters: int) -> float:
    """Of large matrix products: on a CPU measured on one core, times those that a model of this size is given; from a
    table for a GPU."""
    if device.kind == "cpu":
        cores = available_cores()
        return _measured() * (max(1, cores - 1) if parameters < SMALL_MODEL else cores)
    known = [rate for name, rate in GPU_OPERATIONS.items() if name in device.label]
    return max(known) if known else OTHER_GPU


def _measured() -> float:
    """Of one core: the best of all tries of this process so far, and of a few more now, which take some 20 ms and are
    not repeated within a second, since a sweep asks for each of its settings."""
    global _best_seconds, _tried_at
    if time.monotonic() - _tried_at >= TRIED_SECONDS:
        _tried_at = time.monotonic()
        left = np.ones((PRODUCTS, PRODUCT_SIZE, PRODUCT_SIZE), dtype=np.float32)
        for _ in range(TRIES):
            started = time.perf_counter()
            left @ left
            _best_seconds = min(_best_seconds, time.perf_counter() - started)
    return 2.0 * PRODUCTS * PRODUCT_SIZE**3 / _best_seconds * LARGE_PRODUCTS
