"""One run in the worker: the models, the trainer and the fixed prompts of a configuration, and what they write to disk.
The worker drives it; how a run ends is ending.py's business.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from playground.config import RunConfig
from playground.errors import RewardFailed
from playground.rewards import behaviours, verify
from playground.rewards.behaviours import Behaviours, Marks
from playground.rewards.best_answers import expected_curve
from playground.rewards.mixture import Mixture, mean_known
from playground.runs.folder import changes, requests, traces
from playground.runs.folder import checkpoints as run_checkpoints
from playground.runs.folder.changes import Steering
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.exit_reasons import EARLY
from playground.runs.folder.records import (
    BEST_OF,
    REFERENCE,
    REWARD_MODELS,
    SCORE_SCALE,
    STEERING_VECTOR,
    TRACE,
    Evaluation,
    Stage,
    UpdateMetrics,
)
from playground.runs.folder.writer import RunWriter
from playground.training.loop import held_out_text, measures, rollout_texts, slow_motion
from playground.training.loop.ranks import ALONE, Ranks, StoppedTogether
from playground.training.loop.untrained import Steered
from playground.training.models import checkpoint_files
from playground.training.process import early_stopping, resuming
from playground.training.process.ending import StopRequested
from playground.training.process.equipment import Equipment
from playground.training.process.progress import ANSWERING, LOADING, MEASURING, READING, SAVING, UPDATING, WorkProgress

T = TypeVar("T")
OTHER_PROMPTS = "The fixed prompts are not those of the earlier attempts: before and after now have different prompts."
FIRST_UPDATES = 2  # that say how far they are; afterwards their pace is known
Change = tuple[dict[str, Any], list[str]]  # of live settings: the configuration as plain data, the fields set


class Session(Equipment):
    """The equipment of rank 0, which also writes the run directory, and lets the other ranks do the same."""

    def __init__(
        self, run: RunDirectory, config: RunConfig, writer: RunWriter, between: Callable[[], None], ranks: Ranks = ALONE
    ) -> None:
        self.run, self.writer = run, writer
        self.is_trial = config.kind == "trial"
        self.progress = WorkProgress(between, lambda words: writer.set_status(phase=words), lambda: writer.status.phase)
        self._is_joint = False  # whether the other ranks are in the middle of something with this one
        with self.progress.of_loading(LOADING):
            super().__init__(config, run.path.parent, ranks, self._between)
        for sentence in self.split.warnings:
            self._once("warning", sentence)
        if self.reward_models:
            self._once(REWARD_MODELS, reward_models=self.reward_models)
        for model in self.reward_models:
            if model["doubt"]:
                self._once("warning", f"Reward model {model['source']}: {model['doubt']}")
        texts = held_out_text.read(config.evaluation)
        self.texts = held_out_text.encode(texts, self.tokens, self.policy.context_length)
        self.judges = Mixture.from_config(config.judges, self.build, "judge")
        self.behaviours = Behaviours(behaviours.of_config(config), self.build, self.facts.questions)
        self.fixed_prompts.judge, self.fixed_prompts.watch = self.judge, self.watch
        if spec := verify.first_of((*config.rewards, *config.judges)):
            rows, own = self.facts.columns, self.facts.questions
            self.fixed_prompts.true = lambda prompt: verify.true_answer(spec, prompt, rows, own)
        sizes: dict[str, Any] = {**measures.sizes(self.policy), "prompt_tokens": self.plans.prompt_tokens}
        self._once("model", **sizes, reward_parameters=self.reward_parameters)
        self._ahead: list[tuple[int, changes.Edit]] = []  # changes of earlier attempts that are to be made again
        self._digest = run_checkpoints.digest(config)
        self._live = config  # with the changes that have been made
        self._evaluated: tuple[int, float | None] = (-1, None)  # of the latest: its update, and its worth
        self._looked = 0.0  # seconds of the evaluations since the latest update
        self._latest: UpdateMetrics | None = None
        self._may_stop = True  # by a rule of `stop`
        self._changes: list[Change] = []  # that the other ranks have not heard of

    def _once(self, kind: str, message: str = "", **data: Any) -> None:
        """Record what is the same in every attempt, unless an earlier one has."""
        if self.writer.status.attempt == 1 or not any(
            (event.kind, event.message) == (kind, message) for event in self.run.all_events()
        ):
            self.writer.event(kind, message, **data)

    def _together(self, step: str, **arguments: Any) -> Any:
        """Do something, which is a method of `Equipment`, on all ranks."""
        with self._joint(step, **arguments):
            return getattr(self, step)(**arguments)

    def _alone_or_together(self, step: str) -> Any:
        """Do what needs the other ranks only where the states are divided; else they may be gone, or at work."""
        if self.ranks.divides:
            return self._together(step)
        return getattr(self, step)()

    @contextlib.contextmanager
    def _joint(self, step: str, **arguments: Any) -> Iterator[None]:
        """Let the other ranks do a step as this one does. Where states are divided it is not broken off for a request
        to end the run, but where all ranks break it off; the request is heard then."""
        self._begin_joint(step, **arguments)
        try:
            yield
        except StoppedTogether:
            self._end_joint()
            raise
        self._end_joint()

    def _begin_joint(self, step: str, **arguments: Any) -> None:
        self.ranks.first([step, arguments])
        self._is_joint = self.ranks.divides

    def _end_joint(self) -> None:
        self._is_joint, asked, self.ranks.asked = False, self.ranks.asked, None
        if asked:
            raise asked

    def _between(self) -> None:
        """The heartbeat of a session. Raises: what `between` raises, at once or once it may."""
        try:
            self.progress()
        except StopRequested as asked:
            if not self._is_joint:
                raise
            self.ranks.asked = asked

    def begin(self) -> None:
        """Everything before the first evaluation: go on from where an earlier attempt was, and fix the scale of the
        score where that is not known yet. Raises: ModelNotFound, RunNotResumable; see `resuming.take_up`."""
        scaled = False
        if self.writer.status.attempt > 1:
            taken_up = resuming.take_up(self.run, self.config, self.writer, self.policy, self.trainer, self.scorer)
            self._live, self._ahead, scaled = taken_up
            self._may_stop = early_stopping.holds(self.run.all_events())
            answered = {sample.prompt for sample in self.run.samples()}
            if answered and any(prompt.text not in answered for prompt in self.split.evaluation):
                self._once("warning", OTHER_PROMPTS)
        if self.writer.status.attempt == 1:
            self.fingerprint()
        self._together("share_state")
        if not scaled:
            self.fix_scale()

    def fix_scale(self) -> None:
        """Fix the scale of the score on samples of the reference, and record it. A trial, which is about time and
        memory, takes no more than are written at once."""
        samples, at_once = self.config.scale_samples(self.policy.is_small), self.rows_at_once
        if self.is_trial:
            samples = min(samples, at_once)
        together = self.begins_alike and self.writer.status.attempt == 1
        self.writer.set_status(phase=MEASURING)
        self.progress.begin(MEASURING, self.plans.writing(samples + together * self.fixed_prompts.count, at_once))
        with self._joint("fit_scale", samples=samples):
            scale = self.fit_scale(samples, together)
        self.progress.end()
        if self.scorer.warning:
            self.writer.event("warning", self.scorer.warning)
        data = {"samples": samples, "terms": self.scorer.facts()["terms"], **self.scorer.scale_errors}
        self.writer.event(SCORE_SCALE, self.scorer.scale_in_words, mean=scale.mean, sd=scale.sd, **data)

    def evaluate_and_record(self, stage: Stage) -> None:
        """Answer the fixed prompts and write the samples."""
        clock = time.perf_counter()
        self.progress.begin(ANSWERING, self.plans.evaluation(self.fixed_prompts.count, self.tries(stage)))
        samples, scores, figures = self._together("evaluate", stage=stage)
        if stage != "before" and self.config.answers_each > 1:
            self.writer.event(BEST_OF, **expected_curve(scores, self.config.answers_each)._asdict())
        self.writer.tokens(figures)  # before the samples: an evaluation without them is made again
        self.writer.samples(samples)
        if self.texts:
            self.progress.begin(READING, self.plans.reading(len(self.texts)))
            self.writer.evaluation(self._read_texts(stage))
        self.progress.end()
        worth = mean_known(sample.score for sample in samples), mean_known(sample.kl for sample in samples)
        self._evaluated = self.trainer.updates_done, self._penalised(*worth)
        self._looked += time.perf_counter() - clock

    def evaluate_if_due(self) -> None:
        """The evaluation on the fixed prompts that belongs to the updates done, unless it has been made."""
        done, evaluation = self.trainer.updates_done, self.config.evaluation
        last = done == self.config.ppo.num_updates
        if not last and done % evaluation.every:
            return
        stage: Stage = "before"
        if last:
            stage = "after"
        elif done:
            stage = "during"
        there = sum((item.update, item.stage) == (done, stage) for item in self.run.samples())
        measured = not self.texts or any((i.update, i.stage) == (done, stage) for i in self.run.evaluations())
        if there < self.fixed_prompts.count or not measured:
            self.evaluate_and_record(stage)

    def _read_texts(self, stage: Stage) -> Evaluation:
        clock = time.perf_counter()
        found = held_out_text.perplexity(
            self.policy, self.texts, self.tokens.pad_id, self.config.ppo.micro_batch_size, self.between
        )
        sizes = {"text_documents": found.documents, "text_tokens": found.tokens}
        seconds, done = time.perf_counter() - clock, self.trainer.updates_done
        return Evaluation(update=done, stage=stage, perplexity_text=found.perplexity, seconds=seconds, **sizes)

    def judge(self, prompts: Sequence[str], completions: Sequence[str]) -> Mapping[str, Sequence[float | None]]:
        """What the monitors say. Raises: see `_or_warned`."""
        return self._or_warned("The monitors could not score", lambda: self.judges.measure(prompts, completions))

    def watch(self, prompts: Sequence[str], completions: Sequence[str], ended: Sequence[bool]) -> Marks:
        """Which behaviours the completions show. Raises: see `_or_warned`."""
        return self._or_warned(
            "The behaviours could not be counted", lambda: self.behaviours(prompts, completions, ended)
        )

    def _or_warned(self, what: str, measure: Callable[[], Mapping[str, T]]) -> Mapping[str, T]:
        """Monitors and behaviours. A failure once training has begun is a warning and no reason to stop.

        Raises: RewardFailed: before the first update.
        """
        try:
            return measure()
        except RewardFailed as error:
            if not self.trainer.updates_done:
                raise
            self.writer.event("warning", f"{what} after update {self.trainer.updates_done}. {error}")
            return {}

    def train(self) -> None:
        """All updates; between two of them requests are taken (see `runs.folder.changes`), the fixed prompts answered,
        and the weights saved, as the configuration asks."""
        config, first = self.config, self.trainer.updates_done

        def after_update(metrics: UpdateMetrics) -> None:
            self.progress.end()
            self.record(metrics)
            self._end_joint()
            if self.write_trace():
                steering.trace_asked = False
            last = metrics.update == config.ppo.num_updates
            rules = None if last or not self._may_stop else self.trainer.config
            why = early_stopping.after_update(rules, metrics) if rules else ""
            if last or why or metrics.update % config.evaluation.every == 0:
                self.evaluate_and_record("after" if last else "during")
                if rules and not why:
                    why = early_stopping.after_evaluation(rules, self.run, metrics.update)
            if last or why or (config.checkpoint.every and metrics.update % config.checkpoint.every == 0):
                self.save()
            if why:
                self.fingerprint()
                raise StopRequested(EARLY, why)

        steering = Steering(self.writer, self._live, self.change, self.between, self._ahead)

        def before_update() -> None:
            clock = time.perf_counter()
            try:
                steering.before_update()
            finally:  # also where the run is stopped in a pause: its last checkpoint holds the seconds too
                self.trainer.rested(time.perf_counter() - clock)
            self._begin_joint("update", changes=self._changes, trace=steering.trace_asked)
            self._changes = []
            if self.trainer.updates_done < first + FIRST_UPDATES:
                self.progress.begin(f"{UPDATING} {self.trainer.updates_done + 1}", self.plans.update())
            slow_motion.record_if_due(self.trainer, asked=steering.trace_asked)

        try:
            self.trainer.train(after_update, before_update)
        except StoppedTogether:
            self._end_joint()
            raise

    def change(self, config: RunConfig, fields: Collection[str]) -> None:
        """Go on with other live settings from the next update, on all ranks."""
        self.trainer.change(config, fields)
        self._may_stop |= any(field.startswith("stop.") for field in fields)
        self._changes.append((config.model_dump(mode="json"), sorted(fields)))

    def record(self, metrics: UpdateMetrics) -> None:
        """The line of metrics of one update, and what the trainer has to say about it."""
        config, self._latest = self.config, metrics.model_copy(update={"seconds_evaluation": self._looked})
        self._looked = 0.0
        kept = rollout_texts.kept(self.trainer.scored, metrics.update, config.seed, config.evaluation.rollout_texts)
        if kept:  # before the figures: of an update that a chart shows the texts can be opened
            self.writer.rollout(kept)
        self.writer.metrics(self._latest)
        self.writer.set_status(update=metrics.update)
        data = {}
        if self.trainer.skipped:
            data["skipped"] = True
        for warning in self.trainer.warnings:
            self.writer.event("warning", warning, **data)
        self.trainer.warnings = []
        if isinstance(self.trainer, Steered) and self.trainer.found:
            self.writer.event(STEERING_VECTOR, **self.trainer.found)
            self.trainer.found = {}

    def write_trace(self) -> bool:
        """The update behind us in slow motion, if it was recorded. Returns whether it was."""
        trace = slow_motion.trace_of(self.trainer)
        if trace:
            name = traces.write(self.run, trace.model_copy(update={"attempt": self.writer.status.attempt}))
            self.writer.event(TRACE, file=name)
        return trace is not None

    def save(self) -> None:
        """Write the state of training as it is now, if all of it is finite; keep the newest few and the best.

        A state that is on disk already is not written again, nor one in the middle of the next update over a whole one.
        """
        folder, done = self.run.checkpoints_path, self.trainer.updates_done
        optimizer, facts = self._alone_or_together("state")
        models = self.policy, self.trainer.critic
        learned = [weight for model in models if model is not None for _, weight in checkpoint_files.trained(model)]
        if not all(map(checkpoint_files.is_finite, [*learned, *(optimizer or {}).values()])):
            self.writer.event("warning", "Some weights are not finite and were not saved. The last checkpoint is kept.")
            return
        target = folder / run_checkpoints.name_of(done)
        if run_checkpoints.can_go_on(target):
            return
        self.writer.flush()  # what led here reaches the disk first
        facts = {
            "update": done,
            **self.scorer.facts(),
            **self._worth(),
            **facts,
            "attempt": self.writer.status.attempt,
            "config_sha256": self._digest,
            run_checkpoints.RUN_KEY: requests.of(self.run).key,
            run_checkpoints.OBJECTIVE: run_checkpoints.digest_of_objective(self.config),
        }
        self.progress.begin(SAVING)
        saved = checkpoint_files.save(target, *models, self.tokens, facts, optimizer, self.progress.at)
        self.progress.end()
        if problem := run_checkpoints.problem_of(saved, just_read=True):
            self.writer.event("warning", f"The checkpoint {saved.name} could not be read back ({problem}).")
            run_checkpoints.set_aside([saved])
            return
        if done == self.config.ppo.num_updates:
            self.fingerprint()
        run_checkpoints.prune(folder, self.config.checkpoint.keep)
        self.writer.event("checkpoint", folder=saved.name)

    def fingerprint(self) -> None:
        """Record what the weights of the reference are, to see later whether they have stayed so."""
        self.writer.event(
            REFERENCE, update=self.trainer.updates_done, fingerprint=self._alone_or_together("fingerprint_of_reference")
        )

    def _worth(self) -> dict[str, Any]:
        """What the best checkpoint is chosen by: on the fixed prompts where they were just answered, else in the
        update's own batch. At the configured beta throughout, so that two checkpoints are measured alike."""
        done, latest = self.trainer.updates_done, self._latest
        if self._evaluated[0] == done:
            return {run_checkpoints.BEST_BY: self._evaluated[1], "measured_on": "fixed prompts"}
        if latest is None or latest.update != done:
            return {run_checkpoints.BEST_BY: None, "measured_on": "nothing"}
        value = self._penalised(latest.score_mean, latest.kl_to_reference)
        return {run_checkpoints.BEST_BY: value, "measured_on": "training batch"}

    def _penalised(self, score: float | None, kl: float | None) -> float | None:
        if score is None or kl is None:
            return None
        return score - self.config.kl.coef * kl
