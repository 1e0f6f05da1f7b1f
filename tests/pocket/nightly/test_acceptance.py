"""The shipped models, measured again from their files: these are the promises on their cards."""

import pytest

from bench.acceptance import acceptance, failures
from playground.setup.catalog import POCKET_MODELS
from tests.pocket.test_shipped_models import card_of


def test_the_card_says_what_the_weights_do():
    card = card_of("pocket-2m")
    # not to the last digit: another CPU rounds otherwise, and one sample in 500 is 0.002
    assert acceptance(POCKET_MODELS / "pocket-2m") == pytest.approx(card["acceptance"], abs=0.02)
    assert card["acceptance_missed"] == failures(card["acceptance"]) == []


def test_the_small_model_does_what_its_card_says():
    card = card_of("pocket-1m")
    figures = acceptance(POCKET_MODELS / "pocket-1m", samples=100)
    assert card["acceptance_missed"] == failures(card["acceptance"])
    for name in ("parses", "ends", "agrees_with_right_claims", "neutral_sums_right", "neutral_facts_right"):
        assert figures[name] == pytest.approx(card["acceptance"][name], abs=0.06)
