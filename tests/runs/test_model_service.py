"""The client of the model service, against a service by script: streaming, errors, crashes, restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.errors import ServiceUnavailable
from playground.runs import model_service
from playground.runs.model_service import GeneratedSample, ModelService
from tests.service_here import ServiceHere
from tests.support import wait_until


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelService]:
    monkeypatch.setattr(model_service, "SERVICE_MODULE", "tests.fake_service")
    client = ModelService()
    yield client
    client.close()


def ask(service: ModelService, prompt: str, num_samples: int = 2, seed: int = 0) -> list[GeneratedSample]:
    return list(service.compare("somewhere", prompt, num_samples=num_samples, seed=seed))


def pid_of(samples: list[GeneratedSample]) -> str:
    return samples[0].completion.rsplit(" ", 1)[1]


def test_an_error_is_the_services_own_sentence_and_the_next_question_works(service: ModelService) -> None:
    with pytest.raises(ServiceUnavailable, match="longer than the context"):
        ask(service, "error")
    first, second = (pid_of(ask(service, "count")) for _ in range(2))
    assert first == second, "one process answers many questions"


def test_answers_that_are_not_wanted_any_more_end_and_the_same_process_answers_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from playground.training.service import questions

    ended = threading.Event()

    def endless(service: object, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            while True:
                yield {"asked": question["id"]}
                time.sleep(0.001)
        finally:
            ended.set()

    monkeypatch.setitem(questions.QUESTIONS, "endless", endless)
    monkeypatch.setitem(questions.QUESTIONS, "next", lambda service, question: iter([{"asked": question["id"]}]))
    service = ServiceHere()
    answers = service.ask("endless", {})
    assert next(answers) == next(answers) == {"asked": 1}
    process = service._process
    answers.close()
    assert list(service.ask("next", {})) == [{"asked": 2}]
    assert ended.is_set()
    assert service._process is process
    service.close()


def test_after_a_crash_the_next_question_starts_a_new_process(service: ModelService) -> None:
    before = pid_of(ask(service, "count"))
    with pytest.raises(ServiceUnavailable, match="ended unexpectedly"):
        ask(service, "crash")
    assert pid_of(ask(service, "count")) != before


def test_a_silent_service_is_given_up_and_ended(service: ModelService, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(service, "count")
    process = service._process
    assert process is not None
    monkeypatch.setattr(model_service, "START_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(model_service, "ANSWER_TIMEOUT_SECONDS", 0.1)
    with pytest.raises(ServiceUnavailable, match="did not answer in time"):
        ask(service, "silent")
    assert process.poll() is not None


def test_only_so_many_questions_wait_and_one_more_is_refused_at_once(service: ModelService, tmp_path: Path) -> None:
    gate, most = tmp_path / "gate", model_service.MOST_QUESTIONS
    assert 12 <= most <= 20, "all that the page's queue runs at a time fit, and half of Gradio's 40 threads stay free"
    got: list[int] = []
    answers = service.compare("somewhere", f"gate {gate}", num_samples=2)
    next(answers)
    threads = [threading.Thread(target=lambda: got.append(len(ask(service, "count")))) for _ in range(most - 1)]
    for thread in threads:
        thread.start()
    wait_until(lambda: service._places._value == 0)
    begun = time.monotonic()
    with pytest.raises(ServiceUnavailable, match="Many questions are waiting"):
        ask(service, "count")
    assert time.monotonic() - begun < 5
    assert not got
    gate.touch()
    assert len(list(answers)) == 1
    for thread in threads:
        thread.join()
    assert got == [2] * (most - 1) and len(ask(service, "count")) == 2, "each place is given back"
