# ruff: noqa: F811 - pytest finds the fixture by this name
"""Who has no mouse, or a phone: the form as a drawer; and the colours of the dark theme on every page."""

from playwright.sync_api import expect

from tests.ui.conftest import open_settings
from tests.ui.test_browser_keyboard import MODEL, PLACES, faults_of_pages, runs, serious_faults, tab_to  # noqa: F401


def test_no_page_has_a_serious_fault_of_accessibility_in_dark_colours(runs, open_page):
    open_page.evaluate("document.body.classList.add('dark')")
    faults = faults_of_pages(open_page, PLACES, runOnly=["color-contrast"])
    open_page.evaluate("document.body.classList.remove('dark')")
    assert not faults, "\n".join(faults)


def test_the_form_with_all_settings_has_no_serious_fault_of_accessibility(site, open_page):
    open_settings(open_page)
    assert serious_faults(open_page) == []


def test_the_form_as_a_drawer_takes_the_focus_and_gives_it_back(site, open_page):
    page = open_page
    page.set_viewport_size({"width": 390, "height": 844})
    opening = page.get_by_role("button", name="Set up a run")
    opening.click()
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_focused()
    open_settings(page)
    page.get_by_role("button", name="Close", exact=True).focus()
    tab_to(page, page.locator(MODEL))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("listbox")).to_have_count(1)
    page.keyboard.press("Escape")  # the list
    expect(page.get_by_role("listbox")).to_have_count(0)
    expect(page.locator(MODEL)).to_be_focused()
    page.keyboard.press("Escape")
    expect(opening).to_be_focused()
