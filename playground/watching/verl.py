"""Following the files of a training by verl (0.9.1): the JSON lines of its `FileLogger`, or what its terminal shows,
and the dumps of the texts that it learns from (`trainer.rollout_data_dir`) and validates on
(`trainer.validation_data_dir`), one for each step."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from playground.config import EvaluationConfig
from playground.errors import InvalidConfig, Problem
from playground.imports import log_files
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import JsonlTail, stamps
from playground.runs.folder.records import Count, Maybe, Record, Sample, Stage
from playground.runs.folder.rollout_records import ScoredTexts, record_of
from playground.watching.watched_run import WatchedFacts, WatchedRun

SECONDS = "timing_s/step"
LOOK_SECONDS = 1.0
LAST_LOOKS = 5  # after the last step: verl may still be writing its dumps
MOST_PROMPTS = 64  # of a validation set: the first ones
TEXTS_KEPT = EvaluationConfig().rollout_texts


class Sources(NamedTuple):
    """Where a training writes."""

    log: Path
    rollouts: Path | None = None
    validation: Path | None = None


class LogLine(Record):
    """A step in its log."""

    step: Count
    data: dict[str, Any]


class DumpLine(Record):
    """A text in a dump."""

    input: str
    output: str
    score: Maybe = None


def _step_of(text: bytes) -> LogLine | None:
    """A step with its figures, if a line is one."""
    with contextlib.suppress(ValidationError):
        return LogLine.model_validate_json(text)
    row = next(log_files.of_terminal(text.decode(errors="replace")), {})
    if row.get("step") is None or b"{" in text:
        return None
    return LogLine(step=int(row["step"] or 0), data=row)


def watch(
    sources: Sources, updates: int, model: str, outputs: Path, name: str, *, once: bool
) -> tuple[RunDirectory, bool]:
    """Follow a training until its last step, or Ctrl-C; `once`: as far as it is there. The run, and whether it has
    finished. Raises: see `WatchedRun`; InvalidConfig, if there is to be something and no step is there."""
    if once and not any(_step_of(line) for _, line in JsonlTail(sources.log).lines()):
        words = f"{sources.log} is not there, or no line of it is a step of verl: {{...}} of its `file` logger, or"
        raise InvalidConfig([Problem("FILE", f"{words} `step:1 - ...` of its terminal.")])
    settings = {}
    if model:
        settings["model"] = {"source": model}
    run = WatchedRun(outputs, name, WatchedFacts("verl", updates, settings))
    files = Files(sources, updates, run, waits=not once)
    why = ""
    try:
        while files.look() < updates and not once:
            time.sleep(LOOK_SECONDS)
        if not once:
            for _ in range(LAST_LOOKS):
                time.sleep(LOOK_SECONDS)
                files.look()
    except KeyboardInterrupt:
        why = "Whether it goes on is not known here."
    return run.run, run.end(why)


class Files:
    """What has been read of them so far. `waits`: a dump is read once it has stopped growing, for a thread of verl
    writes it, beside the figures of its step."""

    def __init__(self, sources: Sources, updates: int, run: WatchedRun, *, waits: bool) -> None:
        self._sources, self._updates, self._run, self._waits = sources, updates, run, waits
        self._tail = JsonlTail(sources.log)
        self._step, self._seconds = 0, 0.0
        self._dumps_seen: set[Path] = set()
        self._stamps: dict[Path, tuple[int, ...]] = {}  # of dumps at the last look
        self._prompt_ids: dict[str, int] = {}

    def look(self) -> int:
        """Take what is new; the newest step."""
        for line in filter(None, (_step_of(text) for _, text in self._tail.lines())):
            figures = log_files.numbers(line.data)
            took, seconds = figures.get(SECONDS), None
            if took is not None:
                self._seconds += took
                seconds = self._seconds
            self._run.log(line.step, figures, seconds=seconds)
            self._step = line.step
        for path in self._new_dumps(self._sources.validation):
            self._validate(int(path.stem), JsonlTail(path).read_records(DumpLine))
        for path in self._new_dumps(self._sources.rollouts):
            self._learn_from(int(path.stem), JsonlTail(path).read_records(DumpLine))
        return self._step

    def _new_dumps(self, folder: Path | None) -> list[Path]:
        """Those of steps that the log has, in their order, as far as they are whole."""
        if folder is None:
            return []
        dumps = [path for path in folder.glob("*.jsonl") if path.stem.isdecimal()]
        now = {path: stamps(path) for path in dumps if path not in self._dumps_seen and int(path.stem) <= self._step}
        new = [path for path, stamp in now.items() if not self._waits or self._stamps.get(path) == stamp]
        self._stamps |= now
        self._dumps_seen.update(new)
        return sorted(new, key=lambda path: int(path.stem))

    def _validate(self, step: int, lines: Sequence[DumpLine]) -> None:
        """Answers to the prompts of the first validation: those are fixed."""
        stage: Stage = "during"
        if step == 0:
            stage = "before"
        elif step >= self._updates:
            stage = "after"
        if not self._prompt_ids:
            prompts = dict.fromkeys(line.input for line in lines)
            self._prompt_ids = {prompt: number for number, prompt in enumerate([*prompts][:MOST_PROMPTS])}
        count_by_prompt: Counter[str] = Counter()
        samples = []
        for line in lines:
            if line.input in self._prompt_ids:
                place: dict[str, Any] = {"prompt_id": self._prompt_ids[line.input], "seed": count_by_prompt[line.input]}
                texts = {"prompt": line.input, "completion": line.output}
                samples.append(Sample(update=step, stage=stage, score=line.score, kl=None, **place, **texts))
                count_by_prompt[line.input] += 1
        self._run.writer.samples(samples)

    def _learn_from(self, step: int, lines: Sequence[DumpLine]) -> None:
        scores = [line.score for line in lines if line.score is not None]
        if scores and len(scores) == len(lines):
            prompts, completions = [line.input for line in lines], [line.output for line in lines]
            self._run.writer.rollout(record_of(ScoredTexts(prompts, completions, scores, None), step, TEXTS_KEPT))
