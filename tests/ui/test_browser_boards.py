"""The parts with a leash of their own, on the page of the lessons: a move of the slider moves all that they show."""

import re

import pytest

from playground.lessons import boards
from tests.ui.conftest import go

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

DATA = boards.data("leash")
SHOWN = """node => [...node.querySelectorAll('{0}')].filter((one) => one.checkVisibility())
    .map((one) => one.outerHTML)"""


@pytest.fixture
def page(open_page):
    go(open_page, "lessons")
    open_page.locator("#leash-lessons-stop").wait_for()
    open_page.locator("#chalkboard-lessons-stop").wait_for()
    yield open_page
    open_page.set_viewport_size({"width": 1440, "height": 600})


def drawn(part):
    """All that changes in it: curves, point and slope, counts, texts."""
    return {
        "curves": part.evaluate(SHOWN.replace("{0}", "polyline.now")),
        "slope": part.evaluate(SHOWN.replace("{0}", "polyline.slope")),
        "point": part.evaluate(SHOWN.replace("{0}", "circle.here")),
        "counts": part.locator(".board-counts").inner_text(),
        "texts": part.locator(".board-texts").inner_text(),
        "sentence": part.locator(".board-sentence").inner_text(),
    }


def test_one_key_moves_curves_point_counts_and_texts_of_the_leash(page):
    part, slider = page.locator(".leash-board"), page.locator("#leash-lessons-stop")
    was = [stop["beta"] for stop in DATA["leashes"]].index(DATA["beta"])
    before = drawn(part)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    after = drawn(part)
    assert not [name for name, shown in before.items() if after[name] == shown]
    shorter = DATA["leashes"][was - 1]
    spoken = re.compile(rf"^{shorter['beta']:g}, (useful|runs away): score \+")
    expect(slider).to_have_attribute("aria-valuetext", spoken)
    assert after["sentence"].startswith(f"With a leash of {shorter['beta']:g} the gain in score was +")
    expect(part.get_by_role("status")).to_have_text(after["sentence"])
    page.keyboard.press("Home")  # no leash at all: on a scale of its own
    assert drawn(part)["sentence"].startswith("Without a leash")
    assert len(part.evaluate(SHOWN.replace("{0}", "polyline.slope"))) == 1
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("barely moves"))


def test_other_texts_come_in_the_place_of_these(page):
    part = page.locator(".leash-board")
    shown = part.locator(".board-texts td.prompt").all_inner_texts()
    part.get_by_role("button", name="Another three").click()
    assert not {*shown} & {*part.locator(".board-texts td.prompt").all_inner_texts()}


def test_the_best_policy_of_the_chalkboard_moves_along_its_line(page):
    part, slider = page.locator(".chalkboard"), page.locator("#chalkboard-lessons-stop")
    slider.focus()
    page.keyboard.press("Home")
    low, words = part.locator("circle.here").get_attribute("cx"), part.locator(".board-sentence").inner_text()
    page.keyboard.press("End")
    assert float(part.locator("circle.here").get_attribute("cx")) < float(low)  # a short leash: near the start
    assert part.locator(".board-sentence").inner_text() != words
    bars = part.locator(".board-chance").first.locator("span")
    widths = [float(width.removesuffix("%")) for width in bars.evaluate_all("all => all.map((one) => one.style.width)")]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)  # and hardly another policy


def test_both_fit_a_phone(page):
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
