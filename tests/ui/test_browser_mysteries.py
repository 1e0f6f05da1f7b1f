"""A mystery run in the browser: read without lamps, named wrongly, then rightly, kept over a reload, handed in."""

import re

import pytest

from playground.config.faults import FAULTS
from playground.lessons import mysteries
from playground.lessons.mysteries import MISTAKES
from playground.runs.folder.directory import RunDirectory
from playground.ui import own_files
from tests.ui.conftest import go, of_module, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser_keyboard import tab_to

KEPT = "JSON.parse(localStorage.getItem('playground-mysteries'))"
FOUND = [RunDirectory.open(folder).config().planted[0] for folder in mysteries.recorded()]
NUMBER, FAULT = next((place, fault) for place, fault in enumerate(FOUND, start=1) if fault == "no-clip")
RUN = f"_recorded-{mysteries.recorded()[NUMBER - 1].name}"
WRONG = "headless-critic"


@pytest.fixture
def mystery(open_page):
    """Opens one within the page that the module shares; what was answered is forgotten afterwards."""
    page = open_page

    def begin(name=str(NUMBER)):
        into(page, name)
        page.locator(".mystery-panel h2", has_text="What is wrong here?").wait_for()
        page.locator("#run-title", has_text="Mystery run").wait_for()
        return page

    yield begin
    page.set_viewport_size({"width": 1440, "height": 600})
    if page.evaluate("document.body.classList.contains('mystery')"):
        page.get_by_role("button", name="Leave").click()
    page.evaluate("localStorage.clear(); dispatchEvent(new StorageEvent('storage', { key: 'playground-mysteries' }))")


def into(page, name):
    """Open it as its card does."""
    of_module(page, f"/{own_files.address('lessons/mysteries.js')}", "(m, name) => m.openMystery(name)", name)


def say(page, fault):
    page.get_by_role("radio", name=MISTAKES[fault].say).check()
    page.get_by_role("button", name="That is it").click()


def test_a_mystery_by_keyboard_named_wrongly_and_then_rightly(site, make_page):
    page = visit(make_page(), site, "?tab=lessons")
    key = page.keyboard.press
    page.get_by_role("link", name=re.compile(rf"^Mystery run {NUMBER}\b")).focus()
    key("Enter")
    expect(page.get_by_role("heading", name="What is wrong here?")).to_be_focused()
    expect(page).to_have_url(re.compile(rf"mystery={NUMBER}$"))
    expect(page.locator("#run-title")).to_have_text("Mystery run")
    tab_to(page, page.get_by_role("radio").first)
    for _ in range(list(FAULTS).index(WRONG)):
        key("ArrowDown")
    tab_to(page, page.locator("#mystery-why"))
    page.keyboard.type("<b>It says so</b>")
    tab_to(page, page.get_by_role("button", name="That is it"))
    key("Enter")
    verdict = page.locator(".lesson-verdict")
    expect(verdict).to_be_focused()
    expect(verdict).to_contain_text(MISTAKES[WRONG].shows)
    expect(page.locator(".mystery-panel")).not_to_contain_text(MISTAKES[FAULT].because)
    expect(page.get_by_role("radio", name=MISTAKES[WRONG].say)).to_be_disabled()
    page.reload()
    expect(page.get_by_role("radio", name=MISTAKES[WRONG].say)).to_be_disabled()
    expect(page.locator("#mystery-why")).to_have_value("<b>It says so</b>")
    say(page, FAULT)
    expect(verdict).to_contain_text("Found, after one other")
    expect(verdict).to_be_focused()
    expect(page.locator("#lesson-panel [role=status]")).to_contain_text("Found")
    expect(page.locator(".mystery-lines[data-kind=wrong] code")).to_have_text(list(MISTAKES[FAULT].wrong))
    expect(page.locator(".mystery-lines[data-kind=right] code")).to_have_text(list(MISTAKES[FAULT].right))
    page.reload()
    expect(verdict).to_contain_text("Found, after one other")
    assert page.evaluate(KEPT)[RUN] == {"tries": [WRONG], "why": "<b>It says so</b>", "end": "found", "named": FAULT}


def test_nothing_of_the_answer_is_asked_for_before(mystery):
    page = mystery()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("radio").first.check()
    assert not [url for url in asked if "/mystery" in url]
    say(page, FAULT)
    expect(page.locator(".lesson-verdict")).to_contain_text("Found")
    assert len([url for url in asked if url.endswith(f"{RUN}/mystery")]) == 1


def test_the_lamps_are_off_until_they_are_asked_for(mystery):
    page = mystery()
    name = page.locator("[data-section=health]")
    expect(name).to_contain_text("lamps off")
    assert page.locator(".alert, .alert-mark, [data-tone=red].section-name").count() == 0
    page.locator(".mystery-panel").get_by_role("button", name="Turn the lamps on").click()
    expect(page.locator("#section-health .alert.red").first).to_be_visible()
    expect(name).to_contain_text("red")
    assert page.evaluate(KEPT)[RUN] == {"lamps": True}
    expect(page.locator(".mystery-panel").get_by_role("button", name="Turn the lamps on")).to_have_count(0)


def test_the_section_itself_can_turn_them_on_and_a_healthy_run_has_them_as_ever(mystery):
    page = mystery()
    page.locator("[data-section=health]").click()
    page.locator("#section-health").get_by_role("button", name="Turn the lamps on").click()
    expect(page.locator("#section-health .alert").first).to_be_visible()
    page.get_by_role("button", name="Leave").click()
    go(page, "train", run="_recorded")
    expect(page.locator("[data-section=health]")).to_contain_text("all quiet")


def test_who_gives_up_is_shown_it_and_the_page_of_answers_says_so(mystery):
    page = mystery()
    page.get_by_role("button", name="Show me").click()
    expect(page.locator(".lesson-verdict")).to_contain_text(MISTAKES[FAULT].say)
    page.get_by_role("button", name="Leave").click()
    card = page.get_by_role("link", name=re.compile(rf"^Mystery run {NUMBER}\b"))
    expect(card).to_contain_text("shown")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save my answers as a page").click()
    text = saving.value.path().read_text(encoding="utf-8")
    assert f"Mystery run {NUMBER}" in text
    assert MISTAKES[FAULT].say in text
    assert "no, it was shown" in text


def test_a_run_that_is_no_mystery_says_so(mystery):
    page = mystery()
    into(page, "_recorded")
    expect(page.locator(".mystery-panel [role=alert]")).to_have_text("This run has no mistake to be found.")
    page.get_by_role("button", name="All lessons").click()
    expect(page.locator("#page-lessons")).to_be_visible()


def test_a_new_one_is_trained_and_then_run_without_its_mistake(site, make_page):
    page = visit(make_page(), site, "?tab=lessons")
    page.get_by_role("button", name="Train a new one").click()
    page.get_by_role("heading", name="What is wrong here?").wait_for()
    expect(page).to_have_url(re.compile(r"mystery=mystery-\d"))
    expect(page.locator("#run-title")).to_have_text("Mystery run")
    expect(page.locator("[data-section=health]")).to_contain_text("lamps off")
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("button", name="Run it without the mistake").click()
    expect(page.locator("#run-title")).to_have_text("Mystery run, without its mistake")
    expect(page.locator("#controls #preset")).to_be_visible()


def test_it_is_readable_at_390_px_and_scrolls_nowhere_sideways(mystery):
    page = mystery()
    page.set_viewport_size({"width": 390, "height": 800})
    say(page, FAULT)
    expect(page.locator(".lesson-verdict")).to_contain_text("Found")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
