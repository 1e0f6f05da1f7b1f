"""A class answers a question in two rounds, from phones, at the desk and in front, while the server ends and begins."""

import re

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import TOKEN
from tests.ui.test_browser_keyboard import tab_to

AWAY = ("Failed to load resource",)  # what the browser says while there is no server


@pytest.fixture
def opened(class_site, make_page):
    """The desk with a class that has just been opened, and its code."""
    desk = make_page(forgive=AWAY)
    desk.request.get(f"{class_site.url}host?token={TOKEN}", max_redirects=0)  # the page itself takes seconds to load
    desk.goto(f"{class_site.url}class/desk")
    last = desk.request.get(f"{class_site.url}class/front").json()
    press(desk, re.compile("^Open a (new )?class$"))
    if last["steps"] or last["joined"]:
        press(desk, "Delete it and open a new one")
    expect(desk.get_by_text("(0 joined)")).to_be_visible()
    expect(desk.locator(".class-code")).to_be_visible()
    return desk, desk.locator(".class-code").inner_text()


def press(desk, name, **options):
    desk.get_by_role("button", name=name, **options).click()


def test_two_rounds_of_a_question_and_a_restart_in_the_second(class_site, opened, make_page, person):
    desk, code = opened
    phone, screen = make_page(390, 844, forgive=AWAY), make_page(1024, 768, forgive=AWAY)
    other = person(class_site)
    assert other.ask("class/join", code=code) == {"error": ""}
    screen.goto(f"{class_site.url}class/screen")
    expect(screen.locator(".class-code")).to_have_text(code)
    phone.goto(f"{class_site.url}class?code={code}")
    expect(phone.locator("h1")).to_have_text("You are in")

    desk.locator("#desk-lesson").select_option("two-runs")
    press(desk, "Ask this question")
    tab_to(phone, phone.get_by_role("radio").first)
    phone.keyboard.press("Space")
    fate = phone.locator(".class-fate")
    expect(fate).to_have_text("Kept. You can change it until it is closed.")
    phone.locator("#class-reason").fill("<b>so</b>")
    assert other.answer({"choice": 1}) == {"error": ""}
    expect(screen.locator(".screen-count")).to_have_text("2 of 2 have answered")
    assert screen.locator(".tally").count() == 0  # a histogram before the talk pulls answers
    press(desk, "No more answers")
    expect(phone.locator(".class-parts")).to_contain_text("You said: \u201cThey stay as they were\u201d")
    assert other.answer({"choice": 0})["error"].startswith("This is closed")

    press(desk, "Ask again")
    expect(phone.locator(".class-parts")).to_contain_text("Once more.")
    class_site.stop()
    phone.get_by_role("radio").nth(1).check()
    expect(fate).to_contain_text("is kept on this phone, and sent then.")
    class_site.start()
    expect(fate).to_have_text("Kept. You can change it until it is closed.")
    assert other.answer({"choice": 1}) == {"error": ""}

    press(desk, "No more answers")
    desk.locator("[data-key='twin 0']").click()
    press(desk, "Show the answers with what it says")
    expect(screen.locator(".screen-told")).to_have_text("Kind are 64 of 64.")
    assert screen.locator(".tally-count").all_inner_texts() == ["1 of 2", "0 of 2", "1 of 2", "2 of 2"]
    expect(phone.locator(".lesson-verdict")).to_contain_text("As you said")
    expect(phone.locator(".class-parts")).to_contain_text("Your reason: <b>so</b>")
    expect(phone.locator("li[data-right=true]")).to_contain_text("your answer")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(phone.get_by_role("link", name="Look at the run")).to_have_attribute("href", re.compile("run=_.*&follow=1"))
