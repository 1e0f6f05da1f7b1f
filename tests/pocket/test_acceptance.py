"""The shipped models, measured again from their files: these are the promises on their cards."""

from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForCausalLM

from playground.pocket import shipped
from playground.pocket.acceptance import BOUNDS, acceptance, failures


@pytest.fixture(scope="module")
def figures():
    return acceptance(shipped.model_folder(shipped.DEFAULT_MODEL))


@pytest.mark.thorough
@pytest.mark.parametrize("figure", BOUNDS)
def test_the_default_model_is_within_its_bounds(figures, figure):
    low, high = BOUNDS[figure]
    assert low <= figures[figure] <= high


@pytest.mark.thorough
def test_the_card_says_what_the_weights_do(figures):
    card = shipped.card(shipped.DEFAULT_MODEL)
    # not to the last digit: another CPU rounds otherwise, and one sample in 500 is 0.002
    assert figures == pytest.approx(card["acceptance"], abs=0.02)
    assert card["acceptance_missed"] == failures(card["acceptance"]) == []


def test_the_small_model_does_what_its_card_says():
    card = shipped.card("pocket-1m")
    figures = acceptance(shipped.model_folder("pocket-1m"), samples=100)
    assert card["acceptance_missed"] == failures(card["acceptance"])
    for name in ("parses", "ends", "agrees_with_right_claims", "neutral_sums_right", "neutral_facts_right"):
        assert figures[name] == pytest.approx(card["acceptance"][name], abs=0.06)


@pytest.mark.parametrize("name", shipped.SHAPES)
def test_the_page_shows_the_figures_of_the_card(name):
    page = (Path(__file__).parents[2] / "docs" / "pocket-world.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("|")]
    header = next(row for row in rows if row[0] == "figure")
    shown = {row[0].strip("`"): row[header.index(name)] for row in rows if len(row) == len(header)}
    for figure in BOUNDS:
        assert shown[figure] == f"{shipped.card(name)['acceptance'][figure]:.3f}"


def test_figures_outside_their_bounds_are_named():
    perfect = {name: (low + high) / 2 for name, (low, high) in BOUNDS.items()}
    assert failures(perfect) == []
    assert failures(perfect | {"ends": 0.97, "reviews_positive": 0.61}) == ["ends", "reviews_positive"]


@pytest.mark.parametrize("name", shipped.SHAPES)
def test_a_model_folder_is_complete_small_and_plain_to_load(name):
    folder = shipped.model_folder(name)
    assert shipped.available()[name] == folder
    weights = folder / "model.safetensors"
    assert weights.stat().st_size < 5_000_000
    with safe_open(weights, "pt") as stored:
        assert {stored.get_tensor(key).dtype for key in stored.keys()} == {torch.float16}  # noqa: SIM118
    model = AutoModelForCausalLM.from_pretrained(folder)
    assert model.dtype == torch.float32
    assert model.num_parameters() == shipped.card(name)["parameters"]
    assert model.config.tie_word_embeddings
    assert model.config.max_position_embeddings == 128


def test_an_unknown_model_is_refused_with_the_known_ones():
    with pytest.raises(KeyError, match="pocket-2m"):
        shipped.model_folder("pocket-9m")
