"""The parts with a leash of their own, on the page of the lessons: a move of the slider moves all that they show."""

import re

import pytest
from playwright.sync_api import expect

from playground.lessons import boards
from tests.ui.conftest import go

DATA = boards.data("leash")
SHOWN = """node => [...node.querySelectorAll('{0}')].filter((one) => one.checkVisibility())
    .map((one) => one.outerHTML)"""


@pytest.fixture
def page(open_page):
    go(open_page, "lessons")
    for board in ("leash", "chalkboard"):
        open_page.locator(f"#{board}-lessons-stop").wait_for()
    rest = open_page.locator(".board-more")
    if rest.get_attribute("open") is None:
        rest.locator("summary").first.click()
    return open_page


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


def test_the_leash_is_drawn_before_gradio_has_started_and_goes_on_as_it_was(site, make_page):
    page = make_page(newcomer=True)
    held = []
    page.route("**/assets/index-*.js", lambda route: held.append(route))
    page.goto(site.url, wait_until="commit")
    slider = page.locator("#leash-lessons-stop")
    slider.focus()
    page.keyboard.press("End")
    assert page.locator(".first-light").count() == 1
    own = page.get_by_role("button", name="Another three")
    expect(own).to_have_css("padding", "4px 9px")  # by our sheet, then and after Gradio's own
    for route in held:
        route.continue_()
    page.locator("details.course").first.wait_for()
    assert page.locator(".first-light").count() == 0
    expect(own).to_have_css("padding", "4px 9px")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("barely moves"))
    expect(slider).to_be_focused()


def test_the_model_of_a_leash_is_asked_and_the_form_takes_the_leash_over(page):
    slider = page.locator("#leash-lessons-stop")
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Ask it yourself").click()
    page.get_by_label("Begin a review").fill("The film was")
    page.keyboard.press("Enter")
    answers = page.locator(".doors-ask td .output")
    expect(answers).to_have_count(2)
    page.get_by_role("button", name="Train it now").click()
    expect(page.locator("#knob-kl-coef")).to_have_value("0")
