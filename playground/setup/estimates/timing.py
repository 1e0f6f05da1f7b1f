"""How long a run takes, scaled from the time of a run or a trial on this machine. Without one there is no estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from playground.config import ModelReward, RunConfig, methods
from playground.setup import devices

FASTEST, SLOWEST = 0.75, 1.4  # the range around what a run here took: other lengths, other load

Range = tuple[float, float]


class Finished(NamedTuple):
    """What a run of this machine took, in seconds: a typical update, and all of it (None of a trial, which ends early);
    and the bytes that a trial held at its fullest."""

    config: RunConfig
    update: float
    run: float | None
    memory: float | None = None


def seconds(
    config: RunConfig, finished: Sequence[Finished], prompt_tokens: Callable[[RunConfig], int], is_small: bool
) -> tuple[Range, Range] | None:
    """Of an update and of the run, each from the likely least to the likely most: scaled by the work from the newest
    run of the same model and method; None where there is none. `prompt_tokens`: of a configuration's longest prompt.
    `is_small`: the model has fewer than SMALL_MODEL weights."""
    took = next((run_here for run_here in finished if kind(run_here.config) == kind(config)), None)
    if took is None:
        return None
    update, run = work(config, prompt_tokens(config), is_small)
    its_update, its_run = work(took.config, prompt_tokens(took.config), is_small)
    update_seconds = took.update * update / its_update
    whole = update_seconds * run / update if took.run is None else took.run * run / its_run
    return (FASTEST * update_seconds, SLOWEST * update_seconds), (FASTEST * whole, SLOWEST * whole)


def work(config: RunConfig, prompt_tokens: int, is_small: bool) -> tuple[float, float]:
    """Tokens that go through the model in an update and in the run; a pass with gradients counts three times."""
    ppo, new = config.ppo, config.sampling.max_new_tokens
    epochs = 0 if methods.unused(config.method, "ppo.num_epochs") else ppo.num_epochs
    update = ppo.batch_size * (new + (1 + 3 * epochs) * (prompt_tokens + new))
    answers = config.evaluation.samples(ppo.num_updates) * config.answers_each + config.scale_samples(is_small)
    return update, ppo.num_updates * update + answers * (prompt_tokens + 2 * new)


def kind(config: RunConfig) -> tuple[Any, ...]:
    """What two runs have in common whose time differs by their amount of work only."""
    place = config.device
    if not config.may_be_shared and (device := devices.chosen(config.device)):
        place = device.name
    learned = [reward for reward in config.rewards if isinstance(reward, ModelReward)]
    return config.method, config.engine, place, config.ranks, config.shard, config.model, learned


def holds(config: RunConfig) -> tuple[Any, ...]:
    """What two runs have in common that hold the same in memory."""
    ppo = config.ppo
    sizes = (ppo.batch_size, ppo.minibatch_size, ppo.micro_batch_size, ppo.samples_per_prompt, ppo.baseline)
    texts = (config.reference, config.prompts, config.sampling.max_new_tokens, config.scorers)
    return *kind(config), ppo.optimizer, *texts, *sizes, bool(ppo.entropy_coef), config.kl.estimator == "full"
