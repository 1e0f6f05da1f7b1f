"""docs/results.md: written by two commands, and each leaves in place what the other has measured."""

from __future__ import annotations

from typing import Any

from bench import results_page
from playground.setup import expected

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
FRONTIER = {
    "machine": "another", "prompts": 10, "each": 4, "frontiers": [{"seed": 7, "points": [POINT]}], "runs": [RUN],
}  # fmt: skip


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


def test_what_a_run_is_held_against_is_where_further_seeds_should_end() -> None:
    nothing = dict.fromkeys(BEFORE)
    before, after = nothing | {"score": 0.5, "positive": 0.25}, nothing | {"positive": 1.0}
    runs = [
        {"preset": "one", "prompts": 400, "before": before, "after": after | {"score": 1.0, "kl": kl}}
        for kl in (1.0, 2.0, 3.0)
    ]
    found = results_page.bands(runs)["one"]
    half = 4.303 * (4 / 3) ** 0.5  # of Student's t with 2 degrees; the sd is 1
    assert found["kl"] == [1.0, 3.0, 3, round(2 - half, 3), round(2 + half, 3)]
    assert found["score"] == [0.5, 0.5, 3, 0.499, 0.501]  # no more exact than the figures are
    assert found["positive"] == [1.0, 1.0, 3, round(1 / (1 + 1.96**2 / 400), 3), 1.0, 0.25, 0.25]  # Wilson's
    assert set(found) == {"kl", "score", "positive"}


def test_the_bands_in_the_repository_are_made_of_the_figures() -> None:
    runs = results_page.read(results_page.PRESETS)["runs"]
    assert results_page.read(expected.PATH) == results_page.bands(runs)
