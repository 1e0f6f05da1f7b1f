"""What would make a run fit into memory: its settings changed one at a time, the mildest change first.

Knows the configuration; what a change saves is asked of who calls (`estimates`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from playground.config import ModelReward, RunConfig, engines

UNSURE = 1.25  # the estimate may be off by this factor
NO_SETTING = "No setting makes this run need much less"
GB = 1e9


def mildest(config: RunConfig, needs: Callable[[RunConfig], float], room: float) -> tuple[str, RunConfig | None]:
    """The mildest single change with which a run fits, tried out in the estimate; else the best that there is. As a
    sentence, and as a configuration; None where no setting helps.

    Args:
        needs: bytes that a configuration needs at most. room: bytes that are free.
    """
    now = needs(config)
    best: tuple[float, str, RunConfig | None] = (float("inf"), "", None)
    for sentence, changed in changes(config):
        if config.by_trl and engines.unsupported(changed):
            continue
        size = needs(changed)
        if size < now and size * UNSURE <= room:
            return f"{sentence}: that needs about {size / GB:.1f} instead of {now / GB:.1f} GB.", changed
        if size < best[0]:
            best = (size, sentence, changed)
    smaller = "choose a smaller model"
    if best[0] >= now * 0.95:
        return f"{NO_SETTING}: free some memory, or {smaller}.", None
    fits = "may just fit" if best[0] <= room else f"is not enough by itself: {smaller}, or free some memory"
    return f"{best[1]}: that needs about {best[0] / GB:.1f} instead of {now / GB:.1f} GB, which {fits}.", best[2]


def changes(config: RunConfig) -> Iterator[tuple[str, RunConfig]]:
    """Changes that need less memory, the ones with the smallest effect on the result first."""
    ppo, model = config.ppo, config.model
    for size in sorted((n for n in range(1, ppo.micro_batch_size) if ppo.minibatch_size % n == 0), reverse=True):
        if size * 2 <= ppo.micro_batch_size:
            yield f"Set ppo.micro_batch_size to {size}", _with(config, ppo={"micro_batch_size": size})
    large = [reward for reward in config.rewards if isinstance(reward, ModelReward) and reward.quantization == "none"]
    if large:
        rewards = tuple(
            reward.model_copy(update={"quantization": "int8"}) if reward in large else reward
            for reward in config.rewards
        )
        yield "Set the reward model's quantization to int8", config.model_copy(update={"rewards": rewards})
    if model.adapter.kind == "none":
        lora = model.adapter.model_copy(update={"kind": "lora"})
        yield "Train with LoRA (model.adapter.kind: lora)", _with(config, model={"adapter": lora})
    else:
        lora = model.adapter
    if config.separate_critic:
        yield "Set model.critic to shared", _with(config, model={"critic": "shared"})
    elif model.quantization != "nf4":
        nf4 = {"adapter": lora, "quantization": "nf4"}
        yield "Train with LoRA beside nf4 weights (model.quantization: nf4)", _with(config, model=nf4)
    if config.sampling.max_new_tokens >= 16:
        half = config.sampling.max_new_tokens // 2
        yield f"Set sampling.max_new_tokens to {half}", _with(config, sampling={"max_new_tokens": half})
    if ppo.batch_size % 2 == 0 and ppo.minibatch_size % 2 == 0 and ppo.batch_size > 2:
        micro = next(n for n in range(ppo.micro_batch_size, 0, -1) if (ppo.minibatch_size // 2) % n == 0)
        half_batch = {"batch_size": ppo.batch_size // 2, "minibatch_size": ppo.minibatch_size // 2}
        yield (
            f"Halve ppo.batch_size to {ppo.batch_size // 2} (and ppo.minibatch_size with it)",
            _with(config, ppo={**half_batch, "micro_batch_size": micro}),
        )
    frozen = {"adapter": lora, "quantization": "nf4", "critic": "shared"}
    least = _with(config, ppo={"micro_batch_size": 1}, model=frozen)
    yield "Set ppo.micro_batch_size to 1 and train with LoRA beside nf4 weights", least


def _with(config: RunConfig, **parts: dict[str, Any]) -> RunConfig:
    """A copy with some fields of some parts changed. The changes above keep it valid."""
    changed = {name: getattr(config, name).model_copy(update=fields) for name, fields in parts.items()}
    return config.model_copy(update=changed)
