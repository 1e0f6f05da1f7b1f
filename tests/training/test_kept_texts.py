"""What is kept of a run's texts to be looked at, of an update's and of single tokens of the fixed prompts: the figures
are of it, it adds up to them in every kind of run, and keeping it changes no training."""

import json
import math
import re
from statistics import fmean
from types import SimpleNamespace

import pytest
import torch

from playground.config.training_settings import ROLLOUT_BYTES
from playground.runs.folder.records import to_json_line
from playground.runs.folder.rollout_records import ScoredTexts
from playground.training.loop.rollout_texts import kept
from playground.training.loop.token_figures import LIKELIEST
from playground.training.models.token_pieces import Pieces, bytes_of
from tests.nights import cases
from tests.support import data_beside
from tests.training import small_run, tiny

SMALL = {"ppo__num_updates": 3, "ppo__learning_rate": 4e-3, "ppo__num_epochs": 2, "evaluation__num_prompts": 6}
KINDS = data_beside(__file__, "token_figures.yaml")
BYTES = re.compile(r"(?:\\x[0-9a-f]{2})+")  # as `Pieces` shows them


def trained(folder, samples, texts=0, **changes):
    kept_too = {"evaluation__token_samples": samples, "evaluation__rollout_texts": texts}
    return small_run.trained(folder, small_run.config(**SMALL, **kept_too, **changes))


@pytest.fixture(scope="module")
def all_shown(tmp_path_factory):
    """A run that shows more answers token by token than it has prompts, and keeps some texts of its updates."""
    return trained(tmp_path_factory.mktemp("all"), 64, 5)


def estimate(name, own, reference, exact):
    """The KL of a token by the estimators' definitions (Schulman 2020)."""
    d = own - reference
    return {"k1": d, "k3": math.exp(-d) - 1 + d, "full": exact}[name]


@pytest.mark.parametrize("kind", cases(KINDS, always=["adaptive", "k3, own critic, discount"]))
def test_figures_of_tokens_add_up_to_those_of_the_completion(tmp_path, kind):
    session = trained(tmp_path, 4, **KINDS[kind])
    config, run = session.config, session.run
    betas = [*(item.kl_coef for item in run.metrics()), session.trainer.kl_controller.coef]  # after so many updates
    samples = {}
    for sample in run.samples():  # the first of a prompt's samples is the one under the microscope
        samples.setdefault((sample.update, sample.prompt_id), sample)
    figures = run.token_figures()
    assert [(answer.update, answer.prompt_id) for answer in figures] == [(u, p) for u in range(4) for p in range(4)]
    assert max(sum(answer.kl) for answer in figures) > 0.1, "it has learned something, or nothing is tested"
    for answer in figures:
        sample = samples[answer.update, answer.prompt_id]
        assert (answer.seed, answer.stage, len(answer.pieces)) == (sample.seed, sample.stage, sample.tokens)
        text = "".join(piece for piece in answer.pieces if piece != "<eos>")
        text = BYTES.sub(lambda run: bytes.fromhex(run[0].replace("\\x", "")).decode(errors="replace"), text)
        assert text == sample.completion
        assert (answer.pieces[-1] == "<eos>") == sample.ended
        assert sum(answer.kl) == pytest.approx(sample.kl, abs=1e-4)
        triples = zip(answer.log_probs, answer.reference_log_probs, answer.kl, strict=True)
        drift = sum(estimate(config.kl.estimator, *triple) for triple in triples)
        assert answer.kl_coef == betas[answer.update]
        assert sum(answer.rewards) == pytest.approx(sample.score - answer.kl_coef * drift, abs=1e-4)
        assert sum(answer.leash) == pytest.approx(-answer.kl_coef * drift, abs=1e-4)
        assert answer.rewards[:-1] == answer.leash[:-1]
    if kind == "adaptive":
        assert len(set(betas)) > 1


