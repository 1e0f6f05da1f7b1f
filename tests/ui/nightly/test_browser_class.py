# ruff: noqa: F811 - pytest finds the fixtures by these names
"""The desk of a class in a browser: it goes back, shows a run in front, says what it refuses, takes an end back, also
over a restart of the server; and the host's page says where it is."""

from playwright.sync_api import expect

from tests.support import wait_until
from tests.ui.conftest import TOKEN
from tests.ui.test_browser_class import AWAY, lead, opened, press, shared, viewed  # noqa: F401


def test_the_host_s_page_says_where_it_is_once_there_is_a_class(shared, lead, make_page, person):
    page, host = make_page(), person(shared, TOKEN)
    before = host.read("class/front")["location"]
    page.goto(f"{shared.url}host?token={TOKEN}")
    page.get_by_role("link", name="Your desk").wait_for()
    page.goto(f"{shared.url}?run=first")
    page.locator(viewed("first")).wait_for()
    assert host.read("class/front")["location"] == before  # there is no class
    lead("open")

    def where():
        place = host.read("class/front")["location"] or {}
        return place.get("query"), place.get("update"), place.get("text")

    page.reload()
    wait_until(lambda: where() == ("run=first", None, None))
    page.get_by_role("link", name="Compare", exact=True).click()
    wait_until(lambda: where() == ("tab=compare&run=first", None, None))
    page.get_by_role("link", name="Runs", exact=True).click()
    wait_until(lambda: where()[0].startswith("tab=runs"))
    lead("end")


def test_the_desk_goes_back_shows_a_run_says_what_it_refuses_and_undoes_an_end(class_site, opened, make_page, person):
    desk, code = opened
    screen, phone = make_page(1024, 768, forgive=AWAY), person(class_site)
    phone.ask("class/join", code=code)
    screen.goto(f"{class_site.url}class/screen")
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

    class_site.stop()
    class_site.start()
    press(desk, "End the class")
    desk.get_by_role("dialog").get_by_role("button", name="End the class").click()
    expect(screen.locator("h1")).to_have_text("The class is over")
    press(desk, "Go on with this class")
    expect(screen.locator("h1")).to_have_text("What do the texts become?")
    assert (desk.locator(".class-code").inner_text(), phone.step()["id"]) == (code, first)
