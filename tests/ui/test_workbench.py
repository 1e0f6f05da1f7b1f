"""What the workbench's handler answers: progress, figures, or sentences on what is wrong."""

import pytest

from playground.errors import ServiceUnavailable
from playground.rewards import trying
from playground.setup import catalog
from playground.ui.rewards import workbench_part
from playground.ui.train import form

VALUES = {
    field: value
    for field, value in form.values_of(catalog.preset("chatterbox")).items()
    if field.startswith(workbench_part.FORM_GROUPS)
}
SAMPLES = [{"prompt": "Review of the film:", "completion": " The plot was dull.", "ended": True}]
REWARDS = [{"kind": "length", "weight": 1, "target": "", "normalise": True, "cap": ""}]


class Service:
    """Remembers the question; answers with progress and figures, or fails."""

    def __init__(self, fails=False):
        self.fails, self.asked = fails, []

    def ask(self, kind, question, timeout_seconds=0):
        self.asked.append((kind, question))
        yield {"phase": "drawing 128 samples", "done": 16, "of": 128}
        if self.fails:
            raise ServiceUnavailable("The process that answers prompts ended unexpectedly. Try again.")
        yield {"names": ["length"], "texts": {"length": [1.0]}, "reference": {"length": [2.0]}, "samples": SAMPLES}


def told(tmp_path, service=None, rewards=REWARDS, prompt="The plot was", texts=("dull", ""), values=VALUES):
    return list(workbench_part.scored(service or Service(), tmp_path, rewards, prompt, texts, values))


def test_progress_comes_first_and_the_figures_last(tmp_path):
    service = Service()
    found = told(tmp_path, service)
    assert [item["state"] for item in found] == ["asking", "asking", "done"]
    assert found[-1]["labels"] == ["Length"]
    assert found[-1]["rewards"] == REWARDS
    assert found[-1]["sides"] == [{"side": "A", "text": " dull"}]
    assert found[-1]["outlooks"] == []  # one text is too few to say
    ((kind, question),) = service.asked
    assert kind == "rewards-score"
    assert question["texts"] == [{"prompt": "The plot was", "completion": " dull"}]
    assert question["reference"] == trying.reference_of(catalog.preset("chatterbox"))
    assert question["rewards"][0]["normalise"] is True


def test_what_the_best_policy_would_do_is_said_at_the_form_s_beta(tmp_path):
    class Reviews(Service):
        def ask(self, kind, question, timeout_seconds=0):
            texts = [" The plot was superb."] * 10 + [" The plot was dull."] * 10
            samples = [{**SAMPLES[0], "completion": text} for text in texts]
            yield {
                "names": ["length"],
                "texts": {"length": []},
                "reference": {"length": [4.0] * 20},
                "samples": samples,
            }

    values = {**VALUES, "kl.coef": "0.3"}
    found = told(tmp_path, Reviews(), texts=("", ""), values=values)[-1]["outlooks"]
    (sentence,) = found
    assert "kind in 10 of 20 answers" in sentence
    assert "at beta 0.3 in 50%" in sentence


def test_one_reward_is_tried_on_eight_texts_and_what_is_wrong_is_named_by_its_field(tmp_path):
    service = Service()
    *_, last = workbench_part.tried(service, tmp_path, REWARDS[0], VALUES)
    assert last["state"] == "done"
    assert last["reference"] == {"length": [2.0]}
    ((_, question),) = service.asked
    assert question["reference"]["count"] == 8
    assert question["texts"] == []
    wrong = {"kind": "expression", "weight": 1, "expression": "words(completion"}
    (only,) = workbench_part.tried(service, tmp_path, wrong, VALUES)
    assert only["problems"][0].startswith("Expression: Character 6: A bracket is missing")
    for nonsense in (None, 7, [], {}, {"kind": "no such thing"}):
        (only,) = workbench_part.tried(service, tmp_path, nonsense, VALUES)
        assert only["state"] == "error"
        assert len(service.asked) == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"rewards": [{"kind": "keyword", "weight": 1, "words": ""}]}, "Reward 1, Words: "),
        ({"rewards": [{"kind": "length", "weight": "x"}]}, "Reward 1, Weight: must be a number (got 'x')."),
        ({"rewards": []}, "Reward: must have at least one entry."),
        ({"texts": ("x" * 5000, "")}, "Text A: has 5,000 characters"),
        ({"prompt": "x" * 5000}, "Prompt: has 5,000 characters"),
        ({"values": {**VALUES, "sampling.max_new_tokens": "many"}}, "must be a whole number (got 'many')."),
    ],
)
def test_what_cannot_be_scored_is_said_before_anything_is_asked(tmp_path, changes, says):
    service = Service()
    (only,) = told(tmp_path, service, **changes)
    assert only["state"] == "error"
    assert service.asked == []
    assert any(says in sentence for sentence in only["problems"])
