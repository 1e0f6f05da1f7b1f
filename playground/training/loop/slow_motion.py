"""Writes down one update of `PPOTrainer` in slow motion: a trace hook that keeps every figure of some episodes' tokens.

What the trainer does not keep by token is computed again by the same functions of `playground.ppo`. Changes nothing: no
weight, no random number. runs/folder/traces.py says what a trace holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import torch
from torch import Tensor

from playground.ppo.advantages import generalised_advantages, groups_that_differ
from playground.ppo.kl import CORRECTED, loss_kl
from playground.ppo.losses import clipped_tokens, compared_log_ratio, policy_loss, value_loss
from playground.ppo.masked import masked_mean, masked_variance
from playground.runs.folder import traces
from playground.runs.folder.traces import (
    Trace,
    TracedBatch,
    TracedEpisode,
    TracedPass,
    TracedSettings,
    TracedStep,
    TracedText,
)
from playground.training.loop.formulas import formulas_of, price
from playground.training.loop.trainer import Credit, PPOTrainer, TraceHook
from playground.training.models.token_pieces import Pieces

MOST_TOKENS = 20_000  # of the batch that are kept, and of the episodes that are shown
MOST_PROMPT_PIECES = 600
MOST_TEXTS, MOST_OF_TEXTS = 32, 2_000  # texts under each formula, and their tokens
MEASURED_AFTER = ("clip_fraction", "ratio_mean", "ratio_max", "update_kl")


def record_if_due(trainer: object, *, asked: bool) -> None:
    """Have the next update recorded, if it is `asked` for or the configuration says so, and the trainer has hooks."""
    if isinstance(trainer, PPOTrainer) and not traces.why_none(trainer.config):
        config, coming = trainer.config, trainer.updates_done + 1
        due = asked or config.evaluation.is_traced(coming, config.ppo.num_updates)
        trainer.trace_hook = Recorder(trainer) if due else TraceHook()


def trace_of(trainer: object) -> Trace | None:
    """The trace of the update that a trainer has just made, if it was recorded."""
    recorder = getattr(trainer, "trace_hook", None)
    return recorder.trace() if isinstance(recorder, Recorder) else None


@dataclass
class OptimizerStep:
    """One optimizer step: its figures, and of each episode the log-ratios and values of its tokens."""

    rows: list[int]
    figures: dict[str, float]
    log_ratios: dict[int, Tensor]
    values: dict[int, Tensor]
    seen_after: OptimizerStep | None = field(default=None)


class Recorder(TraceHook):
    """Sees one update; then `trace` has it."""

    def __init__(self, trainer: PPOTrainer) -> None:
        self._trainer = trainer
        self._credit: Credit | None = None
        self._steps: list[OptimizerStep] = []
        self._log_ratios: dict[int, Tensor] = {}
        self._values: dict[int, Tensor] = {}

    def credit(self, credit: Credit) -> None:
        """See `TraceHook`."""
        self._credit = credit

    def micro_batch(self, rows: Tensor, log_ratio: Tensor, values: Tensor) -> None:
        """See `TraceHook`."""
        assert self._credit is not None, "no step without advantages"
        lengths = self._credit.rollout.episodes.lengths[rows].tolist()
        for name, whole in ((self._log_ratios, log_ratio), (self._values, values)):
            name.update(zip(rows.tolist(), whole.detach().float().cpu().split(lengths), strict=True))

    def step(self, rows: Tensor, figures: Mapping[str, float], *, after: bool = False) -> None:
        """See `TraceHook`."""
        if not after and self._trainer.ranks.count > 1:  # in a look back every rank has seen the same
            self._gather()
        made = OptimizerStep(rows.tolist(), dict(figures), self._log_ratios, self._values)
        self._log_ratios, self._values = {}, {}
        if after:
            self._steps[-1].seen_after = made
        else:
            self._steps.append(made)

    def _gather(self) -> None:
        """What the other ranks have seen of the same step."""
        mine = [[row, ratios.tolist(), self._values[row].tolist()] for row, ratios in self._log_ratios.items()]
        for row, ratios, values in chain.from_iterable(self._trainer.ranks.exchange(mine)):
            self._log_ratios[row], self._values[row] = torch.tensor(ratios), torch.tensor(values)

    def trace(self) -> Trace | None:
        """What was seen; None where the update, or a part of it, was skipped because something was not finite."""
        credit, steps = self._credit, self._steps
        if credit is None or not steps or not all(map(math.isfinite, steps[-1].figures.values())):
            return None
        writer = _TraceWriter(self._trainer, credit)
        trace = Trace(
            update=self._trainer.updates_done,
            settings=writer.settings,
            batch=writer.batch(steps),
            steps=writer.steps(steps),
            episodes=[writer.episode(row, why, steps) for row, why in writer.shown()],
            texts=[] if self._trainer.config.faults else writer.texts(),
        )
        return trace.model_copy(update={"formulas": formulas_of(trace)})


class _TraceWriter:
    """From what was seen to the records. Tensors on the CPU, [B, C]."""

    def __init__(self, trainer: PPOTrainer, credit: Credit) -> None:
        config = trainer.config
        self.ppo, self.kl, self.credit = config.ppo, config.kl, credit
        self.piece = Pieces(trainer.tokens)
        self.rollout, self.episodes = credit.rollout, credit.rollout.episodes
        self.mask, self.lengths = self.episodes.mask.cpu(), self.episodes.lengths.tolist()
        self.token_kl = self.rollout.token_kl("k3" if self.kl.estimator == CORRECTED else self.kl.estimator).cpu()
        self.whitened = credit.whitened.cpu()
        self.kept = _kept(self.lengths, self.ppo.samples_per_prompt)
        scores = torch.tensor(credit.scores.scores, dtype=torch.float64)
        self.differ = groups_that_differ(scores, self.ppo.samples_per_prompt).tolist()
        left = self.rollout.kept
        self.learned = [True] * len(self.lengths) if left is None else left.tolist()
        ours = {name: getattr(self.ppo, name) for name in TracedSettings.model_fields if hasattr(self.ppo, name)}
        self.settings = TracedSettings(
            **ours,
            kl_coef=credit.kl_coef,
            estimator=self.kl.estimator,
            where=self.kl.where,
            max_new_tokens=config.sampling.max_new_tokens,
        )

    def batch(self, steps: Sequence[OptimizerStep]) -> TracedBatch:
        advantages, mask = self.credit.advantages, self.episodes.mask
        if not all(self.learned):
            mask = mask & torch.tensor(self.learned, device=mask.device).unsqueeze(1)
        rows = range(self.kept)
        last = {row: number for number, step in enumerate(steps) for row in step.log_ratios}
        unread = [torch.zeros(length) for length in self.lengths]
        log_ratios = [steps[last[row]].log_ratios[row] if row in last else unread[row] for row in rows]
        return TracedBatch(
            episodes=len(self.episodes),
            tokens=int(self.mask.sum()),
            mean=float(masked_mean(advantages, mask)),
            sd=math.sqrt(float(masked_variance(advantages, mask))),
            lengths=self.lengths[: self.kept],
            scores=_short(self.credit.scores.scores[: self.kept]),
            token_kl=self._flat(self.token_kl, rows),
            values=self._flat(self.episodes.values, rows),
            whitened=self._flat(self.whitened, rows),
            drifts=self._flat(self.rollout.log_ratio, rows),
            log_ratios=_short(number for row in log_ratios for number in row.tolist()),
            last_steps=[last.get(row) for row in rows],
        )

    def texts(self) -> list[TracedText]:
        """All texts of the prompts of the episodes that are shown, as many prompts as there is room for."""
        size = self.ppo.samples_per_prompt
        traced: list[TracedText] = []
        tokens = 0
        for first in dict.fromkeys(row - row % size for row, _ in self.shown()):
            rows = range(first, first + size)
            tokens += sum(self.lengths[row] for row in rows)
            if traced and (tokens > MOST_OF_TEXTS or len(traced) + size > MOST_TEXTS):
                break
            traced += [self._text(row) for row in rows]
        return traced

    def _text(self, row: int) -> TracedText:
        ids = self.episodes.completion_ids[row, : self.lengths[row]].tolist()
        return TracedText(
            row=row,
            prompt=self.rollout.prompts[row].text[-MOST_PROMPT_PIECES:],
            pieces=[self.piece(token) for token in ids],
            ended=bool(self.episodes.ended[row]),
            alike=self.ppo.samples_per_prompt > 1 and not self.differ[row],
        )

    def steps(self, steps: Sequence[OptimizerStep]) -> list[TracedStep]:
        each = math.ceil(sum(self.learned) / self.ppo.minibatch_size)
        return [
            self._step(step, 1 + number // each, 1 + number % each, last=number % each == each - 1)
            for number, step in enumerate(steps)
        ]

    def _step(self, step: OptimizerStep, epoch: int, minibatch: int, *, last: bool) -> TracedStep:
        seen = step.seen_after or step
        figures = step.figures | {name: seen.figures[name] for name in MEASURED_AFTER}
        rows = sorted(row for row in seen.rows if row < self.kept) if last else []
        return TracedStep(
            epoch=epoch,
            minibatch=minibatch,
            tokens=sum(self.lengths[row] for row in seen.rows),
            clipped=sum(int(self._clipped(row, seen.log_ratios[row]).sum()) for row in seen.rows),
            **{name: figures[name] for name in TracedStep.model_fields if name in figures},
            after=step.seen_after is not None,
            rows=rows,
            log_ratios=_short(number for row in rows for number in self._compared(seen.log_ratios[row]).tolist()),
        )

    def shown(self) -> list[tuple[int, str]]:
        """Which episodes, and why: the best and the worst, the one that drifted most, and one in the middle."""
        scores, drift = self.credit.scores.scores, self.rollout.log_ratio.sum(1).tolist()
        rows = [row for row in range(self.kept) if self.learned[row] and 0 < self.lengths[row] <= MOST_TOKENS // 4]
        by_score = sorted(rows, key=lambda row: scores[row])
        choices = [
            (by_score[-1:], "the highest score"),
            (by_score[:1], "the lowest score"),
            (sorted(rows, key=lambda row: drift[row])[-1:], "the farthest from the reference"),
            (by_score[len(rows) // 2 :][:1], "a score in the middle"),
        ]
        reasons: dict[int, str] = {}
        for some, why in choices:
            for row in some:
                reasons[row] = f"{reasons[row]}, {why}" if row in reasons else why
        return list(reasons.items())

    def episode(self, row: int, why: str, steps: Sequence[OptimizerStep]) -> TracedEpisode:
        episodes, credit = self.episodes, self.credit
        prompt = episodes.prompt_ids[row][episodes.prompt_mask[row]].tolist()
        ids = episodes.completion_ids[row, : self.lengths[row]].tolist()
        has_critic, paid = self.ppo.baseline == "value", credit.rewards.sum(1, keepdim=True)
        return TracedEpisode(
            row=row,
            why=why,
            prompt=self.rollout.prompts[row].text,
            prompt_pieces=[self.piece(token) for token in prompt[-MOST_PROMPT_PIECES:]],
            pieces=[self.piece(token) for token in ids],
            ended=bool(episodes.ended[row]),
            score=credit.scores.scores[row],
            raw_score=credit.scores.raw[row],
            log_probs=self._of(episodes.log_probs, row),
            reference_log_probs=self._of(self.rollout.reference_log_probs, row),
            entropies=self._of(episodes.entropies, row),
            token_kl=self._of(self.token_kl, row),
            leash=self._of(-price(self.settings) * self.token_kl, row),
            rewards=self._of(credit.rewards, row),
            values=self._of(episodes.values, row) if has_critic else [],
            deltas=self._of(self._deltas(), row) if has_critic else [],
            advantages=self._of(credit.advantages, row),
            whitened=self._of(self.whitened, row),
            returns=self._of(credit.returns if has_critic else paid.expand_as(credit.rewards), row),
            passes=[self._pass(row, number, step) for number, step in enumerate(steps) if row in step.log_ratios],
        )

    def _deltas(self) -> Tensor:
        """delta_t = r_t + gamma V_{t+1} - V_t, which is what GAE with lambda = 0 gives."""
        credit, episodes = self.credit, self.episodes
        return generalised_advantages(credit.rewards, episodes.values, episodes.mask, self.ppo.gamma, 0.0)[0]

    def _pass(self, row: int, number: int, step: OptimizerStep) -> TracedPass:
        log_ratio, values, length = step.log_ratios[row], step.values[row], self.lengths[row]
        old, returns = (tensor[row, :length].cpu() for tensor in (self.episodes.values, self.credit.returns))
        compared, advantages = self._compared(log_ratio), self.whitened[row, :length]
        clips = self.ppo.clip_range, self.ppo.clip_range_high
        return TracedPass(
            step=number,
            ratios=_short(compared.exp().tolist()),
            clipped=self._clipped(row, log_ratio).tolist(),
            policy_losses=_short(policy_loss(compared, advantages, *clips).tolist()),
            loss_kls=_short(self._loss_kls(row, log_ratio).tolist()),
            values=_short(values.tolist()),
            value_losses=_short(value_loss(values, old, returns, self.ppo.value_clip_range).tolist()),
        )

    def _compared(self, log_ratio: Tensor) -> Tensor:
        """Of the tokens of one episode."""
        return compared_log_ratio(self.ppo.ratio, log_ratio, torch.ones_like(log_ratio, dtype=torch.bool)[None])

    def _clipped(self, row: int, log_ratio: Tensor) -> Tensor:
        advantages = self.whitened[row, : self.lengths[row]]
        return clipped_tokens(self._compared(log_ratio), advantages, self.ppo.clip_range, self.ppo.clip_range_high)

    def _loss_kls(self, row: int, log_ratio: Tensor) -> Tensor:
        """Of the tokens of one episode, as the loss counts it; none where the leash is in the reward."""
        if self.kl.where == "reward":
            return log_ratio.new_empty(0)
        drift = log_ratio + self.rollout.log_ratio[row, : self.lengths[row]].cpu()
        return loss_kl(self.kl.estimator, drift, drift, log_ratio)

    def _of(self, tensor: Tensor, row: int) -> list[float]:
        return self._flat(tensor, [row])

    def _flat(self, tensor: Tensor, rows: Iterable[int]) -> list[float]:
        """The real tokens of some episodes, one behind the other."""
        return _short(number for row in rows for number in tensor[row, : self.lengths[row]].tolist())


def _kept(lengths: Sequence[int], group: int) -> int:
    """How many episodes, whole prompts, the lists of the batch have room for."""
    kept, tokens = 0, 0
    for row, length in enumerate(lengths, 1):
        tokens += length
        if tokens > MOST_TOKENS:
            break
        if row % group == 0:
            kept = row
    return kept


def _short(numbers: Iterable[float]) -> list[float]:
    """As many digits as a float32 has."""
    return [float(f"{number:.8g}") for number in numbers]
