"""A prompt of one's own: streamed answers, or one sentence on why there are none."""

import pytest

from playground.runs.model_service import GeneratedSample
from playground.ui.auth.access import Access, Action
from playground.ui.runs import compare_page
from tests.ui import fake_run


class Service:
    def compare(self, source, prompt, **options):
        for side in ("reference", "policy"):
            yield GeneratedSample(side, 0, f" {prompt}!", 1.0, {}, 0.5, 3, True)


@pytest.fixture
def answers(tmp_path):
    """What the page is told, as it is registered."""
    fake_run.write_run(tmp_path, "mine")

    def answer(run, text, seed):
        yield from compare_page.answered(Service(), tmp_path, run, text, 1, seed)

    guarded = Access().guard(Action.ASK, answer, lambda sentence: {"state": "error", "message": sentence})
    return lambda *asked: list(guarded(*asked))


def test_answers_come_one_by_one_and_end(answers):
    found = answers("mine", "  The film was ", 0)
    assert [item["state"] for item in found] == ["asking", "asking", "asking", "done"]
    assert [len(item["samples"]) for item in found] == [0, 1, 2, 2]
    assert found[-1]["samples"][0]["completion"] == " The film was!"


@pytest.mark.parametrize(
    ("run_id", "prompt", "seed", "says"),
    [
        ("mine", "   ", 0, "Type a prompt"),
        ("", "hello", 0, "Choose a run above first"),
        ("_recorded", "hello", 0, "Train a run of your own"),
        ("mine", "hello", None, "seed"),
        ("../x", "hello", 0, "not a run id"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(answers, run_id, prompt, seed, says):
    last = answers(run_id, prompt, seed)[-1]
    assert last["state"] == "error"
    assert says in last["message"]
    assert last["message"].count("\n") == 0
