"""The figures of single tokens are those of the completion, taken apart: they add up to it in every kind of run."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import yaml

from playground.training.loop.token_figures import LIKELIEST
from playground.training.models.token_pieces import Pieces, bytes_of
from tests.nights import cases
from tests.training import small_run

SMALL = {"ppo__num_updates": 3, "ppo__learning_rate": 4e-3, "ppo__num_epochs": 2, "evaluation__num_prompts": 6}
KINDS = yaml.safe_load(Path(__file__).with_name("token_figures.yaml").read_text(encoding="utf-8"))


def trained(folder, samples, **changes):
    return small_run.trained(folder, small_run.config(**SMALL, evaluation__token_samples=samples, **changes))


@pytest.fixture(scope="module")
def all_shown(tmp_path_factory):
    """A run that shows more answers token by token than it has prompts."""
    return trained(tmp_path_factory.mktemp("all"), 64)


def estimate(name, own, theirs, exact):
    """The KL of a token by the estimators' definitions (Schulman 2020)."""
    d = own - theirs
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
    assert [(one.update, one.prompt_id) for one in figures] == [(u, p) for u in range(4) for p in range(4)]
    assert max(sum(one.kl) for one in figures) > 0.1, "it has learned something, or nothing is tested"
    for one in figures:
        sample = samples[one.update, one.prompt_id]
        assert (one.seed, one.stage, len(one.pieces)) == (sample.seed, sample.stage, sample.tokens)
        text = "".join(piece for piece in one.pieces if piece != "<eos>")
        assert text == sample.completion
        assert (one.pieces[-1] == "<eos>") == sample.ended
        assert sum(one.kl) == pytest.approx(sample.kl, abs=1e-4)
        triples = zip(one.log_probs, one.reference_log_probs, one.kl, strict=True)
        drift = sum(estimate(config.kl.estimator, *triple) for triple in triples)
        assert one.kl_coef == betas[one.update]
        assert sum(one.rewards) == pytest.approx(sample.score - one.kl_coef * drift, abs=1e-4)
        assert sum(one.leash) == pytest.approx(-one.kl_coef * drift, abs=1e-4)
        assert one.rewards[:-1] == one.leash[:-1]
    if kind == "adaptive":
        assert len(set(betas)) > 1


def test_the_likeliest_tokens_of_both_stand_behind_the_drawn_one(all_shown):
    for one in all_shown.run.token_figures():
        for place, options in enumerate(one.choices):
            piece, reference, policy = options[0]
            assert piece == one.pieces[place]
            assert len(options) <= 2 * LIKELIEST + 1
            assert policy == pytest.approx(math.exp(one.log_probs[place]), rel=1e-3, abs=1e-6)
            assert reference == pytest.approx(math.exp(one.reference_log_probs[place]), rel=1e-3, abs=1e-6)
            assert sum(option[2] for option in options) <= 1.001


def test_the_setting_says_how_many_and_showing_tokens_changes_nothing(all_shown, tmp_path):
    none = trained(tmp_path, 0)
    assert not none.run.tokens_path.exists()
    assert none.run.token_figures() == []
    assert len(all_shown.run.token_figures()) == 4 * 6, "there are no more prompts than there are"
    for weight, same in zip(none.policy.parameters(), all_shown.policy.parameters(), strict=True):
        assert torch.equal(weight, same)
    assert none.run.samples() == all_shown.run.samples()


def test_parts_of_characters_are_shown_as_bytes():
    names = {0: "\u0120caf", 1: "\u00c3\u00a9", 2: "\u00e2\u0124", 3: "\u00ac", 4: "<0xE2>", 5: "<eos>"}
    shown = {0: " caf", 1: "\u00e9", 2: "\ufffd", 3: "\ufffd", 4: "\ufffd", 5: ""}
    tokenizer = SimpleNamespace(convert_ids_to_tokens=names.get)
    tokens = {"tokenizer": tokenizer, "encode": lambda text: [0], "decode": lambda ids, after: shown[ids[0]]}
    pieces = Pieces(SimpleNamespace(**tokens))
    assert [pieces(token) for token in range(6)] == [" caf", "\u00e9", "\\xe2\\x82", "\\xac", "\\xe2", "<eos>"]
    assert bytes_of("\u2581word") is None
