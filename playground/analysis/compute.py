"""The compute ledger: what a run spent. Operations are counted by the usual rule: a token that passes through a matrix
of n weights costs 2 n operations forward and 4 n backward (half of that where they are frozen under LoRA). The LM head
is counted on completion tokens; attention's own products and everything element by element are left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from playground.config import RunConfig
from playground.config.methods import METHODS
from playground.runs.folder.records import STEERING_VECTOR, Event, UpdateMetrics
from playground.setup.describe import two_digits

EVALUATING = "evaluate and save"  # the phase that is no part of learning
MODEL = "model"  # kind of the event that holds what is known of the weights
FORWARD, BACKWARD, BACKWARD_FROZEN = 2, 4, 2


class Phase(NamedTuple):
    """One part of the work. `operations` is None where they cannot be counted."""

    name: str
    seconds: float
    operations: float | None


class Ledger(NamedTuple):
    """What a run spent so far. Tokens are completion tokens; memory in 10^9 bytes; `parameters` None if unknown."""

    updates: int
    episodes: int
    tokens_generated: int
    tokens_trained: int
    phases: list[Phase]
    seconds: float
    peak_memory_gb: float | None
    parameters: float | None
    trained_parameters: float | None
    ranks: int = 1  # processes at the end; the memory is what each of them held

    @property
    def operations(self) -> float | None:
        """Of all phases that can be counted; None if none can."""
        counts = [phase.operations for phase in self.phases if phase.operations is not None]
        if counts:
            return sum(counts)
        return None


def ledger(config: RunConfig, metrics: Sequence[UpdateMetrics], events: Iterable[Event]) -> Ledger | None:
    """The ledger of a run; None before its first update, and where the log of another trainer says too little. Of a run
    that was resumed it counts what is in force."""
    if not metrics:
        return None
    last = metrics[-1]  # holds the sums, across attempts
    if config.kind == "watched" or last.episodes is None or last.tokens is None or last.seconds is None:
        return None
    facts = next((event.figures for event in reversed(list(events)) if event.kind == MODEL), {})
    trained = last.tokens_trained
    if trained is None:
        trained = last.tokens * config.ppo.num_epochs
    spent = [
        sum(getattr(item, f"seconds_{name}") or 0.0 for item in metrics) for name in ("rollout", "score", "update")
    ]
    counted = _operations(config, facts, last.tokens, last.episodes, trained)
    phases = list(map(Phase, ("generate", "score", "update"), spent, counted))
    memory = [item.memory_gb for item in metrics if item.memory_gb is not None]
    return Ledger(
        updates=len({item.update for item in metrics}),
        episodes=last.episodes,
        tokens_generated=last.tokens,
        tokens_trained=trained,
        phases=[*phases, Phase(EVALUATING, max(0.0, last.seconds - sum(spent)), None)],
        seconds=last.seconds,
        peak_memory_gb=max(memory, default=None),
        parameters=facts.get("parameters"),
        trained_parameters=facts.get("trained_parameters"),
        ranks=last.ranks or 1,
    )


def _operations(
    config: RunConfig, facts: dict[str, float], tokens: int, episodes: int, trained: int
) -> tuple[float | None, float | None, float | None]:
    """Generate (policy and reference), score, update. Of other methods than PPO's it is what they do: DPO passes its
    pairs through policy and reference while it learns, SFT its chosen texts through the policy, best of n nothing."""
    method = METHODS[config.method]
    has_sizes = {"matrix_parameters", "prompt_tokens"} <= facts.keys()
    if not has_sizes or not (config.engine == "playground" or method.by_trl):
        return None, None, None  # TRL passes its batches through the models in another number
    whole = tokens + episodes * facts["prompt_tokens"]
    head = facts.get("head_parameters", 0.0)  # older runs have none: every token counts as if it went through there
    trunk = (facts["matrix_parameters"] - head) * whole
    critic = trunk * config.separate_critic
    written = trunk + head * tokens
    learned_from = trunk + head * (whole if method.by_trl else tokens)  # TRL computes logits of the prompts too
    backward = BACKWARD if config.model.adapter.kind == "none" else BACKWARD_FROZEN
    rollout = FORWARD * written  # sampling
    if method.on_policy:
        rollout += FORWARD * (written + head * tokens + critic)  # the reference, the policy's LM head again for the KL
    times = 0.0
    if tokens:
        times = trained / tokens  # with the prompts before them
    update = times * (FORWARD + backward) * (learned_from + critic)
    if config.method == "dpo":
        update += times * FORWARD * learned_from  # the reference
    learned = facts.get("reward_parameters", 0)
    return rollout, FORWARD * learned * whole, update


class Bill(NamedTuple):
    """What a method cost before the first answer, without evaluations and loading: texts and tokens written to learn
    from, tokens trained on in all epochs; and after it, `answers`: texts written for each answer given."""

    texts: int
    tokens: int
    tokens_trained: int
    seconds: float
    operations: float | None
    memory_gb: float | None
    answers: int


def bill(config: RunConfig, metrics: Sequence[UpdateMetrics], events: Iterable[Event]) -> Bill | None:
    """What a run cost; None before its first update. The best of n costs nothing beforehand, and steering the
    texts of its vector: what else such runs write shows only what is to be expected."""
    events = list(events)
    totals = ledger(config, metrics, events)
    if totals is None:
        return None
    if config.method == "best_of_n":
        return Bill(0, 0, 0, 0.0, 0.0, totals.peak_memory_gb, config.answers_each)
    if config.method == "steer":
        vector = next((event.figures for event in events if event.kind == STEERING_VECTOR), {})
        texts, tokens = int(vector.get("texts", 0)), int(vector.get("tokens", 0))
        return Bill(texts, tokens, 0, vector.get("seconds", 0.0), None, totals.peak_memory_gb, 1)
    seconds = sum(phase.seconds for phase in totals.phases if phase.name != EVALUATING)
    spent = totals.tokens_generated, totals.tokens_trained
    return Bill(totals.episodes, *spent, seconds, totals.operations, totals.peak_memory_gb, config.answers_each)


def operations_in_words(operations: float | None) -> str:
    """12.3 TFLOP; a hyphen where they were not counted."""
    if operations is None:
        return "-"
    if not operations:
        return "none"
    sizes = {1e18: "EFLOP", 1e15: "PFLOP", 1e12: "TFLOP", 1e9: "GFLOP"}
    size = next((size for size in sizes if operations >= size), 1e6)
    return f"{operations / size:.3g} {sizes.get(size, 'MFLOP')}"


def ledger_sentence(totals: Ledger) -> str:
    """One line for a person."""
    counted = ""
    if totals.operations is not None:
        counted = f", {operations_in_words(totals.operations)} counted"
    memory = ""
    if totals.peak_memory_gb is not None:
        memory = f", at most {two_digits(totals.peak_memory_gb)} GB"
    if memory and totals.ranks > 1:
        memory += f" in each of {totals.ranks} processes"
    return (
        f"{totals.episodes:,} episodes, {totals.tokens_generated:,} tokens written, "
        f"{totals.tokens_trained:,} trained on{counted}{memory}."
    )
