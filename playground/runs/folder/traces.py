"""One update in slow motion, `traces/update-000012.json`: a few episodes with every figure on the way from their tokens
to the loss. Lists have one entry for each completion token of an episode, or of episodes one behind the other."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import Field

from playground.config import RunConfig, methods
from playground.plain_files import read_bytes
from playground.runs.folder.attempts import events_in_force
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import packed, write_atomically
from playground.runs.folder.records import TRACE, Count, Figure, Maybe, Record, finite_or_null, parsed

MAX_TRACE_BYTES = 8_000_000
Row = list[Figure]


class TracedSettings(Record):
    """What held in this update."""

    baseline: Literal["value", "leave_one_out", "group", "none"]
    advantage_scale: Literal["batch", "group", "none"] = "batch"
    loss_mean: Literal["token", "text", "constant"] = "token"
    ratio: Literal["token", "text"] = "token"
    where: Literal["reward", "loss"] = "reward"
    drop_alike_groups: bool = False
    overlong: Literal["keep", "mask", "penalise"] = "keep"
    max_new_tokens: Count = 0
    samples_per_prompt: Count
    gamma: Figure
    gae_lambda: Figure
    kl_coef: Figure
    estimator: str
    clip_range: Figure
    clip_range_high: Maybe = None
    value_clip_range: Maybe
    value_coef: Figure
    entropy_coef: Figure
    max_grad_norm: Figure
    learning_rate: Figure
    num_epochs: Count
    batch_size: Count
    minibatch_size: Count


class TracedBatch(Record):
    """All `episodes` of the update, with `tokens` completion tokens; the lists hold the first `len(lengths)` of them.
    `mean` and `sd` are of the advantages of all tokens. `drifts`: log pi_old - log pi_ref; `log_ratios`: log pi -
    log pi_old in the last step that learned from an episode, which is `steps[last_steps]`, None where none did."""

    episodes: Count
    tokens: Count
    mean: Figure
    sd: Figure
    lengths: list[Count]
    scores: Row
    token_kl: Row
    values: Row
    whitened: Row
    drifts: Row = Field(default_factory=list)
    log_ratios: Row = Field(default_factory=list)
    last_steps: list[Count | None] = Field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether no episode had to be left out."""
        return len(self.lengths) == self.episodes


class TracedPass(Record):
    """One episode in one optimizer step, `steps[step]`; before the step moved the policy. `ratios`: those that are
    clipped. `loss_kls`: the KL of each token now, where the leash is in the loss."""

    step: Count
    ratios: Row
    clipped: list[bool]
    policy_losses: Row
    loss_kls: Row = Field(default_factory=list)
    values: Row
    value_losses: Row


class TracedStep(Record):
    """One optimizer step: `tokens` of its minibatch, so many of them `clipped`; means over them, as in the metrics.
    `rows`, `log_ratios` (log pi - log pi_old): of an epoch's last minibatch. `after`: measured after the step."""

    epoch: Count
    minibatch: Count
    tokens: Count
    clipped: Count
    clip_fraction: Figure
    ratio_mean: Figure
    ratio_max: Figure
    update_kl: Figure
    policy_loss: Figure
    value_loss: Figure
    grad_norm: Figure
    value_grad_norm: Maybe
    after: bool
    rows: list[Count]
    log_ratios: Row


class TracedText(Record):
    """A text of a prompt whose texts are shown under each formula. `alike`: they all score the same."""

    row: Count
    prompt: str
    pieces: list[str]
    ended: bool
    alike: bool = False


class FormulaText(Record):
    """One of these texts under a formula. `advantages`, `ratios`, `clipped`: of each token. `weight`: what a token
    counts in the loss. `pushes`: minus the gradient of the loss by a token's log-prob, the leash in it included, which
    alone is `leash`. `left_out`: the formula does not learn from it."""

    advantages: Row
    ratios: Row
    clipped: list[bool]
    weight: Figure
    pushes: Row
    leash: Row
    left_out: bool


class TracedFormula(Record):
    """The texts under the formula of a method. `is_own`: it is that of the run itself. `why_none`: why there is none.
    `loss`: mean over the minibatches of the last steps, without the leash in it, which is `leash_loss`. `clipped`,
    `tokens`: of those that it learns from."""

    name: str
    is_own: bool = False
    why_none: str = ""
    settings: TracedSettings
    loss: Maybe = None
    leash_loss: Maybe = None
    clipped: Count = 0
    tokens: Count = 0
    texts: list[FormulaText] = Field(default_factory=list)


class TracedEpisode(Record):
    """One episode: `row` of the batch. Without a critic `deltas` and `values` are empty, and `returns` what the whole
    episode was paid. `rewards` are the tokens' own; `leash` is the part of it that the KL costs."""

    row: Count
    why: str
    prompt: str
    prompt_pieces: list[str]
    pieces: list[str]
    ended: bool
    score: Figure
    raw_score: Maybe
    log_probs: Row
    reference_log_probs: Row
    entropies: Row
    token_kl: Row
    leash: Row
    rewards: Row
    values: Row
    deltas: Row
    advantages: Row
    whitened: Row
    returns: Row
    passes: list[TracedPass]


class Trace(Record):
    """One update."""

    attempt: Count = 1
    update: Count
    settings: TracedSettings
    batch: TracedBatch
    steps: Annotated[list[TracedStep], Field(min_length=1)]
    episodes: Annotated[list[TracedEpisode], Field(min_length=1)]
    texts: list[TracedText] = Field(default_factory=list)
    formulas: list[TracedFormula] = Field(default_factory=list)


def why_none(config: RunConfig) -> str:
    """Why an update of such a run cannot be recorded, as a sentence; "" where it can."""
    if config.kind == "watched":
        return config.why_not_resumed
    in_own_loop = methods.METHODS[config.method].in_own_loop
    if config.engine == "trl" and in_own_loop:
        return "TRL's trainers do not show what they compute for a token, so no update of this run can be recorded."
    if not in_own_loop:
        label = methods.METHODS[config.method].label
        return f"{label} makes no update of PPO's kind: there are no advantages and no ratios to look at."
    if config.ppo.staleness:
        return "Slow motion shows texts that the policy has just written; those of this run are late (ppo.staleness)."
    if config.kl.where == "loss" and config.kl.estimator == "full":
        return "The exact KL in the loss (kl.where, kl.estimator) is of whole distributions, which slow motion has not."
    return ""


def write(run: RunDirectory, trace: Trace) -> str:
    """Put a trace into the run's folder; returns the file's name. Raises: OSError."""
    run.traces_path.mkdir(mode=0o700, exist_ok=True)
    path = run.traces_path / name_of(trace.update)
    write_atomically(path, json.dumps(finite_or_null(trace.model_dump()), allow_nan=False, separators=(",", ":")))
    return path.name


def read(run: RunDirectory, update: int) -> Trace | None:
    """The trace of an update, which may be packed; None where there is none that can be read."""
    path = run.traces_path / name_of(update)
    try:
        data = read_bytes(path, MAX_TRACE_BYTES) if path.exists() else packed(path, MAX_TRACE_BYTES)
        return parsed(json.loads(data), Trace)
    except (OSError, ValueError, RecursionError):
        return None


def updates(run: RunDirectory) -> list[int]:
    """Which updates were recorded, of those that still count."""
    return sorted({event.update for event in events_in_force(run.all_events()) if event.kind == TRACE})


def name_of(update: int) -> str:
    """The file of an update's trace."""
    return f"update-{update:06d}.json"
