"""A class answers a question in two rounds, from phones, at the desk and in front, while the server ends and begins."""

import os
import re

import httpx
import pytest

from tests.ui.conftest import Site

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser_keyboard import AXE, faults_in, tab_to

TOKEN = "the-token-of-the-teacher"
AWAY = ("Failed to load resource",)  # what the browser says while there is no server


@pytest.fixture(scope="module")
def shared(tmp_path_factory, recorded):
    """A page for a class."""
    served = Site(tmp_path_factory.mktemp("class"), recorded, mode="classroom")
    os.environ["PLAYGROUND_HOST_TOKEN"] = TOKEN
    try:
        yield served
    finally:
        del os.environ["PLAYGROUND_HOST_TOKEN"]
        served.stop()


@pytest.fixture
def opened(shared, make_page):
    """The desk with a class that has just been opened, and its code."""
    if shared.process is None:
        shared.start()
    desk = make_page(forgive=AWAY)
    desk.goto(f"{shared.url}host?token={TOKEN}")
    desk.goto(f"{shared.url}class/desk")
    button = desk.get_by_role("button", name=re.compile("^Open a (new )?class$"))
    again = "new" in button.inner_text()
    button.click()
    if again:
        press(desk, "Delete it and open a new one")
    expect(desk.get_by_text("(0 joined)")).to_be_visible()
    expect(desk.locator(".class-code")).to_be_visible()
    return desk, desk.locator(".class-code").inner_text()


class Phone:
    """Someone else of the class, without a browser."""

    def __init__(self, site, code):
        self.site, self.client = site, httpx.Client(base_url=site.url, timeout=60)
        assert self.send("class/join", code=code) == {"error": ""}

    def send(self, path, **body):
        return self.client.post(path, json=body).json()

    def step(self):
        return self.client.get("class/state").json()["step"]

    def answer(self, choice):
        step = self.step()
        return self.send("class/answer", step=step["id"], item=step["round"], value={"choice": choice})


def press(desk, name, **options):
    desk.get_by_role("button", name=name, **options).click()


def test_two_rounds_of_a_question_and_a_restart_in_the_second(shared, opened, make_page):
    desk, code = opened
    phone, screen, other = make_page(390, 844, forgive=AWAY), make_page(1024, 768, forgive=AWAY), Phone(shared, code)
    screen.goto(f"{shared.url}class/screen")
    expect(screen.locator(".class-code")).to_have_text(code)
    phone.goto(f"{shared.url}class?code={code}")
    expect(phone.locator("h1")).to_have_text("You are in")

    desk.locator("#desk-lesson").select_option("two-runs")
    press(desk, "Ask this question")
    tab_to(phone, phone.get_by_role("radio").first)
    phone.keyboard.press("Space")
    fate = phone.locator(".class-fate")
    expect(fate).to_have_text("Kept. You can change it until it is closed.")
    phone.locator("#class-reason").fill("<b>so</b>")
    assert other.answer(1) == {"error": ""}
    expect(screen.locator(".screen-count")).to_have_text("2 of 2 have answered")
    assert screen.locator(".tally").count() == 0  # a histogram before the talk pulls answers
    for page in (phone, screen, desk):
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert faults_in(page.evaluate("() => axe.run({ resultTypes: ['violations'] })")) == []
    press(desk, "No more answers")
    expect(phone.locator(".class-parts")).to_contain_text("You said: \u201cThey stay as they were\u201d")
    assert other.answer(0)["error"].startswith("This is closed")

    press(desk, "Ask again")
    expect(phone.locator(".class-parts")).to_contain_text("Once more.")
    shared.stop()
    phone.get_by_role("radio").nth(1).check()
    expect(fate).to_contain_text("is kept on this phone, and sent then.")
    shared.start()
    expect(fate).to_have_text("Kept. You can change it until it is closed.")
    assert other.answer(1) == {"error": ""}

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


def test_the_desk_goes_back_shows_a_run_in_front_says_what_it_refuses_and_takes_an_end_back(shared, opened, make_page):
    desk, code = opened
    screen, phone = make_page(1024, 768, forgive=AWAY), Phone(shared, code)
    screen.goto(f"{shared.url}class/screen")
    desk.locator("#desk-lesson").select_option("two-runs")
    press(desk, "Ask this question")
    expect(desk.locator("[data-key='ask']")).to_have_attribute("aria-disabled", "true")
    first = phone.step()["id"]
    press(desk, "No more answers")
    strong = desk.locator(".desk-now .button.strong")
    expect(strong).to_have_text("Ask again")
    desk.locator("[data-key='twin 0']").click()

    press(desk, "Show the run in front")
    run = screen.frame_locator("iframe.screen-run")
    expect(run.locator("#run-title")).to_be_visible()
    for hidden in (".present-start", ".presentation-switch", ".steer", ".class-bar"):
        expect(run.locator(hidden)).to_be_hidden()
    press(desk, "Back to the question")
    expect(screen.locator("h1")).to_have_text("What do the texts become?")
    expect(screen.locator("iframe")).to_have_count(0)

    desk.get_by_text("A question of your own").click()
    desk.set_viewport_size({"width": 390, "height": 500})
    press(desk, "Ask it")
    expect(desk.get_by_text("Question: type one of at most 240 characters.")).to_be_in_viewport()
    press(desk, "OK")
    desk.locator("#desk-ask").fill("Why?")
    desk.locator("#desk-answers").fill("One\nTwo")
    press(desk, "Ask it")
    expect(screen.locator("h1")).to_have_text("Why?")
    press(desk, "Back to this: ")
    expect(screen.locator("h1")).to_have_text("What do the texts become?")
    assert phone.step()["id"] == first

    press(desk, "End the class")
    desk.get_by_role("dialog").get_by_role("button", name="End the class").click()
    expect(screen.locator("h1")).to_have_text("The class is over")
    press(desk, "Go on with this class")
    expect(screen.locator("h1")).to_have_text("What do the texts become?")
    assert desk.locator(".class-code").inner_text() == code
    assert phone.step()["id"] == first
