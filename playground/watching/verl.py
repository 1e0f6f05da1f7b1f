"""Following the files of a training by verl (0.9.1): the JSON lines of its `FileLogger`, and the dumps of the texts
that it learns from (`trainer.rollout_data_dir`) and validates on (`trainer.validation_data_dir`), one for each step."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import EvaluationConfig
from playground.imports import log_files
from playground.plain_files import read_bytes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import JsonlTail
from playground.runs.folder.records import LARGEST, Sample, Stage
from playground.runs.folder.rollout_records import ScoredTexts, record_of
from playground.watching.watched_run import WatchedFacts, WatchedRun

TRAINER = "verl"
STORY = "Trained by another program (verl); here it is only watched."
SECONDS = "timing_s/step"
LOOK_SECONDS = 1.0
MOST_PROMPTS = 64  # of a validation set: the first ones
MOST_BYTES = 100_000_000  # of a dump
TEXTS_KEPT = EvaluationConfig().rollout_texts


class Sources(NamedTuple):
    """Where a training writes."""

    log: Path
    rollouts: Path | None = None
    validation: Path | None = None


class Dump(NamedTuple):
    """Texts of one step."""

    prompts: list[str]
    completions: list[str]
    scores: list[float | None]


def watch(
    sources: Sources, updates: int, model: str, outputs: Path, name: str, *, once: bool
) -> tuple[RunDirectory, bool]:
    """Follow a training until its last step, or Ctrl-C; `once`: as far as it is there. The run, and whether it has
    finished. Raises: see `WatchedRun`."""
    settings = {"model": {"source": model}} if model else {}
    run = WatchedRun(outputs, name, WatchedFacts(TRAINER, STORY, updates, settings))
    files = Files(sources, updates, run)
    try:
        while files.look() < updates and not once:
            time.sleep(LOOK_SECONDS)
        why = ""
    except KeyboardInterrupt:
        why = "Whether it goes on is not known here."
    files.look_at_dumps()
    return run.run, run.end(why)


class Files:
    """What has been read of them so far."""

    def __init__(self, sources: Sources, updates: int, run: WatchedRun) -> None:
        self._sources, self._updates, self._run = sources, updates, run
        self._tail = JsonlTail(sources.log)
        self._step, self._seconds = 0, 0.0
        self._dumps_seen: set[Path] = set()
        self._prompt_ids: dict[str, int] = {}

    def look(self) -> int:
        """Take what is new; the newest step."""
        for _, line in self._tail.lines():
            row = _object(line)
            if row is None or not isinstance(step := row.get("step"), int):
                continue
            figures = log_files.numbers(log_files.flat(row))
            took = figures.get(SECONDS)
            self._seconds += took or 0.0
            self._run.log(step, figures, seconds=None if took is None else self._seconds)
            self._step = max(self._step, step)
        self.look_at_dumps()
        return self._step

    def look_at_dumps(self) -> None:
        """The texts of the steps that are new, in their order. A dump is written before the figures of its step."""
        for path in self._new(self._sources.validation):
            self._validate(int(path.stem), read_dump(path))
        for path in self._new(self._sources.rollouts):
            self._learn_from(int(path.stem), read_dump(path))

    def _new(self, folder: Path | None) -> list[Path]:
        found = [] if folder is None else [path for path in folder.glob("*.jsonl") if path.stem.isdecimal()]
        new = [path for path in found if path not in self._dumps_seen and int(path.stem) <= self._step]
        self._dumps_seen.update(new)
        return sorted(new, key=lambda path: int(path.stem))

    def _validate(self, step: int, dump: Dump) -> None:
        """Answers to the prompts of the first validation: those are fixed."""
        stage: Stage = "before" if step == 0 else "after" if step >= self._updates else "during"
        if not self._prompt_ids:
            self._prompt_ids = {text: number for number, text in enumerate(list(dict.fromkeys(dump.prompts)))}
        asked: Counter[str] = Counter()
        samples = []
        for prompt, completion, score in zip(*dump, strict=True):
            number = self._prompt_ids.get(prompt, MOST_PROMPTS)
            if number < MOST_PROMPTS:
                facts: dict[str, Any] = {"prompt_id": number, "seed": asked[prompt], "score": score, "kl": None}
                samples.append(Sample(update=step, stage=stage, prompt=prompt, completion=completion, **facts))
                asked[prompt] += 1
        self._run.samples(samples)

    def _learn_from(self, step: int, dump: Dump) -> None:
        scores = [score for score in dump.scores if score is not None]
        if scores and len(scores) == len(dump.scores):
            self._run.rollout(record_of(ScoredTexts(dump.prompts, dump.completions, scores, None), step, TEXTS_KEPT))


def read_dump(path: Path) -> Dump:
    """A dump, without lines that are none. Raises: OSError."""
    lines = map(_object, read_bytes(path, MOST_BYTES, links=True).splitlines())
    rows = [row for row in lines if row and isinstance(row.get("input"), str) and isinstance(row.get("output"), str)]
    scores = [_score(row.get("score")) for row in rows]
    return Dump([row["input"] for row in rows], [row["output"] for row in rows], scores)


def _score(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and -LARGEST <= value <= LARGEST
    return float(value) if is_number else None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
