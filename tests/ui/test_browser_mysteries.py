"""A mystery run in the browser: found by keyboard, named wrongly and then rightly, kept over a reload."""

import re

import pytest
from playwright.sync_api import expect

from playground.config.faults import FAULTS
from playground.lessons import mysteries
from playground.lessons.mysteries import MISTAKES
from playground.runs.folder.directory import RunDirectory
from tests.ui.conftest import go
from tests.ui.test_browser_keyboard import tab_to

KEPT = "JSON.parse(localStorage.getItem('playground-mysteries'))"
PLANTED = [RunDirectory.open(folder).config().planted[0] for folder in mysteries.recorded()]
NUMBER, FAULT = next((place, fault) for place, fault in enumerate(PLANTED, start=1) if fault == "no-clip")
RUN = f"_recorded-{mysteries.recorded()[NUMBER - 1].name}"
WRONG = "headless-critic"


@pytest.fixture
def page(open_page):
    """The page that the module shares; what was answered is forgotten afterwards."""
    yield open_page
    if open_page.evaluate("document.body.classList.contains('mystery')"):
        open_page.get_by_role("button", name="Leave").click()
    open_page.evaluate(
        "localStorage.clear(); dispatchEvent(new StorageEvent('storage', { key: 'playground-mysteries' }))"
    )


def say(page, fault):
    page.get_by_role("radio", name=MISTAKES[fault].say).check()
    page.get_by_role("button", name="That is it").click()


def test_a_mystery_is_named_wrongly_and_then_rightly_by_keyboard_and_nothing_of_the_answer_is_asked_for_before(page):
    key, asked = page.keyboard.press, []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith(f"{RUN}/mystery") else None)
    go(page, "lessons")
    page.locator("details.mysteries summary").focus()
    key("Enter")
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
    assert not asked
    key("Enter")
    verdict = page.get_by_role("region", name="Mystery run").locator(".lesson-verdict")
    expect(verdict).to_be_focused()
    expect(verdict).to_contain_text(MISTAKES[WRONG].shows)
    assert len(asked) == 1
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
    assert page.evaluate(KEPT)[RUN] == {"tries": [WRONG], "why": "<b>It says so</b>", "end": "found", "named": FAULT}
