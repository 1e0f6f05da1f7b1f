"""How far the worker says it is: by the work that lies ahead, at a pace measured with a clock of the test's own."""

import pytest
from transformers.utils import logging

from playground.training.process import progress
from playground.training.process.progress import CALL_TOKENS, LEARNING, Plans, WorkProgress
from tests.training import tiny


class Worker:
    """A status and a clock; each heartbeat takes a second."""

    def __init__(self, monkeypatch):
        self.now, self.phase, self.said = 100.0, "training", list[str]()
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.now)
        self.progress = WorkProgress(self.tick, self.say, lambda: self.phase)

    def tick(self):
        self.now += 1.0

    def say(self, words):
        self.phase = words
        self.said.append(words)


@pytest.fixture
def worker(monkeypatch):
    return Worker(monkeypatch)


def test_the_time_left_is_that_of_the_work_ahead_at_the_pace_so_far(worker):
    worker.progress.begin("measuring", [10.0, 10.0, 30.0, 25.0, 25.0])
    for _ in range(6):
        worker.progress()
    # before the third step 20 of 100 are done after 3 s; the sixth heartbeat is one more than was planned
    assert worker.said == ["measuring, 20 % done, about 12 s left", "measuring, 100 % done, about 0 s left"]
    worker.progress.end()
    assert worker.phase == "training", "what was said before"


def test_weights_that_are_read_are_counted_and_other_loops_of_the_library_are_not(worker):
    with worker.progress.of_loading("loading the model"):
        for _ in logging.tqdm(["a", "b"], desc="Something else"):
            worker.now += 10
        for _ in logging.tqdm(["a", "b", "c", "d"], desc=progress.WEIGHTS):
            worker.now += 4
    assert (worker.said[0], worker.said[-1]) == ("loading the model, 25 % done, about 12 s left", "training")
    assert list(logging.tqdm(["a"], desc=progress.WEIGHTS)) == ["a"]
    assert len(worker.said) == 4


def test_the_work_ahead_by_hand_and_no_time_of_work_that_has_hardly_begun(worker):
    config = tiny.config(sampling__max_new_tokens=3, ppo__micro_batch_size=4, ppo__num_epochs=2)
    plans = Plans(config, prompt_tokens=5.0)
    batch = [4 * 6 + CALL_TOKENS, 4 + CALL_TOKENS, 4 + CALL_TOKENS]  # the prompts and a token, then a token each
    assert plans.writing(6, 4) == [*batch, 2 * 6 + CALL_TOKENS, 2 + CALL_TOKENS, 2 + CALL_TOKENS]
    assert Plans(config, 5.0, ranks=2).writing(12, 8) == plans.writing(6, 4)
    assert plans.reading(6) == [6 * 8 / 2 + CALL_TOKENS] * 2  # six texts of 5 + 3 tokens, four at a time
    size = config.ppo.batch_size
    learned = [LEARNING * work for work in plans.reading(size)]
    assert plans.update() == [*plans.writing(size, size), *plans.reading(size), *learned, *learned]
    worker.progress.begin("measuring")
    worker.now += 5
    worker.progress.at(0.01)
    assert worker.said == ["measuring, 1 % done"]
