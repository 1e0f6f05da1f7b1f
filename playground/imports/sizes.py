"""Batches and the length of a run: each trainer counts them in its own way, and several settings make one of ours."""

from __future__ import annotations

import math

from playground.imports.conversions import count, number, whole
from playground.imports.translation import TABLES, Translation

ROWS = ("forward_batch_size", "mini_batch_size", "minibatch_size", "per_device_train_batch_size", "batch_size")
SAMPLES = ("rloo_k", "num_generations")
UPDATES = ("num_updates", "num_steps", "total_steps", "num_iterations")  # of a loop that is written by hand
EPISODES = ("steps", "total_episodes")
PROCESSES = "on one process; with more, multiply `ppo.batch_size`"
ONE_STEP = "; TRL 1.12 takes one optimizer step for each epoch whatever num_mini_batches says"
ONCE_LARGER = ", and before TRL 0.17 the batch was num_mini_batches times this"
NO_SIZES = "ppo.batch_size, ppo.minibatch_size, ppo.micro_batch_size: the file does not say them plainly."
NO_UPDATES = "ppo.num_updates: the file does not say how many there are; ours is 40."
EPOCHS = "how many updates that is depends on the number of prompts, which is not in this file"


def translate(work: Translation) -> None:
    """`ppo.batch_size`, its parts, `ppo.samples_per_prompt` and `ppo.num_updates`."""
    try:
        _Sizes(work).translate()
    except ValueError as error:
        for item in work.named.values():
            if (work.known(item) or {}).get("rule") == "sizes":
                work.ask(item, item.problem or f"sizes go together, and not all are known: {error}")
        work.fill_in.append(NO_SIZES)


class _Sizes:
    """All in completions."""

    def __init__(self, work: Translation) -> None:
        self.work, self.read = work, list[str]()  # the settings that say the sizes
        self.known = [name for name, line in TABLES[work.dialect].items() if line.get("rule") == "sizes"]

    def factor(self, *names: str) -> int:
        """The first of these settings that is named or has a default; else 1. Raises: ValueError."""
        known = [name for name in names if name in self.known]
        for name in [*(name for name in known if name in self.work.named), *known]:
            if (found := count(self.work.value(name))) is not None:
                if found < 1:
                    raise ValueError(f"`{name}` is not a number of at least 1")
                if name not in self.read:
                    self.read.append(name)
                return found
        return 1

    def translate(self) -> None:
        work = self.work
        pairs = work.dialect.endswith("dpo")
        note = f"two texts make a pair; {PROCESSES}" if pairs else PROCESSES
        micro = self.factor(*ROWS) * (2 if pairs else 1)
        if not self.read:
            raise ValueError("the batch is not said")
        minibatch = micro * self.factor("gradient_accumulation_steps")
        parts = self.factor("num_mini_batches")
        before_017 = work.dialect == "trl-rloo-old" or (0,) < work.source.version < (0, 17)
        batch = minibatch * self.factor("ppo_buffer_size") * (parts if before_017 else 1)
        if "batch_size" in self.known:
            batch, note = self.factor("batch_size"), ""
        elif "generation_batch_size" in work.named:
            batch = self.factor("generation_batch_size")
        elif "steps_per_generation" in work.named:
            batch = micro * self.factor("steps_per_generation")
        if parts > 1:
            minibatch = batch // parts
            note += "" if before_017 else ONE_STEP + ("" if work.source.version else ONCE_LARGER)
        if batch % parts:
            raise ValueError(f"a batch of {batch} cannot be cut into {parts} minibatches")
        theirs = work.theirs(*self.read)
        samples = 2 if pairs else self.factor(*SAMPLES)
        if batch % samples:  # TRL refuses it, and Unsloth raises the rows
            note = f"{samples} texts of a prompt need more than a batch of {batch}: this is the smallest; {note}"
            batch = minibatch = math.ceil(batch / samples) * samples
            micro = math.gcd(micro, batch)
        minibatch = min(minibatch, batch)
        sizes = {"batch_size": batch, "minibatch_size": minibatch, "micro_batch_size": min(micro, minibatch)}
        work.data |= {f"ppo.{name}": size for name, size in sizes.items()}
        work.say(theirs, ", ".join(f"ppo.{name}: {size}" for name, size in sizes.items()), note)
        if samples > 1:
            said = "DPO's pairs" if pairs else work.theirs(*[name for name in SAMPLES if name in self.known][:1])
            work.set(said, "ppo.samples_per_prompt", samples)
        self._updates(batch, minibatch)

    def _updates(self, batch: int, minibatch: int) -> None:
        work, epochs = self.work, count(self.work.data.get("ppo.num_epochs")) or 1
        steps = batch * epochs / minibatch if "num_generations" in self.known else 1  # of the optimizer, an update
        for names, each in ((UPDATES, 1.0), (EPISODES, batch), (("max_steps",), steps)):
            for name in [name for name in names if name in self.known and name in work.named]:
                if (total := number(work.value(name)) or 0) > 0:
                    said = [other for other in (*names, "num_train_epochs") if other in work.named]
                    work.set(work.theirs(*said), "ppo.num_updates", whole(total / each))
                    return
        if "num_train_epochs" in work.named:
            work.leave(work.theirs("num_train_epochs"), EPOCHS)
        work.fill_in.append(NO_UPDATES)
