"""Every page in three widths, with the usual text and with larger: nothing scrolls sideways, and no text lies on
another."""

import pytest
from playwright.sync_api import expect

from tests.nights import nightly
from tests.ui.conftest import HEIGHT, go, in_page, open_section
from tests.ui.test_browser import SECTIONS
from tests.ui.test_browser_keyboard import LONG, PAGES, PLACES, SETTLED, runs  # noqa: F401

# widths, each with whether the text is larger
BY_DAY, AT_NIGHT = [(390, False), (390, True), (1024, True), (1440, True)], [(1024, False), (1440, False)]
OVERLAPS = in_page("overlaps")


@pytest.mark.parametrize("layouts", [BY_DAY, nightly(AT_NIGHT)], ids=["by-day", "at-night"])
@pytest.mark.parametrize("pages", PAGES)
def test_nothing_scrolls_sideways_and_no_text_lies_on_another(runs, open_page, pages, layouts):  # noqa: F811
    page, faults = open_page, []
    for name in PAGES[pages]:
        place, there = PLACES[name]
        go(page, **place)
        expect(page.locator(there).locator("visible=true").first).to_be_visible()
        for key in SECTIONS if name == LONG else ():
            open_section(page, key)
        for width, larger in layouts:
            page.evaluate("(larger) => document.body.classList.toggle('projector', larger)", larger)
            page.set_viewport_size({"width": width, "height": HEIGHT})
            page.evaluate(SETTLED)
            layout = f"{name}, {width} px{', larger text' if larger else ''}"
            if page.evaluate("document.documentElement.scrollWidth") > width:
                faults.append(f"{layout}: scrolls sideways")
            faults += [f"{layout}: {pair}" for pair in page.evaluate(OVERLAPS)]
    page.evaluate("document.body.classList.remove('projector')")
    assert not faults, "\n".join(faults)
