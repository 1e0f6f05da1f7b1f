"""The records of a run directory, typed: one class per line format, and strict JSON in and out.

Knows nothing of files or processes. The worker writes these; the page, the command line and `insight` read them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict

from playground.runs.ends import end_of

State = Literal[
    "queued", "starting", "running", "paused", "stopping", "finished", "stopped", "failed", "interrupted"
]  # fmt: skip
TERMINAL: frozenset[str] = frozenset({"finished", "stopped", "failed", "interrupted"})
Stage = Literal["before", "during", "after"]


class Record(BaseModel):
    """Base of all records. Unknown keys are ignored, so that an older reader can read a newer run."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Status(Record):
    """Where a run is. `phase` is what it is doing now, in words; `reason` is one word for why it ended (`runs.ends`).

    `pid`, `pid_started_at` and `boot_id` together name one process (`pid_ticks` is its start as Linux counts it, which
    no step of the clock moves; 0 elsewhere); `attempt` counts up when a run is resumed.
    """

    state: State = "queued"
    phase: str = ""
    reason: str = ""
    message: str = ""
    pid: int = 0
    pid_started_at: float = 0.0
    pid_ticks: int = 0
    boot_id: str = ""
    update: int = 0
    num_updates: int = 0
    started_at: float = 0.0
    updated_at: float = 0.0
    attempt: int = 1

    @property
    def ended(self) -> bool:
        """True once nothing more will happen."""
        return self.state in TERMINAL

    @property
    def resumable(self) -> bool:
        """True for an end after which going on as it is makes sense. With settings that it has run with before, that is
        any end: a file of prompts that is not there, a GPU that others use, may be mended without changing the run."""
        ran_before = self.attempt > 1 and self.update > 0
        return self.ended and self.state != "finished" and (ran_before or end_of(self.reason).resumable)


class UpdateMetrics(Record):
    """One PPO update. Counts and `seconds` are cumulative over the run, across its attempts; other seconds are of this
    update.

    Units: scores in standard deviations of the reference (unless not normalised); KL, entropy in nats;
    lengths in tokens; memory in GB of resident set (or of the device, where there is one).
    `contributions` says how much each reward lifts the score above the reference's average, in the score's unit.
    `kl_estimates` holds the same KL by other estimators (k1, k2, k3, abs, full), nats per completion.
    None means: not defined here (for example no variance), or not finite.
    """

    attempt: int = 1
    update: int
    episodes: int
    tokens: int
    seconds: float
    seconds_rollout: float
    seconds_score: float
    seconds_update: float
    score_mean: float | None
    score_std: float | None
    score_p10: float | None
    score_p50: float | None
    score_p90: float | None
    raw_score_mean: float | None
    terms: dict[str, float | None] = {}
    contributions: dict[str, float | None] = {}
    kl_to_reference: float | None
    kl_per_token: float | None
    kl_estimates: dict[str, float | None] = {}
    penalised_reward: float | None
    kl_coef: float
    entropy: float | None
    update_kl: float | None
    clip_fraction: float | None
    ratio_mean: float | None
    ratio_max: float | None
    policy_loss: float | None
    value_loss: float | None
    explained_variance: float | None
    grad_norm: float | None
    learning_rate: float
    completion_length: float
    eos_fraction: float
    distinct_2: float | None
    perplexity_reference: float | None
    memory_gb: float | None


class Sample(Record):
    """One completion of a fixed evaluation prompt. `score` is normalised, `scores` holds each reward term's raw value,
    `judges` that of each reward that only watches;
    `kl` is the summed log-ratio of policy to reference over the completion, in nats (0 before training)."""

    attempt: int = 1
    update: int
    stage: Stage
    prompt_id: int
    prompt: str
    completion: str
    seed: int
    score: float | None
    scores: dict[str, float | None] = {}
    judges: dict[str, float | None] = {}
    kl: float | None
    tokens: int | None = None
    ended: bool | None = None


class Evaluation(Record):
    """What is measured at each look at the fixed prompts beside its samples.

    `perplexity_text` is the policy's own on held-out text: it rises when the model forgets. (How strange its own texts
    have become to the reference is `perplexity_reference` of each update.)
    """

    attempt: int = 1
    update: int
    stage: Stage
    perplexity_text: float | None = None
    text_documents: int = 0
    text_tokens: int = 0
    seconds: float = 0.0


class Event(Record):
    """Something that happened once: a state change, a warning with its evidence, a checkpoint, a recorded scale."""

    attempt: int = 1
    seq: int
    time: float
    kind: str
    update: int = 0
    message: str = ""
    data: dict[str, Any] = {}


M = TypeVar("M", UpdateMetrics, Sample, Evaluation)
RESUMED = "resumed"  # kind of the event with which a later attempt goes on
EDIT = "edit"  # kind of the event that records an applied change of a live setting


class Resumption(NamedTuple):
    """An attempt that went on after an update, which the one before it had written down."""

    attempt: int
    update: int


def resumptions(events: Iterable[Event]) -> list[Resumption]:
    """Where attempts after the first one took the run up again."""
    return [Resumption(event.attempt, event.update) for event in events if event.kind == RESUMED]


def in_force(records: Iterable[M], resumed: Sequence[Resumption] = ()) -> list[M]:
    """The records that still count, in order; nothing is ever deleted from the files.

    A resumed run makes the updates after its checkpoint again. So what an earlier attempt wrote of them is superseded
    from the moment at which the later one went on (`resumed`), and a line of a later attempt supersedes what earlier
    ones wrote of the same and later updates.
    """
    kept: list[M] = []
    for record in records:
        if any(again.attempt > record.attempt and again.update < record.update for again in resumed):
            continue
        while kept and kept[-1].attempt < record.attempt and kept[-1].update >= record.update:
            kept.pop()
        kept.append(record)
    return kept


def events_in_force(events: Iterable[Event]) -> list[Event]:
    """The events without those that a later attempt makes again: warnings and checkpoints of updates that are repeated,
    and changes of settings that it applies again (and records then) at the update at which they were made."""
    events = list(events)
    resumed = resumptions(events)

    def superseded(event: Event) -> bool:
        later = [again.update for again in resumed if again.attempt > event.attempt]
        if event.kind == EDIT:  # after update n is before update n + 1, which is repeated
            return any(event.update >= update for update in later)
        return event.kind in ("warning", "checkpoint") and any(event.update > update for update in later)

    return [event for event in events if not superseded(event)]


def to_json_line(record: Record) -> str:
    """One line of strict JSON, newline included; NaN and infinities become null."""
    return json.dumps(finite_or_null(record.model_dump()), ensure_ascii=False, allow_nan=False) + "\n"


def finite_or_null(value: Any) -> Any:
    """Plain data with every NaN and infinity replaced by None, so that strict JSON can hold it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite_or_null(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_or_null(item) for item in value]
    return value
