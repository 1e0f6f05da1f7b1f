"""The desk of a class in a browser: it goes back, shows a run in front, says what it refuses, and takes an end back."""

from playwright.sync_api import expect

from tests.ui.test_browser_class import AWAY, Phone, opened, press  # noqa: F401


def test_the_desk_goes_back_shows_a_run_says_what_it_refuses_and_takes_an_end_back(class_site, opened, make_page):  # noqa: F811
    desk, code = opened
    screen, phone = make_page(1024, 768, forgive=AWAY), Phone(class_site, code)
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

    press(desk, "End the class")
    desk.get_by_role("dialog").get_by_role("button", name="End the class").click()
    expect(screen.locator("h1")).to_have_text("The class is over")
    press(desk, "Go on with this class")
    expect(screen.locator("h1")).to_have_text("What do the texts become?")
    assert desk.locator(".class-code").inner_text() == code
    assert phone.step()["id"] == first
