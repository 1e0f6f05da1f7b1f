"""docs/results.md: written by two commands, and each leaves in place what the other has measured."""

from __future__ import annotations

import random
from pathlib import Path

import yaml

from bench import results_page
from playground.setup import catalog

BEFORE = {name: 0.0 for name, _ in results_page.COLUMNS}


def test_the_page_in_the_repository_is_made_of_the_figures_beside_it() -> None:
    made = results_page.page(results_page.read(results_page.PRESETS), results_page.read(results_page.FRONTIER))
    assert results_page.PAGE.read_text(encoding="utf-8") == made


def rows(preset: str, kl: tuple[float, ...], positive: tuple[float, ...], gain: tuple[float, ...]) -> list[dict]:
    before = dict.fromkeys(BEFORE) | {"score": 0.5, "kl": 0.0, "positive": 0.25}
    sides = [
        before | {"kl": nats, "positive": share, "score": 0.5 + more}
        for nats, share, more in zip(kl, positive, gain, strict=True)
    ]
    known = {"prompts": 400, "asked": {"positive": 200}, "errors": {"score": 0.05, "kl": 0.02}}
    return [{"preset": preset, "before": before, "after": side, **known} for side in sides]


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
    stories, of_lessons = catalog.stories(), catalog.lesson_preset_names()
    made = results_page.bands(runs, of_lessons)
    assert {name: stories[name].bands for name in made} == made
    assert {*made} == {*catalog.names_with_model()}


def test_what_is_wrong_on_purpose_says_nothing_of_the_usual_spread_between_seeds() -> None:
    """The bands of the others are as without it."""
    steady = rows("steady", (1.0, 1.1, 0.9), (0.5, 0.52, 0.48), (2.0, 2.1, 1.9))
    wild = rows("wild", (1.0, 9.0, 20.0), (0.1, 0.9, 0.5), (0.1, 5.0, 9.0))
    alone, both = results_page.bands(steady), results_page.bands([*steady, *wild], ["wild"])
    assert both["steady"] == alone["steady"] != results_page.bands([*steady, *wild])["steady"]


def test_bands_are_written_as_the_last_part_of_a_story_that_had_none(tmp_path: Path) -> None:
    path = tmp_path / "one.yaml"
    path.write_text('name: one\nstory:\n  look: "Texts."\n', encoding="utf-8")
    for kl in ([0.1, 0.2, 3], [0.3, 0.4, 3]):
        results_page.write_bands(path, {"kl": kl})
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert found == {"name": "one", "story": {"look": "Texts.", "bands": {"kl": kl}}}
