"""Pages of docs/ that are written from figures: those in the repository, and made-up ones (figures.yaml) by hand."""

import random
import re

import pytest

from bench import bands, chalkboard, diagnosis, hh, leash, lessons, methods, performance, real_page, results, sycophancy
from playground.config.faults import FAULTS
from playground.lessons import boards
from playground.lessons.loading import Lessons
from playground.setup import catalog
from tests.bench import MADE_UP, recorded
from tests.lessons import write
from tests.nights import nightly
from tests.support import PROJECT


def page(name):
    return (PROJECT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def of_board(name, parts, write):
    """A page from what its part of the Lessons page is sent, and the machine that it names."""
    runs = [run for part in boards.data(name)[parts] for run in part["runs"]]
    (machine,) = re.findall(r"Measured on (.+?)\.(?: `|\n)", page(name))
    return write(runs, machine)


PAGES = {
    "results": results.page,
    "real": lambda: real_page.page(recorded("real")),
    "sycophancy": lambda: sycophancy.page(recorded("sycophancy")),
    "methods": lambda: methods.page(recorded("methods"), recorded("switches")["runs"]),
    "performance": performance.page,
    "diagnosis": lambda: diagnosis.page(recorded("diagnosis"), page("diagnosis")),
    "hh": lambda: hh.page(recorded("hh")),
    "leash": lambda: of_board("leash", "leashes", leash.page),
    "chalkboard": lambda: of_board("chalkboard", "trained", chalkboard.page),
    "lessons": lambda: lessons.page(Lessons().courses, lessons.Measured.read()),
}


@pytest.mark.parametrize("name", [*list(PAGES)[:-1], nightly("lessons")])
def test_a_page_in_the_repository_is_made_of_the_figures_beside_it(name):
    assert page(name) == PAGES[name]()


MEASURED = {"prompts": 400, "asked": {"positive": 200}, "errors": {"score": 0.05, "kl": 0.02}}
BEFORE = {**dict.fromkeys(results.COLUMNS), "score": 0.5, "kl": 0.0, "positive": 0.25}


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
            sides = [BEFORE | {"kl": kl, "positive": share, "score": 0.5 + gain} for kl, share, gain in seeds]
            runs += [{"preset": preset, "before": BEFORE, "after": side, **MEASURED} for side in sides]
        for preset, band in bands.bands(runs).items():
            for name, value in zip(("kl", "positive", "score"), fourth[preset], strict=True):
                inside, total = inside + (band[name][0] <= round(value, 3) <= band[name][1]), total + 1
    assert 0.92 < inside / total < 0.985


def test_the_bands_in_the_repository_are_made_of_the_figures():
    stories = catalog.stories()
    made = bands.bands(recorded("presets")["runs"], catalog.lesson_preset_names())
    assert {name: stories[name].bands for name in made} == made
    assert {*made} == {*catalog.names_with_model()}


def test_what_was_not_measured_is_known_of_the_recording_alone(tmp_path):
    write(tmp_path, predict__options__1__when={"distinct": "< 0.5"}, reveal__0__when={"kl": "> 150"})
    text = lessons.page(Lessons(shipped=tmp_path).courses, lessons.Measured(MADE_UP["presets"]))
    row = next(line for line in text.splitlines() if line.startswith("| 1 |"))
    on_seeds, in_words = [cell.strip() for cell in row.strip("|").split(" | ")][3:]
    assert on_seeds == "recording"
    assert in_words == "distinct &lt; 0.5; not over the whole band: kl > 150 (its band: 128.078 to 265.675)"


FIGURES = recorded("diagnosis")
RAISED_ON_PURPOSE = {  # what the unhealthy presets are there to show
    "no-leash": {"kl-runaway", "strange-texts"},
    "chatterbox": {"length"},
}


def diagnosed_runs(name):
    of_run = [row for row in FIGURES["runs"] if row["run"] == name]
    assert [row["seed"] for row in of_run] == [0, 1, 2]
    return of_run


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_raises_its_own_alert_within_40_updates(fault):
    assert all(0 < (row["since"] or 99) <= 40 for row in diagnosed_runs(fault))


@pytest.mark.parametrize("preset", diagnosis.HEALTHY)
def test_a_healthy_preset_raises_no_red_alert(preset):
    for row in diagnosed_runs(preset):
        if preset in RAISED_ON_PURPOSE:
            assert RAISED_ON_PURPOSE[preset] <= {*row["red"]}
        else:
            assert not row["red"]
            assert row["amber"] in ([], ["flat"])[: 1 + (preset == "short-leash")]


@pytest.mark.parametrize("run", diagnosis.REMEDIED)
def test_a_remedy_that_an_alert_offers_ends_the_alert(run):
    red = {}
    for row in FIGURES["remedies"]:
        if row["run"] == run:
            assert row["lamp"] == diagnosis.REMEDIED[run]
            red.setdefault(row["remedy"], []).append(row["red"])
    assert [None, None, None] in red.values()
