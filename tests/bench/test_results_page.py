"""docs/results.md: written by two commands, and each leaves in place what the other has measured."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bench import results_page
from playground.setup import catalog

BEFORE = {name: 0.0 for name, _ in results_page.COLUMNS}
AFTER = BEFORE | {"score": 1.25, "kl": 3.5}
PRESETS = {
    "machine": "a machine",
    "runs": [{"preset": "one", "seed": 7, "seconds": 12.4, "prompts": 5, "before": BEFORE, "after": AFTER}],
}


def figures(**values: float) -> dict[str, Any]:
    errors = {f"{name}_se": 0.01 for name in values}
    return {**values, **errors, "effective_median": 50.0, "effective_p5": 10.0}


POINT = {"beta": 0.25, **figures(score=4.1, kl=8.4, objective=2.0)}
RUN = {"preset": "kinder-reviews", "seed": 7, **figures(score=3.7, kl=8.0, share=0.9), "best": 4.05}
FRONTIER = {"machine": "another", "prompts": 10, "each": 4, "frontiers": [{"seed": 7, "points": [POINT]}]}
FRONTIER["runs"] = [RUN]


def test_the_page_in_the_repository_is_made_of_the_figures_beside_it() -> None:
    made = results_page.page(results_page.read(results_page.PRESETS), results_page.read(results_page.FRONTIER))
    assert results_page.PAGE.read_text(encoding="utf-8") == made


def test_what_the_presets_did_and_how_near_that_is_to_the_best_stand_on_one_page() -> None:
    alone = results_page.page(PRESETS, {})
    both = results_page.page(PRESETS, FRONTIER)
    assert "| one | 7 | 12 | 0.00 -> 1.25 | 3.50 |" in alone and "make frontier" not in alone
    assert both.startswith(alone)
    assert "| 0.25 | 4.10 +- 0.01 | 8.40 +- 0.01 | 2.00 +- 0.01 | 50 | 10 |  |" in both
    assert "| kinder-reviews | 7 | 3.70 +- 0.01 | 8.00 +- 0.01 | 4.05 | 90.0% +- 1.0% |  |" in both


def test_what_rests_on_few_samples_is_marked() -> None:
    poor = {"frontiers": [{"seed": 7, "points": [POINT | {"effective_p5": 9.9}]}]}
    marked = [line for line in results_page.page(PRESETS, FRONTIER | poor).splitlines() if "not trustworthy" in line]
    assert [line.split(" | ")[0] for line in marked] == ["| 0.25"]


def rows(preset: str, kl: tuple[float, ...], positive: tuple[float, ...], gain: tuple[float, ...]) -> list[dict]:
    before = dict.fromkeys(BEFORE) | {"score": 0.5, "kl": 0.0, "positive": 0.25}
    sides = [
        before | {"kl": nats, "positive": share, "score": 0.5 + more}
        for nats, share, more in zip(kl, positive, gain, strict=True)
    ]
    known = {"prompts": 400, "asked": {"positive": 200}, "errors": {"score": 0.05, "kl": 0.02}}
    return [{"preset": preset, "before": before, "after": side, **known} for side in sides]


def test_what_a_run_is_held_against_is_where_further_seeds_should_end() -> None:
    alone = results_page.bands(rows("one", (1.0, 2.0, 3.0), (1.0, 1.0, 1.0), (0.5, 0.5, 0.5)))["one"]
    assert set(alone) == {"kl", "score", "positive"}
    usual = (1 - 0.02**2) / 0.6931  # of the median, the only one
    variance = (4 * (usual + 0.02**2) + 2) / 6
    half = 2.447 * (variance * 4 / 3) ** 0.5  # Student's t with 6 degrees
    assert alone["kl"] == [0.0, round(2 + half, 3), 3], "no KL is below 0"
    half = 2.447 * 0.05 * (4 / 3) ** 0.5
    assert alone["score"] == [round(0.5 - half, 3), round(0.5 + half, 3), 3], "no more exact than it was measured"
    assert alone["positive"] == [pytest.approx(0.981, abs=0.003), 1.0, 3, 0.25, 0.25]
    assert alone["positive"][0] <= round(1 / (1 + 1.96**2 / 200), 3), "Wilson's of 200 asked prompts"


def test_three_seeds_that_happen_to_agree_borrow_the_spread_of_the_others() -> None:
    wide = [
        row for number in range(6) for row in rows(f"wide {number}", (0.8, 1.0, 1.2), (0.6, 0.7, 0.8), (1.6, 2.0, 2.4))
    ]
    close = rows("close", (2.0, 2.0, 2.0), (0.7, 0.7, 0.7), (1.0, 1.0, 1.0))
    found, by_itself = results_page.bands([*wide, *close])["close"], results_page.bands(close)["close"]
    for name in ("kl", "score", "positive"):
        assert found[name][0] < by_itself[name][0] and found[name][1] > by_itself[name][1]
    assert found["kl"][1] - found["kl"][0] > 1.0, "20 % of 2 nats, on both sides"


def test_bands_hold_what_they_say() -> None:
    """Of many presets with three seeds each, a fourth seed, measured as these were, ends in the band 19 times in 20."""
    rng = random.Random(5)
    inside = total = 0
    for _ in range(30):
        runs, fourth = [], {}
        for number in range(20):
            true_kl, share, gain = rng.uniform(0.5, 9), rng.uniform(0.1, 0.9), rng.uniform(0.3, 4)
            spread = 0.15 * rng.gammavariate(4, 0.25)  # presets differ in it
            drawn = [
                (
                    abs(rng.gauss(true_kl * (1 + spread * rng.gauss(0, 1)), 0.02)),
                    sum(rng.random() < min(0.99, max(0.01, share + 0.3 * spread * rng.gauss(0, 1))) for _ in range(200))
                    / 200,
                    rng.gauss(gain * (1 + spread * rng.gauss(0, 1)), 0.05),
                )
                for _ in range(4)
            ]
            fourth[f"{number}"] = drawn.pop()
            runs += rows(f"{number}", *zip(*drawn, strict=True))
        for preset, band in results_page.bands(runs).items():
            for name, value in zip(("kl", "positive", "score"), fourth[preset], strict=True):
                inside, total = inside + (band[name][0] <= round(value, 3) <= band[name][1]), total + 1
    assert 0.92 < inside / total < 0.985


def test_the_bands_in_the_repository_are_made_of_the_figures() -> None:
    runs = results_page.read(results_page.PRESETS)["runs"]
    assert {name: one.bands for name, one in catalog.lessons().items() if one.bands} == results_page.bands(runs)
