"""The model service: answers prompts that a person types, by the model before training and by the policy, with
the same random numbers. `python -m playground.training.service.questions [--idle-seconds N]`

It reads one JSON question a line, of one of the kinds in QUESTIONS, and says JSON lines: one for each answer as it
comes (of `compare`: each completion), then `done`, or `error` with a sentence. It leaves when idle, or when its client
(`playground.runs.model_service`) has gone.
"""

from __future__ import annotations

import argparse
import errno
import functools
import json
import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from playground import redaction
from playground.config.local_only import shareable
from playground.config.yaml_io import from_dict
from playground.errors import PlaygroundError, PromptsUnusable, in_words
from playground.rewards import trying
from playground.runs.folder.exit_reasons import DISK_WORDS
from playground.runs.model_service import PROGRAM_SECONDS, STOP
from playground.setup.limits import MOST_SAMPLES
from playground.training.data.preview import preview
from playground.training.data.prompts import Prompt
from playground.training.data.random_streams import derived_seed
from playground.training.models import export_weights, gguf_conversion, time_limit
from playground.training.models.chat import PromptForm
from playground.training.rewards import format_check
from playground.training.service import frontier_drawing, pair_drawing, reward_bench, what_if, word_moves
from playground.training.service.subjects import Subject, Subjects

TESTED_SAMPLES = 64  # completions that the self-test of a reward model scores
MAX_PROMPT_CHARACTERS = 4000


class Service:
    """Keeps what it has loaded and found out, so that a second question is quick."""

    def __init__(self) -> None:
        self.subjects = Subjects()
        self.bench = reward_bench.Bench(self.subjects)

    def compare(self, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Completions of one prompt by reference and policy, in turns. Raises: PlaygroundError."""
        subject = self.subjects.named(question["source"])
        prompt = _checked_prompt(question["prompt"], subject, question["max_new_tokens"])
        count = max(1, min(int(question["num_samples"]), MOST_SAMPLES))
        seeds = [derived_seed(int(question["seed"]), "question", number) for number in range(count)]
        asked = {key: question[key] for key in ("temperature", "max_new_tokens") if question[key]}
        sampling = subject.sampling.model_copy(update=asked)
        for number, seed in enumerate(seeds):
            for side in ("reference", "policy") if subject.policy else ("reference",):
                given = subject.answer(side, prompt, seed, sampling)
                yield {
                    "side": side,
                    "index": number,
                    "completion": given.completion,
                    "score": given.score,
                    "scores": given.scores,
                    "kl": given.kl,
                    "tokens": int(given.episodes.lengths[given.row]),
                    "ended": bool(given.episodes.ended[given.row]),
                }

    def prompts(self, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What a run of the configuration `config` (plain data) would read as its prompts: see `preview`."""
        yield preview(from_dict(question["config"]))


def _check_rewards(service: Service, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The self-test of the learned rewards of a configuration (`config`, as plain data); see
    `train.rewards.format_check`."""
    outputs = Path(question["outputs"]) if question.get("outputs") else None
    config = from_dict(question["config"])
    drawn = yield from service.bench.draw(trying.reference_of(config, TESTED_SAMPLES))
    references = list(zip(drawn.prompts, drawn.completions, strict=True))
    yield from format_check.check(config, references, outputs, question.get("pairs"))


QUESTIONS: dict[str, Callable[[Service, dict[str, Any]], Iterator[dict[str, Any]]]] = {
    "compare": Service.compare,
    "prompts": Service.prompts,
    "reward-check": _check_rewards,
    "save": lambda service, question: export_weights.answer(question),
    "convert": lambda service, question: gguf_conversion.answer(question),
    "reference-samples": lambda service, question: service.bench.reference_samples(question),
    "frontier-samples": lambda service, question: frontier_drawing.frontier_samples(service.subjects, question),
    "pairs": lambda service, question: pair_drawing.pairs(service.subjects, question),
    "word-moves": lambda service, question: word_moves.answer(question),
    "what-if": lambda service, question: what_if.answer(question),
    "rewards-score": lambda service, question: service.bench.rewards_score(question),
}


def _checked_prompt(text: str, subject: Subject, max_new_tokens: int | None) -> Prompt:
    text = str(text).encode("utf-8", "replace").decode().rstrip()  # half a surrogate pair: no tokenizer reads it
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
    stopped: set[int] = set()
    threading.Thread(target=_read_lines, args=(lines, questions, stopped), daemon=True).start()
    while True:
        try:
            line = questions.get(timeout=idle_seconds)
        except queue.Empty:
            return 0
        if not line:
            return 0
        question = json.loads(line)
        service.bench.tell = functools.partial(_tell, say, question["id"])
        try:
            for answer in QUESTIONS[question["kind"]](service, question):
                if question["id"] in stopped:
                    break
                _tell(say, question["id"], answer)
            say(id=question["id"], event="done")
        except Exception as error:
            if not isinstance(error, PlaygroundError):
                traceback.print_exc()
            say(id=question["id"], event="error", message=shareable(_in_words(error)))


def _tell(say: Callable[..., None], number: int, answer: dict[str, Any]) -> None:
    say(id=number, event="answer", answer=answer)


def say_to(out: IO[str], **message: Any) -> None:
    """Say one thing to the client."""
    out.write(json.dumps(message) + "\n")
    out.flush()


def _in_words(error: Exception) -> str:
    if isinstance(error, (PlaygroundError, OSError)):
        return in_words(error)
    if any(words in str(error) for words in DISK_WORDS):  # of a library in another language
        return in_words(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    return f"The model could not answer: {type(error).__name__}: {error}"


def _read_lines(stream: IO[str], lines: queue.Queue[str], stopped: set[int]) -> None:
    """Lines -> queue, an empty one when the client has gone; ids of questions that are not wanted any more -> set."""
    for line in stream:
        if (message := json.loads(line))["kind"] == STOP:
            stopped.add(message["id"])
        else:
            lines.put(line)
    lines.put("")


def main() -> int:
    """Be the process of the service."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle-seconds", type=float, default=300)
    idle_seconds = parser.parse_args().idle_seconds
    out, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints must not get between our lines
    redaction.cover_streams()
    time_limit.begin(PROGRAM_SECONDS)
    return serve(sys.stdin, functools.partial(say_to, out), idle_seconds)


if __name__ == "__main__":
    sys.exit(main())
