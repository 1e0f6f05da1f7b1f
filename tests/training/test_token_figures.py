"""The figures of single tokens are those of the completion, taken apart: they add up to it in every kind of run."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch

from playground.config.yaml_io import from_dict
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.token_records import TokenFigures
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from playground.training.loop.token_figures import LIKELIEST
from playground.training.models import loading
from playground.training.models.token_pieces import Pieces, bytes_of
from playground.training.process.session import Session
from tests.nights import cases
from tests.support import config_with
from tests.training import tiny

SMALL = {
    "model": {"source": "pocket-1m"},
    "rewards": [{"kind": "sentiment"}],
    "ppo": {"num_updates": 3, "batch_size": 16, "minibatch_size": 16, "micro_batch_size": 8, "learning_rate": 2e-3},
    "prompts": {"limit": 16},
    "sampling": {"max_new_tokens": 10},
    "evaluation": {"num_prompts": 6, "every": 1, "token_samples": 4},
    "checkpoint": {"every": 0},
}
HOT = {"kl": {"coef": 0}, "sampling": {"temperature": 1.6, "max_new_tokens": 10}}
CUT = {"top_k": 6, "temperature": 0.8, "max_new_tokens": 6, "missing_eos_penalty": 1.5}
OWN_CRITIC = {"source": "pocket-1m", "critic": "separate"}
KINDS = {
    "adaptive": {"kl": {"controller": "adaptive", "coef": 0.4, "target": 1.0}},
    "free, hot, two samples": {**HOT, "seed": 5, "evaluation": {**SMALL["evaluation"], "samples_per_prompt": 2}},
    "cut, LoRA, penalty": {"sampling": CUT, "model": {"source": "pocket-1m", "adapter": {"kind": "lora"}}, "seed": 6},
    "k3, own critic, discount": {
        "kl": {"coef": 0.7, "estimator": "k3"},
        "model": OWN_CRITIC,
        "ppo": {**SMALL["ppo"], "gamma": 0.9, "gae_lambda": 0.8},
    },
    "full KL paid, other reference": {
        "kl": {"coef": 0.3, "estimator": "full"},
        "reference": {"source": "pocket-2m"},
    },
}


def trained_in(folder, changes):
    config = from_dict({**SMALL, **changes})
    run = RunDirectory.create(folder, config, "r")
    made = Session(run, config, RunWriter(run, config.ppo.num_updates), lambda: None)
    made.begin()
    made.evaluate_if_due()
    betas = {0: made.trainer.kl_controller.coef}
    watched = made.record

    def record(metrics):
        betas[metrics.update] = made.trainer.kl_controller.coef
        watched(metrics)

    made.record = record
    made.train()
    return made, betas


def estimate(name, own, theirs, exact):
    """The KL of a token by the estimators' definitions (Schulman 2020)."""
    d = own - theirs
    return {"k1": d, "k3": math.exp(-d) - 1 + d, "full": exact}[name]


@pytest.mark.parametrize("kind", cases(KINDS, always=["adaptive", "cut, LoRA, penalty", "k3, own critic, discount"]))
def test_what_tokens_have_adds_up_to_what_is_shown_of_the_completion(tmp_path, kind):
    made, betas = trained_in(tmp_path, KINDS[kind])
    config, run = made.config, made.run
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
        assert len(set(betas.values())) > 1


def test_the_likeliest_tokens_of_both_stand_behind_the_drawn_one(tmp_path):
    made, _ = trained_in(tmp_path, {})
    for one in made.run.token_figures():
        for place, options in enumerate(one.choices):
            piece, reference, policy = options[0]
            assert piece == one.pieces[place]
            assert len(options) <= 2 * LIKELIEST + 1
            assert policy == pytest.approx(math.exp(one.log_probs[place]), rel=1e-3, abs=1e-6)
            assert reference == pytest.approx(math.exp(one.reference_log_probs[place]), rel=1e-3, abs=1e-6)
            assert sum(option[2] for option in options) <= 1.001


def test_the_setting_says_how_many_and_none_is_none(tmp_path):
    none, _ = trained_in(tmp_path / "none", {"evaluation": {**SMALL["evaluation"], "token_samples": 0}})
    assert not none.run.tokens_path.exists()
    assert none.run.token_figures() == []
    more, _ = trained_in(tmp_path / "more", {"evaluation": {**SMALL["evaluation"], "token_samples": 64}})
    assert len(more.run.token_figures()) == 4 * 6, "there are no more prompts than there are"
    for mine, theirs in zip(none.policy.parameters(), more.policy.parameters(), strict=True):
        assert torch.equal(mine, theirs), "looking changes nothing"
    assert none.run.samples() == more.run.samples()


def test_parts_of_characters_are_shown_as_bytes():
    names = {0: "\u0120caf", 1: "\u00c3\u00a9", 2: "\u00e2\u0124", 3: "\u00ac", 4: "<0xE2>", 5: "<eos>"}
    shown = {0: " caf", 1: "\u00e9", 2: "\ufffd", 3: "\ufffd", 4: "\ufffd", 5: ""}
    tokenizer = SimpleNamespace(convert_ids_to_tokens=names.get)
    tokens = {"tokenizer": tokenizer, "encode": lambda text: [0], "decode": lambda ids, after: shown[ids[0]]}
    pieces = Pieces(SimpleNamespace(**tokens))
    assert [pieces(token) for token in range(6)] == [" caf", "\u00e9", "\\xe2\\x82", "\\xac", "\\xe2", "<eos>"]
    assert bytes_of("\u2581word") is None


def test_the_bytes_of_the_shipped_vocabulary_are_those_of_its_text():
    _, tokens = loading.load(catalog.model_folder("pocket-1m", None), torch.device("cpu"))
    pieces = Pieces(tokens)
    text = " a caf\u00e9 for 5 \u20ac \U0001f642"
    shown = [pieces(token) for token in tokens.encode(text)[1:]]
    assert "\\x" in "".join(shown)
    assert "\ufffd" not in "".join(shown)
    data = b"".join(
        bytes.fromhex(piece.replace("\\x", "")) if piece.startswith("\\x") else piece.encode() for piece in shown
    )
    assert data.decode() == text


def test_lines_that_are_torn_or_of_others_are_left_out(tmp_path):
    run = RunDirectory.create(tmp_path, config_with(tiny.config().model_dump(mode="json"), {}), "r")
    assert run.token_figures() == []  # as in a run from before there were any
    lists = {"pieces": ["a"], "log_probs": [-1.0], "reference_log_probs": [-1.0], "kl": [0.0], "entropies": [0.5]}
    choices = [[("a", 0.4, 0.4)]]
    line = TokenFigures(update=1, stage="during", prompt_id=0, seed=3, **lists, choices=choices)
    writer = RunWriter(run, 4)
    writer.tokens([line, line.model_copy(update={"prompt_id": 1})])
    with open(run.tokens_path, "a", encoding="utf-8") as file:
        file.write('{"update": 2}\nnot json\n{"attempt": 1, "update": 2, "sta')
    assert [one.prompt_id for one in run.token_figures()] == [0, 1]
    assert [one.prompt_id for one in run.token_figures(1)] == [1]
    again = RunWriter(run, 4, attempt=2)
    again.tokens([line.model_copy(update={"kl": [0.25]})])
    (kept,) = run.token_figures(0)
    assert kept.attempt == 2 and kept.kl == [0.25], "what a later attempt makes again counts"
