"""The first screen of Train with each recording of the story, on a second size of screens, and with a red lamp."""

import re

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.ui.conftest import choose_preset, in_page, visit
from tests.ui.test_browser import SECTIONS
from tests.ui.test_browser_first_screen import (
    TEXTS_BEFORE,
    counted,
    in_place,
    site,  # noqa: F401
)

STORY = [story.preset for story in catalog.in_story() if story.preset in catalog.names_with_model()]


@pytest.mark.parametrize("preset", STORY)
def test_a_recording_at_its_end_is_told_in_one_screen(page, preset):
    choose_preset(page, preset)
    run = "_recorded" if preset == catalog.DEFAULT_PRESET else f"_recorded-{preset}"
    expect(page.locator(".run-view")).to_have_attribute("data-run", run)
    for width, height in ((1440, 900), (1366, 768)):
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator(TEXTS_BEFORE)).to_have_count(3)
        page.wait_for_function(in_page("fitted"))
        if page.locator(".texts-now-table.whole").count():
            continue  # texts whose length is the point are not cut
        in_place(page)
        assert counted(page) == "example, recorded"


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
