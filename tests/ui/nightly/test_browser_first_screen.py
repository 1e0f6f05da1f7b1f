"""The first screen of Train with each of the recordings, on a second size of screens, and with a red lamp."""

import re

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.ui.conftest import choose_preset, visit
from tests.ui.test_browser import SECTIONS
from tests.ui.test_browser_first_screen import (
    FITTED,
    RECORDED,
    TEXTS_BEFORE,
    counted,
    in_place,
    site,  # noqa: F401
    walk_from_idle_to_the_end,
)

SIZES = ((1440, 900), (1366, 768))


@pytest.mark.parametrize("preset", sorted(path.name for path in RECORDED.iterdir()))
def test_a_recording_at_its_end_is_told_in_one_screen(open_page, preset):
    page = open_page
    choose_preset(page, preset)
    run = "_recorded" if preset == catalog.DEFAULT_PRESET else f"_recorded-{preset}"
    expect(page.locator(".run-view")).to_have_attribute("data-run", run)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator(TEXTS_BEFORE)).to_have_count(3)
        page.wait_for_function(FITTED)
        in_place(page)
        assert counted(page) == "recorded run"


def test_on_a_smaller_screen_all_stays_in_sight_and_nothing_moves(site, open_page):  # noqa: F811
    walk_from_idle_to_the_end(open_page, site, {"width": 1366, "height": 768})


def test_a_red_lamp_opens_its_section_by_itself_until_the_visitor_closes_it(site, make_page):  # noqa: F811
    page = visit(make_page(1440, 900), site, "?run=own-no-leash")
    name, box = page.locator("[data-section=health]"), page.locator("#section-health")
    expect(box.locator(".alert.red").first).to_be_visible()
    expect(name).to_have_text(re.compile(r"Is it healthy\? \d red"))  # a word beside its colour
    expect(name).to_have_attribute("aria-expanded", "true")
    for key in set(SECTIONS) - {"health"}:
        expect(page.locator(f"#section-{key}")).to_be_hidden()
    name.click()
    expect(box).to_be_hidden()
    page.reload()
    expect(box).to_be_visible()  # of a run that is opened anew
    page.goto(f"{site.url}?run=own-kinder-reviews")
    expect(name).to_have_text("Is it healthy? all quiet")
    expect(box).to_be_hidden()  # nobody has asked for it
