"""The workbench's questions, answered by the real service object on the shipped model at small sizes."""

from __future__ import annotations

import pytest

from playground.config import yaml_io
from playground.errors import PlaygroundError
from playground.rewards import trying
from playground.setup import catalog
from playground.training.loop import evaluation
from playground.training.process import progress
from playground.training.service import reward_bench
from playground.training.service.questions import QUESTIONS, Service

PROMPT = "Review of the film: The plot was"


def config(**changes):
    data = catalog.preset("chatterbox").model_dump(mode="json")
    return yaml_io.from_dict({**data, "model": {"source": "pocket-1m"}, "sampling": {"max_new_tokens": 8}, **changes})


def ask(service, made, typed, count=20, **changes):
    reference = trying.reference_of(made, count) if count else None
    question = {**trying.question(made.rewards, PROMPT, typed, reference, ""), **changes}
    return list(QUESTIONS["rewards-score"](service, question))


@pytest.fixture(scope="module")
def service():
    return Service()


def test_texts_and_samples_are_scored_by_every_reward_with_progress(service):
    made = config(rewards=[{"kind": "length"}, {"kind": "sentiment", "weight": 2}])
    *progress, last = ask(service, made, ["wonderful and lovely", ""])
    assert {item["phase"].split(" ")[0] for item in progress} == {"loading", "drawing", "scoring"}
    assert all(0 <= item["done"] <= item["of"] for item in progress)
    assert last["texts"] == {"length": [3.0, 0.0], "sentiment": [3.0, 0.0]}
    assert len(last["samples"]) == 20
    assert {len(values) for values in last["reference"].values()} == {20}
    assert last["reference"]["length"] == [float(len(row["completion"].split())) for row in last["samples"]]


def test_asking_again_with_other_weights_or_rewards_draws_nothing_anew(service, monkeypatch):
    first = ask(service, config(), ["a"])[-1]
    monkeypatch.setattr(evaluation, "answer", lambda *_: pytest.fail("sampled again"))
    measured = []
    monkeypatch.setattr(reward_bench, "measured", lambda name, *rest: measured.append(name) or [0.0])
    changed = config(rewards=[{"kind": "length", "weight": -3, "normalise": True}, {"kind": "repetition"}])
    again = ask(service, changed, ["a"])[-1]
    assert again["samples"] == first["samples"]
    assert again["reference"]["length"] == first["reference"]["length"]
    assert measured == ["length", "repetition", "repetition"]  # the samples' lengths are known


def test_the_samples_are_those_on_which_a_run_fixes_its_scale(service):
    made = config(seed=3)
    drawn = list(QUESTIONS["reference-samples"](service, {"reference": trying.reference_of(made, 10)}))[-1]["samples"]
    subject = service.bench.subjects.untrained(made.model)
    split = reward_bench.prompts.load(made.prompts, made.evaluation.num_prompts, 100, subject.tokens, made.seed)
    asked, seeds = evaluation.reference_questions(split.training, made.seed, 256)
    episodes, _ = evaluation.answer(
        subject.reference, None, asked[:10], seeds[:10], evaluation.Generation(subject.tokens, made.sampling, 10)
    )
    assert [row["completion"] for row in drawn] == episodes.texts(subject.tokens)
    assert [row["prompt"] for row in drawn] == [prompt.text for prompt in asked[:10]]


def test_drawing_says_how_far_it_is_within_a_batch_too(service, monkeypatch):
    told = []
    monkeypatch.setattr(progress, "SAY_SECONDS", 0.0)
    monkeypatch.setattr(service.bench, "tell", told.append)
    *answers, _ = QUESTIONS["reference-samples"](service, {"reference": trying.reference_of(config(seed=5), 20)})
    assert [item["phase"] for item in answers] == ["loading the model", "drawing 20 samples", "drawing 20 samples"]
    drawing = [item for item in told if item["phase"].startswith("drawing 20 samples, ")]
    assert len(drawing) > 8
    assert {item["done"] for item in drawing} == {0, reward_bench.CHUNK}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"texts": [{"prompt": "p", "completion": "x"}] * 9}, "At most 8 texts"),
        ({"texts": [{"prompt": "p", "completion": "x" * 5000}]}, "A text has 5,000 characters"),
        ({"rewards": [{"kind": "lenght"}]}, "must be one of"),
        ({"rewards": [{"kind": "model", "source": "no-such-judge"}]}, "There is no reward model `no-such-judge`"),
    ],
)
def test_what_cannot_be_scored_is_one_sentence(service, changes, says):
    with pytest.raises(PlaygroundError) as caught:
        ask(service, config(), ["x"], count=0, **changes)
    assert says in str(caught.value)
