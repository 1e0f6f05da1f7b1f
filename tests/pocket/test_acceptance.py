"""The shipped models, measured again from their files: these are the promises on their cards."""

import json

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM

from playground.pocket.acceptance import acceptance, failures
from playground.setup.catalog import POCKET_MODELS

NAMES = ("pocket-1m", "pocket-2m")


def card_of(name):
    return json.loads((POCKET_MODELS / name / "card.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def figures():
    return acceptance(POCKET_MODELS / "pocket-2m")


@pytest.mark.nightly
def test_the_card_says_what_the_weights_do(figures):
    card = card_of("pocket-2m")
    # not to the last digit: another CPU rounds otherwise, and one sample in 500 is 0.002
    assert figures == pytest.approx(card["acceptance"], abs=0.02)
    assert card["acceptance_missed"] == failures(card["acceptance"]) == []


def test_the_small_model_does_what_its_card_says():
    card = card_of("pocket-1m")
    figures = acceptance(POCKET_MODELS / "pocket-1m", samples=100)
    assert card["acceptance_missed"] == failures(card["acceptance"])
    for name in ("parses", "ends", "agrees_with_right_claims", "neutral_sums_right", "neutral_facts_right"):
        assert figures[name] == pytest.approx(card["acceptance"][name], abs=0.06)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_folder_is_complete_small_and_plain_to_load(name):
    folder = POCKET_MODELS / name
    weights = folder / "model.safetensors"
    assert weights.stat().st_size < 5_000_000
    with safe_open(weights, "pt") as stored:
        assert {stored.get_tensor(key).dtype for key in stored.keys()} == {torch.float16}  # noqa: SIM118
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.float32
    assert model.num_parameters() == card_of(name)["parameters"]
