"""The bands of docs/results.md: what a run of a preset is held against, from the figures of three seeds."""

import random

import yaml

from bench import results_page
from playground.setup import catalog
from tests.bench import recorded

MEASURED = {"prompts": 400, "asked": {"positive": 200}, "errors": {"score": 0.05, "kl": 0.02}}
BEFORE = {**dict.fromkeys(name for name, _ in results_page.COLUMNS), "score": 0.5, "kl": 0.0, "positive": 0.25}


def rows(preset, *seeds):
    """KL, share of kind texts and gain on each seed."""
    sides = [BEFORE | {"kl": kl, "positive": positive, "score": 0.5 + gain} for kl, positive, gain in seeds]
    return [{"preset": preset, "before": BEFORE, "after": side, **MEASURED} for side in sides]


def test_bands_hold_what_they_say():
    """Of many presets with three seeds each, a fourth seed, measured as these were, ends in the band 19 times in 20."""
    rng = random.Random(5)
    inside = total = 0
    for _ in range(30):
        runs, fourth = [], {}
        for preset in map(str, range(20)):
            true_kl, share, gain = rng.uniform(0.5, 9), rng.uniform(0.1, 0.9), rng.uniform(0.3, 4)
            spread = 0.15 * rng.gammavariate(4, 0.25)  # presets differ in it
            seeds = []
            for _ in range(4):
                kl = abs(rng.gauss(true_kl * (1 + spread * rng.gauss(0, 1)), 0.02))
                kind = min(0.99, max(0.01, share + 0.3 * spread * rng.gauss(0, 1)))
                counted = sum(rng.random() < kind for _ in range(200)) / 200
                seeds.append((kl, counted, rng.gauss(gain * (1 + spread * rng.gauss(0, 1)), 0.05)))
            fourth[preset] = seeds.pop()
            runs += rows(preset, *seeds)
        for preset, band in results_page.bands(runs).items():
            for name, value in zip(("kl", "positive", "score"), fourth[preset], strict=True):
                inside, total = inside + (band[name][0] <= round(value, 3) <= band[name][1]), total + 1
    assert 0.92 < inside / total < 0.985


def test_the_bands_in_the_repository_are_made_of_the_figures():
    stories = catalog.stories()
    bands = results_page.bands(recorded("presets")["runs"], catalog.lesson_preset_names())
    assert {name: stories[name].bands for name in bands} == bands
    assert {*bands} == {*catalog.names_with_model()}


def test_what_is_wrong_on_purpose_says_nothing_of_the_usual_spread_between_seeds():
    steady = rows("steady", (1.0, 0.5, 2.0), (1.1, 0.52, 2.1), (0.9, 0.48, 1.9))
    wild = rows("wild", (1.0, 0.1, 0.1), (9.0, 0.9, 5.0), (20.0, 0.5, 9.0))
    alone, both = results_page.bands(steady), results_page.bands([*steady, *wild], ["wild"])
    assert both["steady"] == alone["steady"] != results_page.bands([*steady, *wild])["steady"]


def test_bands_are_written_as_the_last_part_of_a_story_that_had_none(tmp_path):
    path = tmp_path / "one.yaml"
    path.write_text('name: one\nstory:\n  look: "Texts."\n', encoding="utf-8")
    for kl in ([0.1, 0.2, 3], [0.3, 0.4, 3]):
        results_page.write_bands(path, {"kl": kl})
        text = path.read_text(encoding="utf-8")
        assert yaml.safe_load(text) == {"name": "one", "story": {"look": "Texts.", "bands": {"kl": kl}}}
        assert text.count("bands:") == 1
