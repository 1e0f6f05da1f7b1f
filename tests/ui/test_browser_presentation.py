"""The presentation of a run, for a projector that nobody scrolls: on every usual screen all of it is in sight, in large
letters and without one part over another; and what the host steers with."""

import re

import pytest
from playwright.sync_api import expect

from playground.runs import launcher
from playground.runs.folder import changes
from tests.support import data_beside
from tests.ui.conftest import HEIGHT, choose_preset, go, in_page, present
from tests.ui.test_browser_keyboard import OVERLAPS, SETTLED

# each with the least size of its letters
SCREENS = {(1024, 768): 20, (1366, 768): 24, (1440, 900): 24, (1920, 1080): 24}
PARTS = ", ".join(data_beside(__file__, "tables.yaml")["presented"])
SMALLER_THAN = in_page("smaller-than")
OUT_OF_SIGHT = in_page("out-of-sight")


@pytest.fixture
def page(page):
    """The page that the module shares, as it was before it presented anything."""
    yield page
    go(page, "train", present=False)


def look_at_every_screen(page):
    """Every part is wholly in sight and readable, and nothing lies on anything else, which is so on a phone too."""
    expect(page.locator(".texts-now tbody tr")).to_have_count(3)
    for (width, height), letters in SCREENS.items():
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator(".charts-first .stage[data-drawn]")).to_have_count(2)  # in a low window they wait
        page.evaluate(SETTLED)
        assert page.evaluate(OUT_OF_SIGHT, PARTS) == [], (width, height)
        assert page.evaluate(OVERLAPS) == [], (width, height)
        assert page.evaluate(SMALLER_THAN, letters) == [], (width, height)
        stage = page.locator('[data-chart="score"] .stage').bounding_box()
        assert stage["width"] > 0.3 * width
        assert stage["height"] > 100
        texts_box = page.locator(".texts-now").bounding_box()
        assert texts_box["x"] + texts_box["width"] > 0.98 * width  # the whole width is used
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1440, "height": HEIGHT})


LEASH = """.leash-board h1, .leash-board input, .board-figures dd, .board-pairs .output,
  .board-curve:not([hidden]) .board-plot, .presentation-switch"""


def test_the_first_page_presents_its_leash(page):
    go(page, "lessons")
    page.locator(".leash-board input").wait_for()
    present(page)
    for width, height in SCREENS:  # the ticks of a drawing grow with it
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(OUT_OF_SIGHT, LEASH) == [], (width, height)
        assert page.evaluate(SMALLER_THAN, 18) == [], (width, height)


def test_the_host_goes_on_to_the_next_experiment_starts_it_pauses_and_queues_another(site, page):
    page.set_viewport_size({"width": 1366, "height": 768})
    present(page)
    title, state = page.locator("#run-title"), page.locator(".status .state strong")
    page.locator(".step .next").click()
    expect(title).to_have_text("No leash")
    assert "view=presentation" in page.url
    expect(page.locator(".leash-now")).to_have_text(re.compile(r"^Leash\s+0\s*$"))
    begin = page.get_by_role("button", name="Start training")
    expect(begin).to_have_attribute("aria-disabled", "false")
    site.let_runs_reach(2)
    begin.click()
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(state).to_have_text("paused")
    expect(title).to_have_text("No leash")
    expect(page.get_by_role("button", name="One step")).to_be_hidden()
    assert "view=presentation" in page.url
    run = launcher.living_runs(site.outputs)[0]
    changes.request_edits(run, [changes.Edit("kl.coef", 0.05)])
    page.get_by_role("button", name="Resume").click()
    expect(page.locator(".leash-now")).to_have_text(re.compile(r"^Leash\s+0\.05 since update \d \(before: 0\)$"))
    queue = page.get_by_role("button", name="Add to the queue")
    expect(queue).to_be_visible()
    expect(page.locator(".present-why")).to_have_text("“No leash” is training; one run at a time on this device.")
    queue.click()
    expect(page.locator(".notice h2")).to_contain_text("Waiting: 1 run before it")
    assert page.evaluate(OUT_OF_SIGHT, ".notice h2, .notice-lines p:first-child") == []
    assert page.evaluate("document.activeElement.id") == "run-title"  # the space key does not start another one
    page.keyboard.press("Escape")
    site.end_runs()
    site.let_runs_end()
    choose_preset(page, "kinder-reviews")  # while one trains the leash of the form is that run's
