"""The client of the model service, against a service by script: streaming, errors, crashes, restarts."""

import threading
import time

import pytest

from playground.errors import ServiceUnavailable
from playground.runs import model_service
from playground.runs.model_service import ModelService
from playground.training.service import questions
from tests.service_here import ServiceHere
from tests.support import at_once, wait_until


@pytest.fixture
def service(monkeypatch):
    monkeypatch.setattr(model_service, "SERVICE_MODULE", "tests.fake_service")
    client = ModelService()
    yield client
    client.close()


def ask(service, prompt, num_samples=2, seed=0):
    return list(service.compare("somewhere", prompt, num_samples=num_samples, seed=seed))


def pid_of(samples):
    return samples[0].completion.rsplit(" ", 1)[1]


def test_what_is_no_answer_is_none_an_error_is_the_services_own_sentence_and_the_next_question_works(service):
    assert [sample.index for sample in ask(service, "noise")] == [0, 1]
    with pytest.raises(ServiceUnavailable, match="longer than the context"):
        ask(service, "error")
    first, second = (pid_of(ask(service, "count")) for _ in range(2))
    assert first == second, "one process answers many questions"


def test_answers_that_are_not_wanted_any_more_end_and_the_same_process_answers_the_next(monkeypatch):
    ended = threading.Event()

    def endless(service, question):
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


def test_after_a_crash_the_next_question_starts_a_new_process(service):
    before = pid_of(ask(service, "count"))
    with pytest.raises(ServiceUnavailable, match="ended unexpectedly"):
        ask(service, "crash")
    assert pid_of(ask(service, "count")) != before


def test_a_program_that_was_ended_at_its_limit_is_said_to_be_slow_and_how_long_that_took(service):
    with pytest.raises(
        ServiceUnavailable, match=r"limit of 20 seconds, after \d+ seconds in all. If the machine is busy"
    ):
        ask(service, "slow")
    assert len(ask(service, "count")) == 2


def test_a_silent_service_is_given_up_and_ended(service, monkeypatch):
    ask(service, "count")
    process = service._process
    monkeypatch.setattr(model_service, "START_TIMEOUT_SECONDS", 0.1)
    monkeypatch.setattr(model_service, "ANSWER_TIMEOUT_SECONDS", 0.1)
    with pytest.raises(ServiceUnavailable, match="did not answer in time"):
        ask(service, "silent")
    assert process.poll() is not None


def test_while_an_answer_is_awaited_empty_ones_come_again_and_again(service, tmp_path):
    gate = tmp_path / "open"
    question = {"source": "somewhere", "prompt": f"gate {gate}", "num_samples": 1, "seed": 0}
    coming = service.ask("compare", question, tick_seconds=0.01)
    assert next(coming) == {}, "it takes longer than that to start"
    assert next(answer for answer in coming if answer)["index"] == 0
    assert next(coming) == {}
    gate.touch()
    assert not any(coming)


def test_only_so_many_questions_wait_and_one_more_is_refused_at_once(service, tmp_path):
    gate, most = tmp_path / "gate", model_service.MOST_QUESTIONS
    assert 12 <= most <= 20, "all that the page's queue runs at a time fit, and half of Gradio's 40 threads stay free"
    answered = []
    answers = service.compare("somewhere", f"gate {gate}", num_samples=2)
    next(answers)
    asking = threading.Thread(target=lambda: at_once(*[lambda: answered.append(ask(service, "count"))] * (most - 1)))
    asking.start()
    wait_until(lambda: service._places._value == 0)
    with pytest.raises(ServiceUnavailable, match="Many questions are waiting"):
        ask(service, "count")
    assert not answered
    gate.touch()
    assert len(list(answers)) == 1
    asking.join()
    assert [len(samples) for samples in answered] == [2] * (most - 1)
    assert len(ask(service, "count")) == 2, "each place is given back"
