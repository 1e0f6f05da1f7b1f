# ruff: noqa: F811 - pytest finds the fixture by this name
"""More of the mystery runs in a browser: lamps that are off, giving up, a run that is none, and one that is trained."""

import re

from playwright.sync_api import expect

from playground.lessons.mysteries import MISTAKES
from playground.ui import own_files
from tests.ui.conftest import go, of_module, visit
from tests.ui.test_browser_mysteries import FAULT, KEPT, NUMBER, RUN, page  # noqa: F401


def into(page, name):
    """Open it as its card does."""
    of_module(page, f"/{own_files.address('lessons/mysteries.js')}", "(m, name) => m.openMystery(name)", name)


def begin(page):
    """Open one, and wait until it is there."""
    into(page, str(NUMBER))
    page.locator(".mystery-panel h2", has_text="What is wrong here?").wait_for()
    page.locator("#run-title", has_text="Mystery run").wait_for()


def test_the_lamps_are_off_until_they_are_asked_for(page):
    begin(page)
    name = page.locator("[data-section=health]")
    expect(name).to_contain_text("lamps off")
    assert page.locator(".alert, .alert-mark, [data-tone=red].section-name").count() == 0
    page.locator(".mystery-panel").get_by_role("button", name="Turn the lamps on").click()
    expect(page.locator("#section-health .alert.red").first).to_be_visible()
    expect(name).to_contain_text("red")
    assert page.evaluate(KEPT)[RUN] == {"lamps": True}
    expect(page.locator(".mystery-panel").get_by_role("button", name="Turn the lamps on")).to_have_count(0)


def test_who_gives_up_is_shown_it_and_the_page_of_answers_says_so(page):
    begin(page)
    page.get_by_role("button", name="Show me").click()
    verdict = page.get_by_role("region", name="Mystery run").locator(".lesson-verdict")
    expect(verdict).to_contain_text(MISTAKES[FAULT].say)
    page.get_by_role("button", name="Leave").click()
    go(page, "lessons")
    page.locator("details.mysteries summary").click()
    card = page.get_by_role("link", name=re.compile(rf"^Mystery run {NUMBER}\b"))
    expect(card).to_contain_text("shown")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save my answers as a page").click()
    text = saving.value.path().read_text(encoding="utf-8")
    assert f"Mystery run {NUMBER}" in text
    assert MISTAKES[FAULT].say in text
    assert "no, it was shown" in text


def test_a_run_that_is_no_mystery_says_so(page):
    begin(page)
    into(page, "_recorded")
    expect(page.locator(".mystery-panel [role=alert]")).to_have_text("This run has no mistake to be found.")
    page.get_by_role("button", name="All lessons").click()
    expect(page.locator("#page-lessons")).to_be_visible()


def test_a_new_one_is_trained_and_then_run_without_its_mistake(site, make_page):
    page = visit(make_page(), site, "?tab=lessons")
    page.locator("details.mysteries summary").click()
    page.get_by_role("button", name="Train a new one").click()
    page.get_by_role("heading", name="What is wrong here?").wait_for()
    expect(page).to_have_url(re.compile(r"mystery=mystery-\d"))
    expect(page.locator("#run-title")).to_have_text("Mystery run")
    expect(page.locator("[data-section=health]")).to_contain_text("lamps off")
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("button", name="Run it without the mistake").click()
    expect(page.locator("#run-title")).to_have_text("Mystery run, without its mistake")
    expect(page.locator("#controls #preset")).to_be_visible()
