# ruff: noqa: F811 - pytest finds the fixture by this name
"""The form in a browser: as a drawer, its short form and its switch to all settings, and who may fill it in; and the
colours of the dark theme on every page."""

from playwright.sync_api import expect

from tests.ui.conftest import go, open_settings, visit
from tests.ui.nightly.test_browser_form import LEASH
from tests.ui.test_browser import wait_for_update
from tests.ui.test_browser_ends import button
from tests.ui.test_browser_keyboard import PLACES, faults_of_pages, runs, serious_faults, tab_to  # noqa: F401


def test_no_page_has_a_serious_fault_of_accessibility_in_dark_colours(runs, page):
    page.evaluate("document.body.classList.add('dark')")
    faults = faults_of_pages(page, PLACES, runOnly=["color-contrast"])
    page.evaluate("document.body.classList.remove('dark')")
    assert not faults, "\n".join(faults)


def test_the_form_with_all_settings_has_no_serious_fault_of_accessibility(site, page):
    open_settings(page)
    assert serious_faults(page) == []


def test_the_form_as_a_drawer_takes_the_focus_and_gives_it_back(site, page):
    page.set_viewport_size({"width": 390, "height": 844})
    opening = page.get_by_role("button", name="Set up a run")
    opening.click()
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_focused()
    open_settings(page)
    page.get_by_role("button", name="Close", exact=True).focus()
    tab_to(page, page.locator(LEASH))
    page.keyboard.press("Escape")
    expect(opening).to_be_focused()


def test_a_hidden_setting_is_brought_into_view_by_its_name(site, make_page):
    page = visit(make_page(), site, "?preset=no-leash&set=ppo.gamma:0.5")
    page.locator("#notes summary").click()
    page.locator("#notes").get_by_role("button", name="Discount").click()
    expect(page.locator("#knob-ppo-gamma")).to_be_focused()
    expect(page.locator("#knob-ppo-gamma")).to_be_in_viewport()
    assert page.locator("#start-bar").bounding_box()["height"] <= 600 / 3


def test_who_may_steer_and_not_fill_in_the_form_has_the_leash_alone(site, page, begin):
    begin("steered-by-all")
    go(page, "train", run="steered-by-all")
    wait_for_update(page, 1)
    page.evaluate("document.documentElement.setAttribute('data-can-form', 'no')")
    expect(page.locator(LEASH)).to_be_visible()
    for hidden in ("#preset", "#story", "#start-bar"):
        expect(page.locator(hidden)).to_be_hidden()
    button(page, "Stop").click()
    expect(page.locator("#controls")).to_be_hidden()
    page.evaluate("document.documentElement.setAttribute('data-can-form', 'yes')")
