# ruff: noqa: F811 - pytest finds the fixture by this name
"""More of reading runs in a browser: the window of an update where there is no answer, nothing kept, or a run that goes
on."""

from playwright.sync_api import expect

from tests.ui.conftest import go, in_page, visit
from tests.ui.test_browser import wait_for_update
from tests.ui.test_browser_ends import button
from tests.ui.test_browser_keyboard import serious_faults
from tests.ui.test_browser_rollout import (  # noqa: F401
    WINDOW,
    close,
    open_last,
    point_at,
    press_mouse,
    runs,
    stage_of,
    title,
)


def test_a_run_that_kept_nothing_says_so_and_what_was_shown_stays_while_there_is_no_answer(runs, make_page):
    page = visit(make_page(forgive=("Failed to load resource",)), runs, "?run=before")
    window = page.locator(WINDOW)
    open_last(page)
    title(page, 40)
    expect(window.locator(".rollout-note")).to_have_text("This run was made before updates kept their texts.")
    expect(window.locator(".rollout-body")).to_be_hidden()
    page.keyboard.press("ArrowLeft")  # leads nowhere
    title(page, 40)
    close(page)
    go(page, "train", run="kept")
    open_last(page)
    expect(window.locator(".rollout-bar").first).to_be_visible()
    page.route("**/rollout/39", lambda route: route.abort())
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"document.querySelector('{WINDOW} .rollout-note').textContent.includes('cannot reach')")
    title(page, 40)
    page.unroute("**/rollout/39")
    page.keyboard.press("ArrowLeft")
    title(page, 39)
    expect(window.locator(".rollout-note")).to_be_hidden()


def test_the_update_after_the_newest_is_there_as_soon_as_it_has_come(site, page, begin):
    site.let_runs_reach(2)
    begin("goes-on")
    go(page, "train", run="goes-on")
    wait_for_update(page, 2)
    open_last(page)
    title(page, 2, "goes-on")
    following = button(page, "Next update \u2192")
    expect(following).to_have_attribute("aria-disabled", "true")
    last = page.locator(WINDOW).locator(".rollout-bar").last
    expect(last).to_be_visible()  # those of an earlier window are there too, hidden until the answer comes
    last.focus()
    site.let_runs_reach(3)
    expect(following).to_have_attribute("aria-disabled", "false")
    expect(last).to_be_focused()
    page.keyboard.press("n")
    title(page, 3, "goes-on")
    close(page)


def test_the_window_of_an_update_has_no_serious_fault_of_accessibility_and_fits_a_phone(runs, page):
    go(page, "train", run="kept")
    open_last(page)
    page.locator(WINDOW).get_by_role("button", name="Top bin").click()
    for _ in range(2):  # both themes
        assert not serious_faults(page)
        page.evaluate("document.body.classList.toggle('dark')")
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function(in_page("window-fits"))
    close(page)


def test_a_click_opens_the_point_that_is_read_and_neither_a_drag_nor_a_double_click_does(runs, page):
    go(page, "train", run="kept")
    stage, window = stage_of(page), page.locator(WINDOW)
    update = point_at(page, stage, 0.6)
    assert 15 < update < 30
    press_mouse(page)
    title(page, update)
    window.locator(".rollout-bar").last.click()
    expect(window.locator(".rollout-texts .tag").first).to_have_text("best")
    page.mouse.click(5, 5)  # beside it
    expect(window).to_have_count(0)
    back = page.get_by_role("button", name="Whole run")
    point_at(page, stage, 0.3)
    page.mouse.down()
    last = point_at(page, stage, 0.7)
    page.mouse.up()
    expect(back).to_be_visible()
    assert int(stage.get_attribute("aria-valuenow")) <= last
    box = stage.bounding_box()
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 50)
    expect(back).to_be_hidden()
    page.wait_for_timeout(400)  # longer than a first click waits for a second one
    expect(window).to_have_count(0)
