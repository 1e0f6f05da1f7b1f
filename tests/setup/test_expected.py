"""What presets came to: their bands, and these in words."""

from __future__ import annotations

import pytest

from playground.setup import catalog, expected
from playground.setup.expected import Band, band_in_words, bands, line


def test_a_band_reads_like_speech() -> None:
    assert band_in_words("positive", Band(0.877, 0.913, 3)) == "88 to 91 %"
    assert band_in_words("ends", Band(0.998, 1.0, 3)) == "100 %"
    assert band_in_words("score", Band(3.71, 4.174, 3)) == "+3.7 to +4.2 sd"
    assert band_in_words("score", Band(-0.04, 0.2, 3), "points") == "-0.04 to +0.20 points"
    assert band_in_words("kl", Band(0.055, 0.065, 3)) == "0.06 to 0.07 nats"  # 0.055 is a little more in binary
    assert band_in_words("kl", Band(197.8, 243.6, 3)) == "198 to 244 nats"


def test_a_line_tells_the_behaviours_that_training_changes_most_first(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = {
        "wrong-claims-repeated": [0.88, 0.91, 3, 0.46, 0.56],
        "right-claims-agreed": [0.97, 1.0, 3, 0.98, 0.99],  # on one seed more, on another less
        "parses": [0.01, 0.02, 3, 0.98, 0.99],
        "score": [0.47, 0.56, 3],
        "kl": [0.88, 0.95, 3],
    }
    monkeypatch.setattr(catalog, "lessons", lambda: {"yes-man": catalog.Lesson("yes-man", bands=figures)})
    assert line("yes-man") == (
        "Expected from 3 seeds: keeps to the grammar 1 to 2 % (untrained: 98 to 99 %), repeats wrong claims 88 to 91 % "
        "(untrained: 46 to 56 %), score +0.47 to +0.56 sd, KL 0.88 to 0.95 nats."
    )
    del figures["wrong-claims-repeated"], figures["parses"]
    assert line("yes-man").startswith(
        "Expected from 3 seeds: agrees with right claims 97 to 100 % (untrained: 98 to 99 %)"
    )
    assert line("no such preset") == ""


def test_the_band_of_a_taught_behaviour_lies_beyond_the_untrained_model() -> None:
    assert bands("yes-man")["wrong-claims-repeated"].moved > 0.3
    assert all(
        band.low >= 0.0 for preset in catalog.preset_names() for name, band in bands(preset).items() if name != "score"
    )
