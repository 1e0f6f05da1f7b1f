"""A prompt of one's own: streamed answers, or one sentence on why there are none."""

import pytest

from playground.errors import ServiceUnavailable
from playground.runs.model_service import GeneratedSample
from playground.ui.runs import compare_page
from tests.ui import fake_run


class Service:
    """Two samples, then (if asked) a failure."""

    def __init__(self, fails=False):
        self.fails = fails

    def compare(self, source, prompt, **options):
        for side in ("reference", "policy"):
            yield GeneratedSample(side, 0, f" {prompt}!", 1.0, {}, 0.5, 3, True)
        if self.fails:
            raise ServiceUnavailable("The process that answers prompts ended unexpectedly. Try again.")


@pytest.fixture
def outputs(tmp_path):
    fake_run.write_run(tmp_path, "mine")
    return tmp_path


def test_answers_come_one_by_one_and_end(outputs):
    answer = list(compare_page.answered(Service(), outputs, "mine", "  The film was ", 1, 0))
    assert [item["state"] for item in answer] == ["asking", "asking", "asking", "done"]
    assert [len(item["samples"]) for item in answer] == [0, 1, 2, 2] and answer[-1]["prompt"] == "The film was"


def test_a_failure_keeps_what_came_and_says_why(outputs):
    last = list(compare_page.answered(Service(fails=True), outputs, "mine", "x", 1, 0))[-1]
    assert last["state"] == "error" and "Try again" in last["message"] and len(last["samples"]) == 2


@pytest.mark.parametrize(
    ("run_id", "prompt", "seed", "says"),
    [
        ("mine", "   ", 0, "Type a prompt"),
        ("", "hello", 0, "No run is shown"),
        ("_recorded", "hello", 0, "Train a run of your own"),
        ("mine", "x" * 3000, 0, "shorten it"),
        ("mine", "hello", -1, "seed"),
        ("mine", "hello", None, "seed"),
        ("../x", "hello", 0, "not a run id"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(outputs, run_id, prompt, seed, says):
    last = list(compare_page.answered(Service(), outputs, run_id, prompt, 1, seed))[-1]
    assert last["state"] == "error" and says in last["message"] and last["message"].count("\n") == 0