def test_the_likeliest_tokens_of_both_stand_behind_the_drawn_one(all_shown):
    for answer in all_shown.run.token_figures():
        for place, options in enumerate(answer.choices):
            piece, reference, policy = options[0]
            assert piece == answer.pieces[place]
            assert len(options) <= 2 * LIKELIEST + 1
            assert policy == pytest.approx(math.exp(answer.log_probs[place]), rel=1e-3, abs=1e-6)
            assert reference == pytest.approx(math.exp(answer.reference_log_probs[place]), rel=1e-3, abs=1e-6)
            assert sum(option[2] for option in options) <= 1.001


def test_keeping_texts_and_tokens_changes_nothing_else_and_without_them_there_are_no_files(all_shown, tmp_path):
    none = trained(tmp_path, 0)
    assert not none.run.rollouts_path.exists()
    assert not none.run.tokens_path.exists()
    assert none.run.rollouts() == none.run.token_figures() == []
    assert [len(rollout.texts) for rollout in all_shown.run.rollouts()] == [5, 5, 5]
    assert len(all_shown.run.token_figures()) == 4 * 6, "there are no more prompts than there are"
    kept_metrics, plain_metrics = (list(map(tiny.figures, session.run.metrics())) for session in (all_shown, none))
    assert (kept_metrics, none.run.samples()) == (plain_metrics, all_shown.run.samples())
    for weight, same in zip(none.policy.parameters(), all_shown.policy.parameters(), strict=True):
        assert torch.equal(weight, same)


def test_parts_of_characters_are_shown_as_bytes():
    names = {0: "\u0120caf", 1: "\u00c3\u00a9", 2: "\u00e2\u0124", 3: "\u00ac", 4: "<0xE2>", 5: "<eos>"}
    texts_by_id = {0: " caf", 1: "\u00e9", 2: "\ufffd", 3: "\ufffd", 4: "\ufffd", 5: ""}
    tokenizer = SimpleNamespace(convert_ids_to_tokens=names.get)
    tokens = {"tokenizer": tokenizer, "encode": lambda text: [0], "decode": lambda ids, after: texts_by_id[ids[0]]}
    pieces = Pieces(SimpleNamespace(**tokens))
    assert [pieces(token) for token in range(6)] == [" caf", "\u00e9", "\\xe2\\x82", "\\xac", "\\xe2", "<eos>"]
    assert bytes_of("\u2581word") is None


METHODS = [("ppo", "playground"), ("rloo", "playground"), ("grpo", "playground"), ("best_of_n", "playground")]
METHODS += [("steer", "playground"), ("ppo", "trl"), ("dpo", "playground"), ("sft", "playground")]


@pytest.mark.parametrize(("method", "engine"), cases(METHODS, always=[("ppo", "playground")]))
def test_the_texts_of_an_update_are_those_whose_scores_its_figures_are_of(tmp_path, method, engine):
    samples = 1 if (method, engine) == ("ppo", "trl") else 2  # of a prompt; more of them TRL's PPO refuses
    session = trained(tmp_path, 0, 8, ppo__samples_per_prompt=samples, method=method, engine=engine)
    metrics, rollouts = session.run.metrics(), session.run.rollouts()
    assert [rollout.update for rollout in rollouts] == [item.update for item in metrics] == [1, 2, 3]
    prompts = {prompt.text for prompt in session.split.training}
    for rollout, item in zip(rollouts, metrics, strict=True):
        scores, kls = [text.score for text in rollout.texts], [text.kl for text in rollout.texts]
        assert sum(rollout.histogram.counts) == len(rollout.texts), "all of so few are kept"
        assert fmean(scores) == pytest.approx(item.score_mean, abs=1e-4)
        extremes = rollout.histogram.low, rollout.histogram.high
        assert extremes == pytest.approx((min(scores), max(scores)), abs=1e-4)
        for number, size in enumerate(rollout.histogram.counts):
            assert sum(text.bin == number for text in rollout.texts) == size
        assert {text.prompt for text in rollout.texts} <= prompts
        assert any(text.completion for text in rollout.texts)
        if (method, engine) == ("ppo", "trl") or method == "best_of_n":
            assert set(kls) == {None}
        else:
            assert min(kls) >= 0
            assert fmean(kls) == pytest.approx(item.kl_estimates["full"], abs=1e-3)


def batch(count):
    return ScoredTexts(["p"] * count, ["t"] * count, [float(n) for n in range(count)], [0.5] * count)


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
