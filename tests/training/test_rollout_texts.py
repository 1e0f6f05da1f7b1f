"""What is kept of an update's texts is what its figures are of, and keeping it changes no training."""

import json
import math
from statistics import fmean

import pytest
import torch

from playground.config.training_settings import ROLLOUT_BYTES
from playground.runs.folder.records import to_json_line
from playground.training.loop.rollout_texts import ScoredTexts, kept
from tests.nights import cases
from tests.training import small_run, tiny


def trained(folder, texts=8, **changes):
    ppo = {"ppo__learning_rate": 2e-3, "ppo__num_epochs": 2, "ppo__samples_per_prompt": 2}
    return small_run.trained(folder, small_run.config(evaluation__rollout_texts=texts, **ppo, **changes))


METHODS = [("ppo", "playground"), ("rloo", "playground"), ("grpo", "playground"), ("best_of_n", "playground")]
METHODS += [("steer", "playground"), ("ppo", "trl"), ("dpo", "playground"), ("sft", "playground"), ("grpo", "trl")]


@pytest.mark.parametrize(("method", "engine"), cases(METHODS, always=[("ppo", "playground")]))
def test_the_texts_of_an_update_are_those_whose_scores_its_figures_are_of(tmp_path, method, engine):
    session = trained(tmp_path, method=method, engine=engine)
    metrics, rollouts = session.run.metrics(), session.run.rollouts()
    assert [rollout.update for rollout in rollouts] == [item.update for item in metrics] == [1, 2]
    asked = {prompt.text for prompt in session.split.training}
    for rollout, item in zip(rollouts, metrics, strict=True):
        scores, kls = [text.score for text in rollout.texts], [text.kl for text in rollout.texts]
        assert sum(rollout.histogram.counts) == len(rollout.texts), "all of so few are kept"
        assert fmean(scores) == pytest.approx(item.score_mean, abs=1e-4)
        extremes = rollout.histogram.low, rollout.histogram.high
        assert extremes == pytest.approx((min(scores), max(scores)), abs=1e-4)
        for number, size in enumerate(rollout.histogram.counts):
            assert sum(text.bin == number for text in rollout.texts) == size
        assert {text.prompt for text in rollout.texts} <= asked
        assert any(text.completion for text in rollout.texts)
        if (method, engine) == ("ppo", "trl") or method == "best_of_n":
            assert set(kls) == {None}
        else:
            assert min(kls) >= 0
            assert fmean(kls) == pytest.approx(item.kl_estimates["full"], abs=1e-3)


def test_keeping_texts_changes_nothing_else_and_without_them_there_is_no_file(tmp_path):
    some, none = trained(tmp_path / "some", texts=5), trained(tmp_path / "none", texts=0)
    assert not none.run.rollouts_path.exists()
    assert none.run.rollouts() == []
    assert [len(rollout.texts) for rollout in some.run.rollouts()] == [5, 5]
    mine, theirs = (list(map(tiny.figures, session.run.metrics())) for session in (some, none))
    assert mine == theirs
    assert some.run.samples() == none.run.samples()
    for weight, same in zip(some.policy.parameters(), none.policy.parameters(), strict=True):
        assert torch.equal(weight, same)


def batch(count, text="t", score=float):
    return ScoredTexts(["p"] * count, [text] * count, [score(n) for n in range(count)], [0.5] * count)


def test_the_choice_by_chance_is_of_the_seed_and_the_update():
    first = kept(batch(200), 7, 3, 8)
    assert first == kept(batch(200), 7, 3, 8)
    assert first.texts != kept(batch(200), 8, 3, 8).texts
    assert first.texts != kept(batch(200), 7, 4, 8).texts


@pytest.mark.parametrize("text", ["a" * 5000, "\u20ac\U0001f642" * 5000, '\x01\n"\\' * 5000, "\ud800" * 900])
@pytest.mark.parametrize("most", [16, 64])
def test_a_line_is_never_long_and_what_is_cut_says_so(text, most):
    rollout = kept(ScoredTexts([text] * 80, [text] * 80, [float(n) for n in range(80)], None), 1, 0, most)
    line = to_json_line(rollout)
    assert len(line.encode()) <= ROLLOUT_BYTES
    assert len(rollout.texts) == most
    assert json.loads(line)
    for cut in rollout.texts:
        assert cut.prompt.startswith("\u2026")
        assert cut.completion.endswith("\u2026")
        assert text.startswith(cut.completion[:-1])
        assert text.endswith(cut.prompt[1:])
        assert cut.kl is None
    short = kept(ScoredTexts(["p" * 600] * 8, ["c" * 600] * 8, [0.0] * 8, None), 1, 0, 8)
    assert {(whole.prompt, whole.completion) for whole in short.texts} == {("p" * 600, "c" * 600)}


@pytest.mark.parametrize("score", [math.nan, math.inf, 1e31])
def test_of_scores_that_are_no_figures_nothing_is_kept(score):
    assert kept(batch(3)._replace(scores=[0.0, score, 1.0]), 1, 0, 16) is None
    assert kept(None, 1, 0, 16) is None
    assert kept(batch(3), 1, 0, 0) is None
    odd = kept(batch(3)._replace(kls=[math.nan, -1e-9, 1.0]), 1, 0, 16)
    assert [text.kl for text in odd.texts] == [1.0, 0.0, None]
    assert math.copysign(1, odd.texts[1].kl) == 1
