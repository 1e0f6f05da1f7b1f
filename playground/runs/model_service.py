"""The client of the model service: one child process that generates and scores text on demand.

The service (`playground.training.service.questions`) holds torch; this side speaks JSON lines with it. It is started at
the first question, leaves by itself when idle, and is started again when it has gone.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from playground.errors import ServiceUnavailable
from playground.runs.children import PROJECT, torch_environment
from playground.runs.folder.files import private

START_TIMEOUT_SECONDS = 90
ANSWER_TIMEOUT_SECONDS = 120
LEAVING_SECONDS = 5.0
SERVICE_MODULE = "playground.training.service.questions"
STOP = "stop"  # in the place of a question's kind: no more answers to it are wanted
LOG = ".model-service.log"  # in the outputs folder
MAX_LOG_BYTES = 1_000_000
# Questions that are answered or wait: each holds one of the 40 threads in which Gradio runs all that a page is asked.
MOST_QUESTIONS = 16
BUSY = "Many questions are waiting for the process that answers prompts. Try again in a little while."
PROGRAM_SECONDS = 20.0  # that a tokenizer, a template or a configuration may take in the service (`time_limit`)
SLOW = (
    f"A tokenizer, template, configuration or GGUF file was ended at its limit of {PROGRAM_SECONDS:.0f} seconds, after "
    "{:.0f} seconds in all. If the machine is busy, try again when it is less so; else choose another model."
)
LATE = (
    "The model did not answer in time ({:.0f} seconds). Try again when the machine is less busy, or with fewer samples."
)
GONE = "The process that answers prompts ended unexpectedly. Try again; if it happens again, choose another model."


class GeneratedSample(NamedTuple):
    """One completion. `score` is normalised as in the run; `kl` is its exact KL to the reference, in nats."""

    side: Literal["reference", "policy"]
    index: int  # type: ignore[assignment]  # it hides tuple.index, which is not needed here
    completion: str
    score: float | None
    scores: dict[str, float | None]
    kl: float
    tokens: int
    ended: bool


class ModelService:
    """Talks to the service process. Thread-safe: one question at a time, the others wait, up to `MOST_QUESTIONS`. What
    the process prints is kept in `outputs`."""

    def __init__(self, outputs: Path | None = None) -> None:
        self._outputs = outputs
        self._lock = threading.Lock()
        self._places = threading.Semaphore(MOST_QUESTIONS)
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._last_id = 0

    def compare(
        self,
        source: Path | str,
        prompt: str,
        *,
        num_samples: int = 4,
        seed: int = 0,
        temperature: float | None = None,
        max_new_tokens: int | None = None,
    ) -> Generator[GeneratedSample, None, None]:
        """Several same-seed completions of one prompt from the reference and from the policy, as they come. `source`: a
        run folder, or a model name or folder (reference only). Raises: ServiceUnavailable, if the process cannot be
        started, dies or does not answer; or with the service's own sentence if the question cannot be answered."""
        question = {
            "source": str(source),
            "prompt": prompt,
            "num_samples": num_samples,
            "seed": seed,
            "temperature": temperature,
            "max_new_tokens": max_new_tokens,
        }
        for answer in self.ask("compare", question):
            yield GeneratedSample(**answer)

    def ask(
        self, kind: str, question: dict[str, Any], timeout_seconds: float | None = None, tick_seconds: float = math.inf
    ) -> Generator[dict[str, Any], None, None]:
        """Put one question (`train.service.questions.QUESTIONS`) to the service and pass on its answers as they come.
        Who wants no more of them closes this generator. `timeout_seconds`: the longest silence before an answer;
        an empty one comes every `tick_seconds` of it. Raises: ServiceUnavailable, see `compare`; and where too many
        wait already."""
        if not self._places.acquire(blocking=False):
            raise ServiceUnavailable(BUSY)
        try:
            with self._lock:
                self._ensure_started()
                self._last_id += 1
                self._send({**question, "id": self._last_id, "kind": kind})
                try:
                    yield from self._read_answer(self._last_id, timeout_seconds or ANSWER_TIMEOUT_SECONDS, tick_seconds)
                except GeneratorExit:  # the service, which others use too, ends at its next word
                    with contextlib.suppress(ServiceUnavailable):
                        self._send({"id": self._last_id, "kind": STOP})
                    raise
        finally:
            self._places.release()

    def close(self) -> None:
        """End the service process, if it runs."""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.wait()
            if process.stdin:
                with contextlib.suppress(OSError):  # it had not read everything
                    process.stdin.close()

    def _read_answer(
        self, question: int, timeout_seconds: float, tick_seconds: float
    ) -> Generator[dict[str, Any], None, None]:
        began = time.monotonic()
        deadline = began + START_TIMEOUT_SECONDS + timeout_seconds
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                answer = self._answers.get(timeout=min(left, tick_seconds))
            except queue.Empty:
                if tick_seconds < left:
                    yield {}
                    continue
                self.close()
                raise ServiceUnavailable(LATE.format(time.monotonic() - began)) from None
            if answer is None:
                if self._ended_by() == -signal.SIGALRM:
                    raise ServiceUnavailable(SLOW.format(time.monotonic() - began))
                raise ServiceUnavailable(GONE)
            if answer.get("id") != question:
                continue
            if answer["event"] == "answer":
                yield answer["answer"]
                deadline = time.monotonic() + timeout_seconds  # it is alive and gets on
            elif answer["event"] == "error":
                raise ServiceUnavailable(answer["message"])
            elif answer["event"] == "done":
                return

    def _ended_by(self) -> int | None:
        """The exit code of a process that has said its last word."""
        process = self._process
        if process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LEAVING_SECONDS)
        self.close()
        if process:
            return process.returncode
        return None

    def _ensure_started(self) -> None:
        if self._process and self._process.poll() is None:
            return
        self.close()
        self._answers = queue.Queue()
        try:
            with self._log() as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", SERVICE_MODULE],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    encoding="utf-8",
                    cwd=PROJECT,
                    env=torch_environment(),
                )
        except OSError as error:
            raise ServiceUnavailable(f"Cannot start the process that answers prompts: {error.strerror}.") from None
        assert self._process.stdout is not None
        threading.Thread(target=self._pump, args=(self._process.stdout, self._answers), daemon=True).start()

    def _log(self) -> IO[bytes]:
        """Where the process prints to: what earlier ones said stays until it is much. Raises: OSError."""
        if self._outputs is None or not self._outputs.is_dir():
            return open(os.devnull, "wb")
        path = self._outputs / LOG
        large = path.exists() and path.stat().st_size > MAX_LOG_BYTES
        return open(path, "wb" if large else "ab", opener=private)

    def _send(self, message: dict[str, Any]) -> None:
        if self._process is None or self._process.stdin is None:  # it has gone, or was closed
            raise ServiceUnavailable(GONE)
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except (OSError, ValueError):  # ValueError: closed meanwhile
            self.close()
            raise ServiceUnavailable(GONE) from None

    def _pump(self, stream: IO[str], answers: queue.Queue[dict[str, Any] | None]) -> None:
        """Lines -> queue; None when the process has gone."""
        with stream:
            for line in stream:
                with contextlib.suppress(ValueError):
                    answer = json.loads(line)
                    if isinstance(answer, dict):
                        answers.put(answer)
        answers.put(None)
