"""A newcomer finds the lessons and gets through one: predicts, sees a run, and sees the prediction held against it.

The lessons are those of tests/ui/lessons, whose runs the fake worker knows, or has as recordings.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import go
from tests.ui.test_browser_keyboard import tab_to

KEPT = "JSON.parse(localStorage.getItem('playground-lessons'))"


@pytest.fixture
def lesson(open_page):
    """Opens a lesson within the page that the module shares; what was answered is forgotten afterwards."""
    page = open_page

    def begin(name):
        go(page, "train", lesson=name, run="")
        page.locator("[data-step=predict]").wait_for()
        return page

    yield begin
    if page.evaluate("document.body.dataset.lesson"):
        page.get_by_role("button", name="Leave the lesson").click()
    page.evaluate("localStorage.clear(); dispatchEvent(new StorageEvent('storage', { key: 'playground-lessons' }))")


def step(page, name):
    """The open step, once it is this one."""
    opened = page.locator(f"[data-step={name}]")
    opened.wait_for()
    return opened


def press(page, name):
    page.locator(".lesson-step").get_by_role("button", name=name).click()


def test_a_newcomer_lands_on_the_lessons_and_gets_through_one_by_keyboard_with_recordings(site, make_page):
    page = make_page(newcomer=True)
    page.goto(f"{site.url}?__theme=light")  # as on a Space
    expect(page).to_have_url(re.compile(r"tab=lessons$"))
    page.get_by_role("link", name="Lesson 1").wait_for()
    assert page.locator("#page-train").is_hidden()
    key = page.keyboard.press
    page.locator("details.course", has_text="Two runs").locator("summary").focus()
    key("Enter")
    page.get_by_role("link", name="Two runs").focus()
    key("Enter")
    expect(page.get_by_role("heading", name="Two runs")).to_be_focused()
    expect(page.locator("#run-title")).to_have_text("No run yet")
    assert page.locator("#preset").is_hidden()
    assert page.locator(".section-names").is_hidden()
    assert page.locator("[data-chart=kl]").is_hidden()
    assert page.locator(".counts").is_hidden()
    tab_to(page, page.get_by_role("radio").first)
    key("Space")  # the wrong one
    tab_to(page, page.locator("#lesson-why"))
    page.keyboard.type("<b>Just so</b>")
    tab_to(page, page.get_by_role("button", name="That is my prediction"))
    key("Enter")
    heading = page.locator("#lesson-step")
    expect(heading).to_have_text("Now try it")
    expect(heading).to_be_focused()
    expect(page.locator(".lesson-behind")).to_contain_text("You predicted: They stay as they were")
    expect(page.locator(".lesson-behind")).to_contain_text("<b>Just so</b>")
    for run in (0, 1):
        tab_to(page, page.get_by_role("button", name="Play the recording"))
        key("Enter")
        expect(step(page, f"run-{run}")).to_contain_text("Kind are")
        expect(heading).to_be_focused()
        expect(page.locator("#lesson-panel [role=status]")).to_contain_text("Kind are")
        if run == 0:
            verdict = page.locator(".lesson-verdict")
            expect(verdict).to_contain_text("Not as you said")
            expect(verdict).to_contain_text("What happened: \u201cThey become kind\u201d")
            expect(verdict).to_contain_text("It sounds as if nothing could happen without a leash.")
        tab_to(page, page.locator(".lesson-step .button.strong"))
        key("Enter")
    expect(step(page, "explain")).to_contain_text("The leash costs")
    card = page.locator(".lesson-card")
    tab_to(page, card.locator("summary"))
    key("Enter")
    expect(card.locator("li:visible")).to_have_count(1)
    tab_to(page, card.get_by_role("button", name="Next step"))
    key("Enter")
    expect(card.locator("li:visible")).to_have_count(2)
    expect(card.locator("li").nth(1)).to_be_focused()
    expect(card.locator(".in-numbers math mn")).to_have_text("0.25")
    assert card.locator("mfrac").evaluate("node => node.namespaceURI") == "http://www.w3.org/1998/Math/MathML"
    tab_to(page, page.locator(".lesson-step .button.strong"))
    key("Enter")
    tab_to(page, page.get_by_role("radio").first)
    key("ArrowDown")
    tab_to(page, page.get_by_role("button", name="That is my answer"))
    key("Enter")
    expect(step(page, "transfer")).to_contain_text("It is not free.")
    expect(step(page, "transfer")).to_contain_text("What is so: Yes")
    tab_to(page, page.locator(".lesson-step .button.strong"))
    key("Enter")
    expect(step(page, "end")).to_contain_text("Not quite so, here. It costs score.")
    assert page.evaluate(KEPT)["two-runs"]["at"] == "end"
