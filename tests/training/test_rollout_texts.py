"""What is kept of an update's texts is what its figures are of, and keeping it changes no training."""

from __future__ import annotations

import json
import math
from statistics import fmean

import pytest
import torch

from playground.config.training_settings import ROLLOUT_BYTES
from playground.runs.folder.records import to_json_line
from playground.training.loop.rollout_texts import ScoredTexts, kept
from tests.nights import cases
from tests.training import small_run

SMALL = {
    "model": {"source": "pocket-1m"},
    "rewards": [{"kind": "sentiment"}],
    "ppo": {"num_updates": 2, "batch_size": 16, "minibatch_size": 8, "micro_batch_size": 8, "learning_rate": 2e-3},
    "prompts": {"limit": 16},
    "sampling": {"max_new_tokens": 10},
    "evaluation": {"num_prompts": 4, "every": 1, "rollout_texts": 16},
    "checkpoint": {"every": 0},
}
CLOCKS = {"seconds", "seconds_rollout", "seconds_score", "seconds_update", "seconds_evaluation", "memory_gb"}


def trained(folder, method="ppo", engine="playground", texts=16):
    evaluation = {**SMALL["evaluation"], "rollout_texts": texts}
    return small_run.trained(folder, {**SMALL, "method": method, "engine": engine, "evaluation": evaluation})


METHODS = [("ppo", "playground"), ("rloo", "playground"), ("grpo", "playground"), ("best_of_n", "playground")]
METHODS += [("steer", "playground"), ("ppo", "trl"), ("dpo", "playground"), ("sft", "playground"), ("grpo", "trl")]


@pytest.mark.parametrize(("method", "engine"), cases(METHODS, always=[("ppo", "playground"), ("ppo", "trl")]))
def test_it_is_of_the_texts_whose_scores_the_figures_are_of_whatever_the_method(tmp_path, method, engine):
    made = trained(tmp_path, method, engine)
    found = made.run.rollouts()
    assert [one.update for one in found] == [item.update for item in made.run.metrics()] == [1, 2]
    asked = {prompt.text for prompt in made.split.training}
    for one, metrics in zip(found, made.run.metrics(), strict=True):
        count = sum(one.histogram.counts)
        scores, kls = [text.score for text in one.texts], [text.kl for text in one.texts]
        assert count == len(one.texts), "all of so few are kept"
        assert fmean(scores) == pytest.approx(metrics.score_mean, abs=1e-4)
        assert (one.histogram.low, one.histogram.high) == pytest.approx((min(scores), max(scores)), abs=1e-4)
        for number, size in enumerate(one.histogram.counts):
            assert sum(text.bin == number for text in one.texts) == size
        assert {text.prompt for text in one.texts} <= asked
        assert any(text.completion for text in one.texts)
        if (method, engine) == ("ppo", "trl") or method == "best_of_n":
            assert set(kls) == {None}
        else:
            assert min(kls) >= 0
            assert fmean(kls) == pytest.approx(metrics.kl_estimates["full"], abs=1e-3)


def test_keeping_texts_changes_nothing_else_and_without_them_there_is_no_file(tmp_path):
    some, none = trained(tmp_path / "some", texts=5), trained(tmp_path / "none", texts=0)
    assert not none.run.rollouts_path.exists()
    assert none.run.rollouts() == []
    assert [len(one.texts) for one in some.run.rollouts()] == [5, 5]
    mine, theirs = ([item.model_dump(exclude=CLOCKS) for item in one.run.metrics()] for one in (some, none))
    assert mine == theirs
    assert some.run.samples() == none.run.samples()
    for one, other in zip(some.policy.parameters(), none.policy.parameters(), strict=True):
        assert torch.equal(one, other)


def batch(count, text="t", score=float):
    return ScoredTexts(["p"] * count, [text] * count, [score(n) for n in range(count)], [0.5] * count)


def test_the_choice_by_chance_is_of_the_seed_and_the_update_and_moves_no_other_random_number():
    state = torch.get_rng_state()
    first = kept(batch(200), 7, 3, 8)
    assert torch.equal(torch.get_rng_state(), state)
    assert first == kept(batch(200), 7, 3, 8)
    assert first.texts != kept(batch(200), 8, 3, 8).texts
    assert first.texts != kept(batch(200), 7, 4, 8).texts


@pytest.mark.parametrize("text", ["a" * 5000, "\u20ac\U0001f642" * 5000, '\x01\n"\\' * 5000, "\ud800" * 900])
@pytest.mark.parametrize("most", [16, 64])
def test_a_line_is_never_long_and_what_is_cut_says_so(text, most):
    found = kept(ScoredTexts([text] * 80, [text] * 80, [float(n) for n in range(80)], None), 1, 0, most)
    line = to_json_line(found)
    assert len(line.encode()) <= ROLLOUT_BYTES
    assert len(found.texts) == most
    assert json.loads(line)
    for one in found.texts:
        assert one.prompt.startswith("\u2026")
        assert one.completion.endswith("\u2026")
        assert text.startswith(one.completion[:-1])
        assert text.endswith(one.prompt[1:])
        assert one.kl is None
    short = kept(ScoredTexts(["p" * 600] * 8, ["c" * 600] * 8, [0.0] * 8, None), 1, 0, 8)
    assert {(one.prompt, one.completion) for one in short.texts} == {("p" * 600, "c" * 600)}


@pytest.mark.parametrize("score", [math.nan, math.inf, 1e31])
def test_of_scores_that_are_no_figures_nothing_is_kept(score):
    assert kept(batch(3)._replace(scores=[0.0, score, 1.0]), 1, 0, 16) is None
    assert kept(None, 1, 0, 16) is None
    assert kept(batch(3), 1, 0, 0) is None
    odd = kept(batch(3)._replace(kls=[math.nan, -1e-9, 1.0]), 1, 0, 16)
    assert [text.kl for text in odd.texts] == [1.0, 0.0, None]
    assert math.copysign(1, odd.texts[1].kl) == 1
