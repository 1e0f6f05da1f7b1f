"""The model service: answers prompts that a person types, from the reference and from the policy, with the same luck.

It reads one JSON question a line, of one of the kinds in QUESTIONS, and says JSON lines: one for each answer as it
comes (of `compare`: each completion), then `done`, or `error` with a sentence. It leaves when idle, or when nobody asks
any more. Its process is `answering`, the client `playground.runs.model_service`.
"""

from __future__ import annotations

import errno
import json
import os
import queue
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from playground import catalog
from playground.config import ModelConfig, PromptsConfig, RunConfig, SamplingConfig
from playground.config_io import from_dict
from playground.errors import PlaygroundError, PromptsUnusable, RunNotFound, in_words
from playground.redaction import redact
from playground.runs import checkpoints
from playground.runs.directory import RunDirectory
from playground.runs.evidence import DISK_WORDS
from playground.sources.weight_files import read_json
from playground.training import evaluation, guard, loading, saving, workbench
from playground.training.chat import PromptForm
from playground.training.models import LanguageModel, Tokens
from playground.training.preview import preview
from playground.training.prompts import Prompt
from playground.training.rewards import check as reward_check
from playground.training.rewards import models as reward_models
from playground.training.scoring import Scorer
from playground.training.streams import derived_seed

MAX_SAMPLES = 32
MAX_PROMPT_CHARACTERS = 4000


class Subject(NamedTuple):
    """What can be asked: the model before training, and the policy of a run with its scorer (None for a plain model).

    `anchor` is what the KL is measured from: the same as `reference`, unless the run named another one. `prompts` says
    in which form a prompt is put.
    """

    tokens: Tokens
    reference: LanguageModel
    anchor: LanguageModel
    policy: LanguageModel | None
    scorer: Scorer | None
    sampling: SamplingConfig
    prompts: PromptsConfig


