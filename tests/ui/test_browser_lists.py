"""Runs and Rewards as lists and tabs, by mouse and by keyboard: what is in a row and what in its menu."""

from playwright.sync_api import expect

from tests.ui import fake_run
from tests.ui.conftest import go
from tests.ui.test_browser import more


def test_what_else_can_be_done_with_a_run_is_in_a_menu_that_the_keyboard_walks(site, page):
    fake_run.write_run(site.outputs, "menu")
    press = page.keyboard.press
    go(page, "runs")
    row = page.locator("tr[data-key='run menu']")
    expect(row.locator(".actions button").locator("visible=true")).to_have_text(["Open", "Compare", "More"])
    opens, menu = row.get_by_role("button", name="More"), row.get_by_role("menu")
    opens.focus()
    press("Enter")
    expect(menu).to_be_visible()
    items = menu.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    expect(items.first).to_have_text("Put its settings into the form")
    press("ArrowUp")
    expect(items.last).to_be_focused()
    expect(items.last).to_have_text("Delete")
    press("Home")
    press("ArrowDown")
    expect(menu.get_by_role("menuitem", name="Rename")).to_be_focused()
    press("Escape")
    expect(menu).to_be_hidden()
    expect(opens).to_be_focused()
    press("Enter")
    expect(items.first).to_be_focused()
    press("Tab")  # on from the button
    expect(menu).to_be_hidden()
    opens.click()
    fake_run.write_run(site.outputs, "newer")  # the list is drawn anew, and the menu stays open
    expect(page.locator("tr[data-key='run newer']")).to_be_visible()
    expect(menu).to_be_visible()
    page.get_by_role("heading", name="Runs").click()
    expect(menu).to_be_hidden()
    with page.expect_download() as saved:
        more(row, "YAML").click()
    assert saved.value.suggested_filename.endswith(".yaml")
    more(row, "Rename").click()
    expect(page.get_by_role("dialog").get_by_label("Name")).to_be_visible()
    press("Escape")
    expect(opens).to_be_focused()
