"""The workbench's questions, answered by the real service object on the shipped model at small sizes."""

import pytest

from playground.errors import PlaygroundError
from playground.rewards import trying
from playground.training.loop import evaluation
from playground.training.service import reward_bench
from playground.training.service.questions import QUESTIONS, Service
from tests.training.small_run import config

PROMPT = "Review of the film: The plot was"


def ask(service, settings, typed, count=20, **changes):
    reference = trying.reference_of(settings, count) if count else None
    question = {**trying.question(settings.rewards, PROMPT, typed, reference, ""), **changes}
    return list(QUESTIONS["rewards-score"](service, question))


def samples_of(service, settings, count):
    return list(QUESTIONS["reference-samples"](service, {"reference": trying.reference_of(settings, count)}))


@pytest.fixture(scope="module")
def service():
    return Service()


def test_texts_and_samples_are_scored_by_every_reward_with_progress(service):
    settings = config(rewards=[{"kind": "length"}, {"kind": "sentiment", "weight": 2}])
    *steps, last = ask(service, settings, ["wonderful and lovely", ""])
    assert {step["phase"].split(" ")[0] for step in steps} == {"loading", "drawing", "scoring"}
    assert all(0 <= step["done"] <= step["of"] for step in steps)
    assert last["texts"] == {"length": [3.0, 0.0], "sentiment": [3.0, 0.0]}
    assert len(last["samples"]) == 20
    assert {len(values) for values in last["reference"].values()} == {20}
    assert last["reference"]["length"] == [float(len(row["completion"].split())) for row in last["samples"]]


def test_asking_again_with_other_weights_or_rewards_draws_nothing_anew(service, monkeypatch):
    first = ask(service, config(rewards=[{"kind": "length"}]), ["a"])[-1]
    monkeypatch.setattr(evaluation, "answer", lambda *_: pytest.fail("sampled again"))
    measured = []
    monkeypatch.setattr(reward_bench, "measured", lambda name, *rest: measured.append(name) or [0.0])
    changed = config(rewards=[{"kind": "length", "weight": -3, "normalise": True}, {"kind": "repetition"}])
    again = ask(service, changed, ["a"])[-1]
    assert again["samples"] == first["samples"]
    assert again["reference"]["length"] == first["reference"]["length"]
    assert measured == ["length", "repetition", "repetition"]  # the samples' lengths are known


def test_the_samples_are_those_on_which_a_run_fixes_its_scale(service):
    settings = config(seed=3)
    drawn = samples_of(service, settings, 10)[-1]["samples"]
    subject = service.bench.subjects.untrained(settings.model)
    count = settings.evaluation.num_prompts
    split = reward_bench.prompts.load(settings.prompts, count, 100, subject.tokens, settings.seed)
    asked, seeds = evaluation.reference_questions(split.training, settings.seed, 256)
    how = evaluation.Generation(subject.tokens, settings.sampling, 10)
    episodes, _ = evaluation.answer(subject.reference, None, asked[:10], seeds[:10], how)
    assert [row["completion"] for row in drawn] == episodes.texts(subject.tokens)
    assert [row["prompt"] for row in drawn] == [prompt.text for prompt in asked[:10]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"texts": [{"prompt": "p", "completion": "x"}] * 9}, "At most 8 texts"),
        ({"texts": [{"prompt": "p", "completion": "x" * 5000}]}, "A text has 5,000 characters"),
        ({"rewards": [{"kind": "lenght"}]}, "must be one of"),
        ({"rewards": [{"kind": "model", "source": "no-such-judge"}]}, "There is no reward model `no-such-judge`"),
    ],
)
def test_texts_that_cannot_be_scored_are_refused_in_one_sentence(service, changes, words):
    with pytest.raises(PlaygroundError, match=words):
        ask(service, config(), ["x"], count=0, **changes)
