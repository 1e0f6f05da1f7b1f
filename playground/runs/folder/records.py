"""The records of a run directory, typed: one class per line format, and strict JSON in and out. A file may be damaged:
what is no figure (not finite, absurdly large) is nothing, and a record that then lacks a figure is left out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

EndState = Literal["finished", "stopped", "failed", "interrupted"]
State = Literal["queued", "starting", "running", "paused", "stopping"] | EndState
TERMINAL: frozenset[str] = frozenset(get_args(EndState))
WAITING: frozenset[str] = frozenset({"queued", "paused"})
# exit reasons after which it makes no sense
NOT_RESUMABLE = frozenset({"", "invalid", "model", "out_of_gpu_memory", "unwatched", "watch_lost"})
Stage = Literal["before", "during", "after"]

LARGEST = 1e30  # of a figure; sums and squares of many of them are still finite
WHOLE = 2**53  # beyond it JSON's readers disagree about a whole number
Count = Annotated[int, Field(ge=0, le=WHOLE)]
Seconds = Annotated[float, Field(ge=0, le=1e11)]  # a length of time, or a moment since 1970
Figure = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Maybe = Figure | None
Figures = dict[str, Maybe]
Marks = dict[str, bool | None]
Perplexity = Annotated[float, Field(ge=0, le=LARGEST)] | None
R = TypeVar("R", bound="Record")
LABEL_CHARACTERS = {"name": 80, "note": 300}  # at most


class Record(BaseModel):
    """Base of all records. Unknown keys are ignored, so that an older reader can read a newer run."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    @model_validator(mode="wrap")
    @classmethod
    def _or_cleaned(cls, data: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        """A second try without what is no figure: most records hold nothing of the kind."""
        try:
            return validate(data)
        except ValidationError:
            return validate(finite_or_null(data))

    @classmethod
    def about(cls) -> dict[str, FigureDoc]:
        """What each of its figures is, by name."""
        return {
            name: about
            for name, field in cls.model_fields.items()
            for about in field.metadata
            if isinstance(about, FigureDoc)
        }


class Status(Record):
    """Where a run is. `phase`: what it is doing now, in words; `reason`: one word for why it ended (`exit_reasons`);
    `pid` to `boot_id` name one process (`process_identity`); `attempt` counts up when a run is resumed."""

    state: State = "queued"
    phase: str = ""
    reason: str = ""
    message: str = ""
    pid: Annotated[int, Field(ge=-WHOLE, le=WHOLE)] = 0
    pid_started_at: Seconds = 0.0
    pid_ticks: Count = 0
    boot_id: str = ""
    update: Count = 0
    num_updates: Count = 0
    started_at: Seconds = 0.0
    updated_at: Seconds = 0.0
    worked_seconds: Seconds | None = None
    attempt: Count = 1

    def seconds_at_work(self, now: float = 0.0) -> float:
        """How long it has worked, over all attempts, pauses and the queue left out: until `now`, or until the status
        was written."""
        before = self.worked_seconds
        if before is None:
            before = max(0.0, self.updated_at - self.started_at)
        at_work = not self.ended and self.state not in WAITING
        return before + (max(0.0, now - self.updated_at) if at_work else 0.0)

    @property
    def ended(self) -> bool:
        """True once nothing more will happen."""
        return self.state in TERMINAL

    @property
    def is_done(self) -> bool:
        """True once all updates are made; one that has finished early has a reason."""
        return self.state == "finished" and not self.reason

    @property
    def resumable(self) -> bool:
        """True for an end after which going on as it is makes sense: any, with settings that it has run with before."""
        ran_before = self.attempt > 1 and self.update > 0
        return self.ended and not self.is_done and (ran_before or self.reason not in NOT_RESUMABLE)


class Label(Record):
    """label.json: the name that a run has been given since it was started, and a line about it. Empty: none."""

    name: Annotated[str, Field(max_length=LABEL_CHARACTERS["name"])] = ""
    note: Annotated[str, Field(max_length=LABEL_CHARACTERS["note"])] = ""


class FigureDoc(NamedTuple):
    """What a figure of an update or an evaluation is (CONTRIBUTING.md says who reads it). `live`: the page's charts get
    it; `steps`: how those of the optimizer steps become one."""

    unit: str
    words: str
    live: bool = False
    steps: Literal["", "mean", "max"] = ""


class UpdateMetrics(Record):
    """One PPO update. None means: not defined here (for example no variance), not finite, or not in the log of another
    trainer that is watched."""

    attempt: Annotated[Count, FigureDoc("", "which attempt")] = 1
    ranks: Annotated[Count | None, FigureDoc("", "processes that computed it together")] = 1
    update: Annotated[Count, FigureDoc("", "the update, from 1", live=True)]
    episodes: Annotated[Count | None, FigureDoc("", "completions so far, across attempts", live=True)]
    tokens: Annotated[Count | None, FigureDoc("", "completion tokens so far, across attempts")]
    tokens_trained: Annotated[Count | None, FigureDoc("", "those trained on, where not all are")] = None
    seconds: Annotated[
        Seconds | None, FigureDoc("s", "of training so far, evaluations included, pauses left out", live=True)
    ]
    seconds_rollout: Annotated[
        Seconds | None, FigureDoc("s", "of this update: sampling with the reference's log-probs", live=True)
    ]
    seconds_score: Annotated[Seconds | None, FigureDoc("s", "of this update: scoring", live=True)]
    seconds_update: Annotated[Seconds | None, FigureDoc("s", "of this update: optimising", live=True)]
    seconds_evaluation: Annotated[Seconds | None, FigureDoc("s", "since the update before: evaluating", live=True)] = (
        None
    )
    score_mean: Annotated[Maybe, FigureDoc("sd", "mean of the scores", live=True)]
    score_std: Annotated[Maybe, FigureDoc("sd", "standard deviation of the scores")]
    score_p10: Annotated[Maybe, FigureDoc("sd", "their 10th percentile", live=True)]
    score_p50: Annotated[Maybe, FigureDoc("sd", "their median", live=True)]
    score_p90: Annotated[Maybe, FigureDoc("sd", "their 90th percentile", live=True)]
    raw_score_mean: Annotated[Maybe, FigureDoc("reward", "weighted sum of the rewards, before scaling", live=True)]
    terms: Annotated[Figures, FigureDoc("reward", "for each reward its unweighted mean")] = {}
    contributions: Annotated[Figures, FigureDoc("sd", "for each reward, how much of the score it contributes")] = {}
    disagreement: Annotated[
        Maybe,
        FigureDoc("sd", "spread of an ensemble's learned rewards on a text, mean over texts", live=True),
    ] = None
    kl_to_reference: Annotated[Maybe, FigureDoc("nats per completion", "log-ratio of policy to reference", live=True)]
    kl_per_token: Annotated[Maybe, FigureDoc("nats per token", "the same, as a mean over tokens", live=True)]
    kl_to_first: Annotated[
        Maybe, FigureDoc("nats per completion", "to the reference that stays, where the other one moves", live=True)
    ] = None
    kl_estimates: Annotated[Figures, FigureDoc("nats per completion", "the same KL by other estimators, by name")] = {}
    kl_spreads: Annotated[Figures, FigureDoc("nats per completion", "their standard deviations over completions")] = {}
    penalised_reward: Annotated[Maybe, FigureDoc("sd", "`score_mean - kl_coef * kl_to_reference`", live=True)]
    reward_paid: Annotated[Maybe, FigureDoc("sd", "sum of a completion's token rewards: the same, if all is well")] = (
        None
    )
    kl_coef: Annotated[Maybe, FigureDoc("sd per nat", "beta, as used in this update", live=True)]
    entropy: Annotated[Maybe, FigureDoc("nats per token", "of the policy's full distribution", live=True)]
    surprisal: Annotated[Maybe, FigureDoc("nats per token", "minus the log-prob of what was sampled")] = None
    update_kl: Annotated[Maybe, FigureDoc("nats per token", "from the policy that sampled", live=True, steps="mean")]
    clip_fraction: Annotated[Maybe, FigureDoc("0 to 1", "share of clipped tokens in the loss", live=True, steps="mean")]
    ratio_mean: Annotated[Maybe, FigureDoc("", "probability ratio, new to old", steps="mean")]
    ratio_max: Annotated[Maybe, FigureDoc("", "the largest of these ratios", steps="max")]
    policy_loss: Annotated[Maybe, FigureDoc("", "mean over tokens and optimizer steps", live=True, steps="mean")]
    value_loss: Annotated[Maybe, FigureDoc("", "mean over tokens and optimizer steps", live=True, steps="mean")]
    explained_variance: Annotated[Maybe, FigureDoc("at most 1", "of the returns by the value head", live=True)]
    grad_norm: Annotated[Maybe, FigureDoc("", "of the policy, before clipping, mean of steps", live=True, steps="mean")]
    value_grad_norm: Annotated[Maybe, FigureDoc("", "the same of the critic alone", steps="mean")] = None
    groups_same_score: Annotated[
        Maybe, FigureDoc("0 to 1", "share of prompts whose texts all score the same", live=True)
    ] = None
    groups_all_right: Annotated[
        Maybe, FigureDoc("0 to 1", "share of prompts whose answers are all right, where they are checked", live=True)
    ] = None
    groups_all_wrong: Annotated[Maybe, FigureDoc("0 to 1", "share of prompts that have no right one", live=True)] = None
    answers_right: Annotated[
        Maybe, FigureDoc("0 to 1", "share of right answers, where they are checked", live=True)
    ] = None
    answers_in_form: Annotated[Maybe, FigureDoc("0 to 1", "share of answers in the form asked for", live=True)] = None
    left_out: Annotated[
        Maybe, FigureDoc("0 to 1", "share of texts not learned from, where settings leave some out", live=True)
    ] = None
    pairs_ordered: Annotated[Maybe, FigureDoc("0 to 1", "DPO: share of pairs whose better text it prefers")] = None
    steering_strength: Annotated[Maybe, FigureDoc("", "steer: of the vector, as used in this update", live=True)] = None
    learning_rate: Annotated[Maybe, FigureDoc("", "of this update", live=True)]
    completion_length: Annotated[Maybe, FigureDoc("tokens", "the end token counts", live=True)]
    eos_fraction: Annotated[Maybe, FigureDoc("0 to 1", "share of completions that ended by themselves", live=True)]
    distinct_2: Annotated[Maybe, FigureDoc("0 to 1", "distinct word pairs over all word pairs", live=True)]
    perplexity_reference: Annotated[Perplexity, FigureDoc("", "of the completions under the reference", live=True)]
    memory_gb: Annotated[Maybe, FigureDoc("10^9 bytes", "resident set, or peak of the GPU's allocator")]

    @property
    def seconds_of_phases(self) -> float:
        """What it took, evaluations apart; 0 where that is not known."""
        return sum(filter(None, (self.seconds_rollout, self.seconds_score, self.seconds_update)))


class OfAnUpdate(Record):
    """A line that an attempt wrote of an update."""

    attempt: Count = 1
    update: Count


class Sample(OfAnUpdate):
    """One completion of a fixed evaluation prompt. `score` is normalised, `scores` holds each reward term's raw value,
    `judges` that of each monitor, `behaviours` yes, no or null (not asked of such a prompt); `answer` is the true one,
    where answers are checked; `kl` is the exact KL of policy to reference, summed over the positions of the
    completion, in nats."""

    stage: Stage
    prompt_id: Count
    prompt: str
    completion: str
    seed: int
    score: Annotated[Maybe, FigureDoc("sd", "mean over the answers to the fixed prompts, as those below")]
    scores: Annotated[Figures, FigureDoc("reward", "for each reward")] = {}
    judges: Annotated[Figures, FigureDoc("reward", "for each monitor")] = {}
    behaviours: Annotated[Marks, FigureDoc("0 to 1", "for each behaviour, share of the answers that show it")] = {}
    kl: Annotated[Maybe, FigureDoc("nats per completion", "exact KL to the reference")]
    answer: str | None = None
    tokens: Annotated[Count | None, FigureDoc("tokens", "length, the end token counts")] = None
    ended: Annotated[bool | None, FigureDoc("0 to 1", "share that ended by itself")] = None


class Evaluation(OfAnUpdate):
    """What each evaluation measures beside its samples. `perplexity_text`: the policy's own, on held-out text."""

    stage: Stage
    perplexity_text: Annotated[Perplexity, FigureDoc("", "of held-out text under the policy")] = None
    text_documents: Annotated[Count, FigureDoc("", "documents read for it")] = 0
    text_tokens: Annotated[Count, FigureDoc("tokens", "tokens read for it")] = 0
    seconds: Annotated[Seconds, FigureDoc("s", "that it took")] = 0.0


class Event(Record):
    """Something that happened once: a state change, a warning with its evidence, a checkpoint, a recorded scale."""

    attempt: Count = 1
    seq: Count
    time: Seconds
    kind: str
    update: Count = 0
    message: str = ""
    data: Annotated[dict[str, Any], AfterValidator(lambda data: finite_or_null(data))] = {}

    @property
    def figures(self) -> dict[str, float]:
        """What of the data is a number, for who computes with it."""
        return {name: value for name, value in self.data.items() if isinstance(value, (int, float)) and value >= 0}


class ScoreScale(Record):
    """What the raw reward was on the reference's texts, and each reward of it: the data of a `score_scale`."""

    mean: Figure
    sd: Annotated[float, Field(gt=0, le=LARGEST)]
    terms: dict[str, dict[Literal["mean", "sd", "contribution"], Figure]] = {}

    @classmethod
    def of(cls, events: Iterable[Event]) -> ScoreScale | None:
        """As the events of a run have it; None if it has not been measured yet."""
        scales = (parsed(event.data, cls) for event in reversed(list(events)) if event.kind == SCORE_SCALE)
        return next(filter(None, scales), None)


SCORE_SCALE = "score_scale"  # kind of the event that holds how scores are normalised
FORK = "fork"  # kind of the event with which a run begins that goes on from another one's checkpoint
REFERENCE = "reference"  # kind of the event that holds a fingerprint of the reference's weights
REWARD_MODELS = "reward_models"  # kind of the event that says whether reward models are read as they were trained
BEST_OF = "best_of"  # kind of the event that holds what the best of n answers scores: lists {n, score, kl}
STEERING_VECTOR = "steering_vector"  # kind of the event that describes the vector of `method: steer`
RESUMED = "resumed"  # kind of the event with which a later attempt goes on
TRACE = "trace"  # kind of the event that says an update was recorded in slow motion: see `runs.folder.traces`
NOTE = "note"  # kind of the event with which another trainer's log is explained
EDIT = "edit"  # kind of the event that records an applied change of a live setting


def to_json_line(record: Record) -> str:
    """One line of strict JSON, newline included; NaN and infinities become null."""
    return json.dumps(finite_or_null(record.model_dump()), ensure_ascii=False, allow_nan=False) + "\n"


def parsed(data: Any, kind: type[R]) -> R | None:
    """Plain data as a record; None where it is none."""
    try:
        return kind.model_validate(data)
    except (ValidationError, RecursionError):
        return None


def finite_or_null(value: Any) -> Any:
    """Plain data that strict JSON can hold: NaN, infinities and huge numbers become None, halves of characters "?".
    Raises: RecursionError."""
    if isinstance(value, (float, int)):
        if -LARGEST <= value <= LARGEST:
            return value
        return None
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {finite_or_null(key): finite_or_null(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite_or_null(item) for item in value]
    return value


def by_name(value: Any, digits: int | None = None) -> Any:
    """A record or named tuple as what it has by name, and so all within it. With `digits`, floats have so many
    significant digits, and None stands for what is not finite."""
    if isinstance(value, float) and digits is not None:
        if math.isfinite(value):
            return float(f"{value:.{digits}g}")
        return None
    if isinstance(value, BaseModel):
        value = dict(value)
    elif isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {name: by_name(item, digits) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [by_name(item, digits) for item in value]
    return value
