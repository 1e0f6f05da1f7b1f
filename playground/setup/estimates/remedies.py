"""What would make a run fit into memory: its settings changed one at a time, the mildest change first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from playground.config import ModelReward, RunConfig, engines

UNSURE = 1.25  # the estimate may be off by this factor
GB = 1e9


def mildest(config: RunConfig, needs: Callable[[RunConfig], float], room: float) -> tuple[str, RunConfig | None]:
    """The mildest change with which a run fits into so many bytes (`room`), else the one that saves most, as a sentence
    and as a configuration (None where no change helps). `needs`: bytes that a configuration needs."""
    now = needs(config)
    tried = [
        (needs(changed), sentence, changed)
        for sentence, changed in changes(config)
        if not (config.by_trl and engines.unsupported(changed))
    ]
    fits = next((one for one in tried if one[0] < now and one[0] * UNSURE <= room), None)
    size, sentence, changed = fits or min(tried, key=lambda one: one[0], default=(now, "", config))
    if not fits and size >= 0.95 * now:
        return "No setting makes this run need much less: free some memory, or choose a smaller model.", None
    enough = ", which may just fit" if size <= room else ", which is not enough by itself: choose a smaller model"
    gain = f"that needs about {size / GB:.1f} instead of {now / GB:.1f} GB"
    return f"{sentence}: {gain}{'' if fits else enough}.", changed


def changes(config: RunConfig) -> Iterator[tuple[str, RunConfig]]:
    """Changes that need less memory, the ones with the smallest effect on the result first."""
    ppo, model, new_tokens = config.ppo, config.model, config.sampling.max_new_tokens
    for size in range(ppo.micro_batch_size // 2, 0, -1):
        if ppo.minibatch_size % size == 0:
            yield f"Set ppo.micro_batch_size to {size}", _with(config, "ppo", micro_batch_size=size)
    if small := [one for one in config.rewards if isinstance(one, ModelReward) and one.quantization == "none"]:
        int8 = tuple(one.model_copy(update={"quantization": "int8"} if one in small else {}) for one in config.rewards)
        yield "Set the reward model's quantization to int8", config.model_copy(update={"rewards": int8})
    lora = model.adapter.model_copy(update={"kind": "lora"})
    if lora != model.adapter:
        yield "Train with LoRA (model.adapter.kind: lora)", _with(config, "model", adapter=lora)
    if config.separate_critic:
        yield "Set model.critic to shared", _with(config, "model", critic="shared")
    elif model.quantization != "nf4":
        beside = "Train with LoRA beside nf4 weights (model.quantization: nf4)"
        yield beside, _with(config, "model", adapter=lora, quantization="nf4")
    if new_tokens >= 16:
        half_as_long = _with(config, "sampling", max_new_tokens=new_tokens // 2)
        yield f"Set sampling.max_new_tokens to {new_tokens // 2}", half_as_long
    if ppo.batch_size % 2 == ppo.minibatch_size % 2 == 0:
        half = {name: getattr(ppo, name) // 2 for name in ("batch_size", "minibatch_size")}
        half["micro_batch_size"] = math.gcd(ppo.micro_batch_size, half["minibatch_size"])
        yield f"Halve ppo.batch_size to {half['batch_size']} (and ppo.minibatch_size)", _with(config, "ppo", **half)


def _with(config: RunConfig, part: str, **fields: Any) -> RunConfig:
    """A copy with some fields of one part changed. The changes above keep it valid."""
    return config.model_copy(update={part: getattr(config, part).model_copy(update=fields)})
