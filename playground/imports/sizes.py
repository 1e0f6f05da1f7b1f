"""Batches and the length of a run: each trainer counts them in its own way, and several settings make one of ours."""

from __future__ import annotations

import math
from typing import NamedTuple

from playground.imports.conversions import count, number
from playground.imports.translation import ReportLine, Translation

COUNTED = "steps total_episodes max_steps num_train_epochs num_updates num_iterations num_steps total_steps".split()
PROCESSES = "on one process; with more, multiply `ppo.batch_size`"
ONE_STEP = "; TRL 1.12 takes one optimizer step for each epoch whatever num_mini_batches says"
ONCE_LARGER = ", and before TRL 0.17 the batch was num_mini_batches times this"


class Sizes(NamedTuple):
    """In completions. `updates`: None where the file does not say; `names`: the settings that say it."""

    batch: int
    minibatch: int
    micro: int
    samples: int
    updates: int | None
    names: tuple[str, ...]
    note: str = ""


def translate(work: Translation) -> None:
    """`ppo.batch_size`, its parts, `ppo.samples_per_prompt` and `ppo.num_updates`."""
    try:
        sizes = READERS[work.dialect](work)
    except ValueError as error:
        for item in work.named.values():
            if (work.known(item) or {}).get("rule") == "sizes":
                work.not_understood.append(ReportLine(str(item), why=item.problem or str(error)))
        work.fill_in.append(
            "ppo.batch_size, ppo.minibatch_size, ppo.micro_batch_size: the file does not say them plainly."
        )
        return
    theirs = work.theirs(*sizes.names)
    parts = {"batch_size": sizes.batch, "minibatch_size": sizes.minibatch, "micro_batch_size": sizes.micro}
    work.data |= {f"ppo.{name}": size for name, size in parts.items()}
    work.say(theirs, ", ".join(f"ppo.{name}: {size}" for name, size in parts.items()), sizes.note)
    if sizes.samples > 1:
        group = "rloo_k" if work.dialect == "trl-rloo-old" else "num_generations"
        pairs = work.dialect.endswith("dpo")
        work.set("DPO's pairs" if pairs else work.theirs(group), "ppo.samples_per_prompt", sizes.samples)
    if sizes.updates:
        work.set(work.theirs(*(name for name in COUNTED if name in work.named)), "ppo.num_updates", sizes.updates)
        return
    if "num_train_epochs" in work.named:
        why = "how many updates that is depends on the number of prompts, which is not in this file"
        work.leave(work.theirs("num_train_epochs"), why)
    work.fill_in.append("ppo.num_updates: the file does not say how many there are; ours is 40.")


def _whole(work: Translation, name: str) -> int:
    """Raises: ValueError."""
    found = count(work.value(name))
    if found is None or found < 1:
        raise ValueError(f"`{name}` is not a number of at least 1")
    return found


def _updates(work: Translation, name: str, batch: int) -> int | None:
    total = number(work.value(name)) if name in work.named else None
    return math.ceil(total / batch) if total and total > 0 else None


def _old(work: Translation) -> Sizes:
    rows = "forward_batch_size" if "forward_batch_size" in work.named else "mini_batch_size"
    names = ("batch_size", rows, "gradient_accumulation_steps")
    batch, micro, steps = (_whole(work, name) for name in names)
    return Sizes(batch, micro * steps, micro, 1, _updates(work, "steps", batch), names)


def _ppo(work: Translation) -> Sizes:
    names = ("per_device_train_batch_size", "gradient_accumulation_steps", "num_mini_batches")
    micro, steps, parts = (_whole(work, name) for name in names)
    before_017 = work.dialect == "trl-rloo-old" or (0,) < work.source.version < (0, 17)
    batch, note = micro * steps * (parts if before_017 else 1), PROCESSES
    if parts > 1 and not before_017:
        note += ONE_STEP + ("" if work.source.version else ONCE_LARGER)
    samples = _whole(work, "rloo_k") if work.dialect == "trl-rloo-old" else 1
    if batch % parts:
        raise ValueError(f"a batch of {batch} cannot be cut into {parts} minibatches")
    part, updates = batch // parts, _updates(work, "total_episodes", batch)
    return Sizes(batch, part, min(micro, part), samples, updates, names, note)


def _groups(work: Translation) -> Sizes:
    names: tuple[str, ...] = ("per_device_train_batch_size", "gradient_accumulation_steps")
    micro, steps = (_whole(work, name) for name in names)
    samples, minibatch = _whole(work, "num_generations"), micro * steps
    batch = minibatch
    for name, rows in (("generation_batch_size", 1), ("steps_per_generation", micro)):
        if name in work.named and work.value(name) is not None:
            batch, names = _whole(work, name) * rows, (*names, name)
    minibatch = min(minibatch, batch)
    note = PROCESSES
    if batch % samples:  # TRL refuses it, and Unsloth raises the rows
        note = f"{samples} texts of a prompt need more than a batch of {batch}: this is the smallest; {note}"
        batch = minibatch = math.ceil(batch / samples) * samples
        micro = math.gcd(micro, batch)
    optimizer_steps = _updates(work, "max_steps", 1)
    epochs = count(work.value("num_iterations")) or 1
    updates = math.ceil(optimizer_steps * minibatch / batch / epochs) if optimizer_steps else None
    return Sizes(batch, minibatch, micro, samples, updates, names, note)


def _pairs(work: Translation) -> Sizes:
    names = ("per_device_train_batch_size", "gradient_accumulation_steps")
    micro, steps = (_whole(work, name) for name in names)
    batch = 2 * micro * steps
    note = f"two texts make a pair; {PROCESSES}"
    return Sizes(batch, batch, 2 * micro, 2, _updates(work, "max_steps", 1), names, note)


def _llamafactory(work: Translation) -> Sizes:
    names = ("per_device_train_batch_size", "gradient_accumulation_steps", "ppo_buffer_size")
    micro, steps, buffers = (_whole(work, name) for name in names)
    batch = micro * steps * buffers
    return Sizes(batch, micro * steps, micro, 1, _updates(work, "max_steps", 1), names, PROCESSES)


def _loop(work: Translation) -> Sizes:
    counted = [name for name in ("num_updates", "num_iterations", "num_steps", "total_steps") if name in work.named]
    parts = [name for name in ("mini_batch_size", "minibatch_size") if name in work.named][:1]
    batch = _whole(work, "batch_size")
    minibatch = _whole(work, parts[0]) if parts else batch
    updates = _whole(work, counted[0]) if counted else None
    return Sizes(batch, minibatch, minibatch, 1, updates, ("batch_size", *parts))


READERS = {
    "loop": _loop,
    "trl-old": _old,
    "trl-ppo": _ppo,
    "trl-rloo-old": _ppo,
    "trl-rloo": _groups,
    "trl-grpo": _groups,
    "trl-dpo": _pairs,
    "llamafactory": _llamafactory,
    "llamafactory-dpo": _pairs,
}