class Service:
    """Keeps the last subject loaded, so that a second question is quick."""

    def __init__(self) -> None:
        self._key: tuple[str, ...] = ()
        self._subject: Subject | None = None
        self.bench = workbench.Bench()

    def compare(self, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Completions of one prompt by reference and policy, in turns.

        Raises:
            PlaygroundError: with a sentence for the person.
        """
        subject = self._load(Path(question["source"]), question["source"])
        prompt = _checked_prompt(question["prompt"], subject, question["max_new_tokens"])
        count = max(1, min(int(question["num_samples"]), MAX_SAMPLES))
        seeds = [derived_seed(int(question["seed"]), "question", number) for number in range(count)]
        asked = {key: question[key] for key in ("temperature", "max_new_tokens") if question[key]}
        sampling = subject.sampling.model_copy(update=asked)
        sides = {"reference": subject.reference, "policy": subject.policy}
        for number in range(count):
            for side, model in sides.items():
                if model is None:
                    continue
                anchor = None if model is subject.anchor else subject.anchor
                episodes, kl = evaluation.answer(model, anchor, subject.tokens, [prompt], [seeds[number]], sampling, 1)
                completions, ended = episodes.texts(subject.tokens), episodes.ended.tolist()
                scores = subject.scorer([prompt.text], completions, ended) if subject.scorer else None
                yield {
                    "side": side,
                    "index": number,
                    "completion": completions[0],
                    "score": scores.scores[0] if scores else None,
                    "scores": {name: values[0] for name, values in scores.terms.items()} if scores else {},
                    "kl": kl[0],
                    "tokens": int(episodes.lengths[0]),
                    "ended": ended[0],
                }

    def prompts(self, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What a run of the configuration `config` (plain data) would read as its prompts: see `preview`.

        Raises:
            PlaygroundError: with a sentence for the person.
        """
        yield preview(from_dict(question["config"]))

    def untrained(self, wanted: ModelConfig) -> Subject:
        """The model of a configuration before training, kept like any other subject."""
        key = ("model", wanted.model_dump_json())
        if self._subject is None or key != self._key:
            self._subject = None  # free the old weights first
            self._subject = _load_model(wanted.source, wanted)
            self._key = key
        return self._subject

    def _load(self, path: Path, source: str) -> Subject:
        run = RunDirectory(path)
        is_run = run.config_path.is_file()
        checkpoint = run.latest_checkpoint() if is_run else None
        key = (source, str(checkpoint), str(checkpoint.stat().st_mtime_ns) if checkpoint else "")
        if self._subject is None or key != self._key:
            self._subject = None  # free the old weights first
            self._subject = _load_run(run, checkpoint) if is_run else _load_model(source)
            self._key = key
        return self._subject


def _check_rewards(service: Service, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The self-test of the learned rewards of a configuration (`config`, as plain data); see `reward_check.check`."""
    outputs = Path(question["outputs"]) if question.get("outputs") else None
    yield from reward_check.check(from_dict(question["config"]), outputs, question.get("pairs"))


def _save(service: Service, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from saving.answer(question)


QUESTIONS: dict[str, Callable[[Service, dict[str, Any]], Iterator[dict[str, Any]]]] = {
    "compare": Service.compare,
    "prompts": Service.prompts,
    "reward-check": _check_rewards,
    "save": _save,
    "reference-samples": workbench.reference_samples,
    "rewards-score": workbench.rewards_score,
}


def _load_run(run: RunDirectory, checkpoint: Path | None) -> Subject:
    if checkpoint is None:
        raise RunNotFound(
            f"The run `{run.id}` has not saved any weights yet. Ask again after its first checkpoint "
            "(checkpoint.every) or when it has ended."
        )
    config: RunConfig = run.config()
    device = loading.device_of("auto")
    policy, tokens = loading.load(checkpoints.check(checkpoint), device, config.model)
    if policy.has_adapter:
        reference = policy.frozen_copy()
    else:
        folder = catalog.model_folder(config.model.source, config.model.revision)
        reference, _ = loading.load(folder, device, config.model)
    anchor = reference
    if config.reference.source != catalog.START:
        folder = checkpoints.check(catalog.reference_folder(config.reference.source, run.path.parent))
        anchor, _ = loading.load(folder, device, config.model)
    facts = read_json(checkpoint / "trainer.json")
    scorer = Scorer(config, build=reward_models.builder(device, run.path.parent)).restore(facts)
    return Subject(tokens, reference, anchor, policy, scorer, config.sampling, config.prompts)


def _load_model(source: str, config: ModelConfig = loading.AS_IT_IS) -> Subject:
    model, tokens = loading.load(catalog.model_folder(source, config.revision), loading.device_of("auto"), config)
    return Subject(tokens, model, model, None, None, SamplingConfig(), PromptsConfig())


def _checked_prompt(text: str, subject: Subject, max_new_tokens: int | None) -> Prompt:
    text = str(text).rstrip()
    if not text:
        raise PromptsUnusable("The prompt is empty. Type the beginning of a text.")
    if len(text) > MAX_PROMPT_CHARACTERS:
        raise PromptsUnusable(f"The prompt is longer than {MAX_PROMPT_CHARACTERS} characters. Shorten it.")
    ids = PromptForm(subject.tokens, subject.prompts).ids(text)
    room = subject.reference.context_length - int(max_new_tokens or subject.sampling.max_new_tokens)
    if len(ids) > room:
        raise PromptsUnusable(f"The prompt has {len(ids)} tokens and the model has room for {room}. Shorten it.")
    return Prompt(text, ids)


def serve(lines: IO[str], say: Callable[..., None], idle_seconds: float) -> int:
    """Answer the questions on `lines` until there is none for too long, or never one again; the exit code."""
    service = Service()
    questions: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_lines, args=(lines, questions), daemon=True).start()
    while True:
        try:
            line = questions.get(timeout=idle_seconds)
        except queue.Empty:
            return 0
        if not line:
            return 0
        question = json.loads(line)
        guard.answering(question["id"])
        try:
            for answer in QUESTIONS[question["kind"]](service, question):
                say(id=question["id"], event="answer", answer=answer)
            say(id=question["id"], event="done")
        except Exception as error:
            if not isinstance(error, PlaygroundError):
                traceback.print_exc()
            say(id=question["id"], event="error", message=redact(_in_words(error)))


def _in_words(error: Exception) -> str:
    if isinstance(error, (PlaygroundError, OSError)):
        return in_words(error)
    if any(words in str(error) for words in DISK_WORDS):  # of a library in another language
        return in_words(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    return f"The model could not answer: {type(error).__name__}: {error}"


def _read_lines(stream: IO[str], lines: queue.Queue[str]) -> None:
    """Lines -> queue; an empty one when the client has gone."""
    for line in stream:
        lines.put(line)
    lines.put("")
