"""Settings that mean something only together: the sizes of a batch and the length of a run, which each trainer counts
in its own way; beta and the unit of the score; the early stop; the warm-up."""

from __future__ import annotations

import math

from playground.imports import roles
from playground.imports.conversions import count, number, whole
from playground.imports.found import ForeignSetting
from playground.imports.tables import WORDS
from playground.imports.translation import Translation

ROWS = ("forward_batch_size", "mini_batch_size", "minibatch_size", "per_device_train_batch_size", "batch_size")
UPDATES = ("num_updates", "num_steps", "total_steps", "num_iterations")  # of a loop that is written by hand


def translate_sizes(work: Translation) -> None:
    """`ppo.batch_size`, its parts, `ppo.samples_per_prompt` and `ppo.num_updates`."""
    sizes = _Sizes(work)
    try:
        sizes.translate()
    except ValueError as error:
        for item in sizes.settings.values():
            if not item.note:
                work.leave(item, f"sizes go together, and not all are known: {error}")
        work.fill_in.append(WORDS["no-sizes"])


def translate(work: Translation) -> None:
    """What the tables leave to rules, after the roles are known."""
    for controller in work.source.controllers:
        work.leave(controller, WORDS["controller"])
    for item in work.of_rule("beta")[:1]:
        _beta(work, item)
    for item in work.of_rule("warmup")[:1]:
        _warmup(work, item)
    if work.of_rule("early"):
        _early_stop(work)


class _Sizes:
    """All in completions. `settings`: that say sizes, by name; `read`: those that were needed."""

    def __init__(self, work: Translation) -> None:
        self.work, self.read = work, list[ForeignSetting]()
        self.settings = {item.name: item for item in work.of_rule("sizes")}

    def factor(self, *names: str) -> int:
        """The first of these settings that is named, else has a default; else 1. Raises: ValueError."""
        settings = [self.settings[name] for name in names if name in self.settings]
        for item in sorted(settings, key=lambda item: bool(item.note)):
            if item.problem:
                raise ValueError(item.problem)
            if (size := count(item.value)) is not None:
                if size < 1:
                    raise ValueError(f"`{item.name}` is not a number of at least 1")
                self.read.append(item)
                return size
        return 1

    def is_named(self, name: str) -> bool:
        return name in self.settings and not self.settings[name].note

    def translate(self) -> None:
        work, version = self.work, self.work.source.version
        pairs = work.dialect.endswith("dpo")
        notes = ["two texts make a pair"] * pairs
        micro = self.factor(*ROWS) * (2 if pairs else 1)
        if not self.read:
            raise ValueError("the batch is not said")
        minibatch = micro * self.factor("gradient_accumulation_steps")
        parts = self.factor("num_mini_batches")
        before_017 = work.dialect == "trl-rloo-old" or (0,) < version < (0, 17)
        batch = minibatch * self.factor("ppo_buffer_size")
        if before_017:
            batch *= parts
        if "batch_size" in self.settings or "batch_size" in work.spec.get("names", "").split():
            batch = self.factor("batch_size")
        else:
            notes.append(WORDS["processes"])
        if self.is_named("generation_batch_size"):
            batch = self.factor("generation_batch_size")
        elif self.is_named("steps_per_generation"):
            batch = micro * self.factor("steps_per_generation")
        if parts > 1:
            minibatch = batch // parts
            if not before_017:
                notes += [WORDS["one-step"], *[WORDS["once-larger"]] * (not version)]
        if batch % parts:
            raise ValueError(f"a batch of {batch} cannot be cut into {parts} minibatches")
        theirs = ", ".join(map(str, dict.fromkeys(self.read)))
        samples = 2 if pairs else self.factor("rloo_k", "num_generations")
        if batch % samples:  # TRL refuses it, and Unsloth raises the rows
            notes.insert(0, f"{samples} texts of a prompt need more than a batch of {batch}: this is the smallest")
            batch = minibatch = math.ceil(batch / samples) * samples
            micro = math.gcd(micro, batch)
        minibatch = min(minibatch, batch)
        sizes = {"batch_size": batch, "minibatch_size": minibatch, "micro_batch_size": min(micro, minibatch)}
        work.data |= {f"ppo.{name}": size for name, size in sizes.items()}
        ours = [f"ppo.{name}: {size}" for name, size in sizes.items()]
        work.say(theirs, ", ".join(ours), "; ".join(notes))
        if samples > 1:
            work.set("DPO's pairs" if pairs else self.read[-1], "ppo.samples_per_prompt", samples)
        self._length(batch, minibatch)

    def _length(self, batch: int, minibatch: int) -> None:
        """How many updates there are. `max_steps` counts those of the optimizer where a batch has groups of texts."""
        epochs = count(self.work.data.get("ppo.num_epochs")) or 1
        steps = batch * epochs / minibatch if "num_generations" in self.work.table else 1
        each = dict.fromkeys(UPDATES, 1.0) | {"steps": batch, "total_episodes": batch, "max_steps": steps}
        for name in [name for name in each if self.is_named(name)]:
            item = self.settings[name]
            if not item.problem and (total := number(item.value) or 0) > 0:
                self.work.set(item, "ppo.num_updates", whole(total / each[name]))
                return
        if self.is_named("num_train_epochs"):
            self.work.leave(self.settings["num_train_epochs"], WORDS["epochs"])
        self.work.fill_in.append(WORDS["no-length"])


def _number(work: Translation, item: ForeignSetting) -> float | None:
    """The value of a setting; None, and said, where it is no number that is known."""
    try:
        value = number(item.value)
    except ValueError:
        value = None
    if value is None:
        work.leave(item, "it is no number")
    return value


def _beta(work: Translation, item: ForeignSetting) -> None:
    beta = _number(work, item)
    if beta is None:
        return
    is_scaled = bool(work.source.own) or "score.normalise" in work.data
    if is_scaled:
        work.set(item, "kl.coef", beta)
    elif roles.is_known(work):
        work.data["score.normalise"] = "none"
        work.set(item, "kl.coef", beta, WORDS["raw"])
    elif not beta:
        work.set(item, "kl.coef", 0.0, WORDS["no-penalty"])
    else:
        work.leave(item, WORDS["no-unit"])


def _warmup(work: Translation, item: ForeignSetting) -> None:
    """`warmup_steps` is a share too where it is less than 1, as in transformers from version 5."""
    updates, length = work.data.get("ppo.num_updates"), _number(work, item)
    if length is None:
        return
    if item.name == "warmup_steps" and (length >= 1 or not length):
        work.set(item, "ppo.warmup_updates", whole(length))
    elif updates is None:
        work.leave(item, WORDS["no-updates"])
    else:
        work.set(item, "ppo.warmup_updates", whole(length * updates))


def _early_stop(work: Translation) -> None:
    """An early stop within an update, which the old TRL's `target_kl` belongs to; not the adaptive target."""
    stop, limit = work.named.get("early_stopping"), work.named.get("target_kl")
    if stop and stop.value is True:
        item = limit or ForeignSetting("target_kl", 1.0, note="default")
        if most := _number(work, item):
            work.set(f"{stop}, {item}", "ppo.update_kl_stop", round(1.5 * most, 6), WORDS["stopped"])
    elif limit:
        work.leave(limit, WORDS["did-nothing"])
    if stop and stop.value is False:
        work.say(stop, "ppo.update_kl_stop: empty")
