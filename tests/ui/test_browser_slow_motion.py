"""One update in slow motion by keyboard alone: unfolded, walked through, asked what if; recorded while it trains."""

import pytest

from tests.ui import fake_run
from tests.ui.conftest import go, visit
from tests.ui.fake_trace import CLIPPED, write_trace
from tests.ui.test_browser import start
from tests.ui.test_browser_behaviours import serious
from tests.ui.test_browser_keyboard import AXE, assert_seen, tab_to

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def runs(site):
    """A run with a trace and one without."""
    write_trace(fake_run.write_run(site.outputs, "traced"), 12)
    fake_run.write_run(site.outputs, "older")
    return site


def test_an_update_is_walked_through_by_keyboard_and_asked_what_if(runs, open_page):
    page = open_page
    press = page.keyboard.press
    go(page, "train", run="traced")
    panel = page.locator(".slow-motion")
    words, formula, tokens = panel.locator(".slow-words").last, panel.locator(".slow-formula"), panel.locator(".token")
    expect(panel.locator("summary").first).to_contain_text("recorded: update 12")
    expect(panel.locator(".slow-body")).to_be_hidden()
    panel.locator("summary").first.focus()
    press("Enter")
    expect(tokens).to_have_count(6)
    expect(panel.locator(".slow-prompt")).to_have_text("<bos>Review: <i>film</i>")  # text, never markup
    expect(tokens.nth(3)).to_contain_text("·<b>lovely</b>")
    assert panel.locator("b, i").count() == 0
    stops = tab_to(page, panel.get_by_role("button", name="Next"))
    for title in ("1 Write", "2 Score", "3 Leash", "4 Value", "5 Advantage", "6 Clip", "7 Step"):
        expect(panel.locator("[aria-current=step]")).to_have_text(title)
        expect(panel.locator(".slow-code code").first).not_to_be_empty()
        press("Enter")
    expect(panel.get_by_role("button", name="Next")).to_have_attribute("aria-disabled", "true")
    panel.get_by_role("button", name="6 Clip").focus()
    press("Enter")
    expect(panel.locator(".clip-words")).to_contain_text(f"{CLIPPED} of 10 tokens have no gradient")
    expect(panel.locator(".clip-words")).to_contain_text("40 %. Over all 2 steps of this update it is 20 %")
    expect(panel.locator(".clip-counts tbody tr").first).to_contain_text("132 (no gradient)")
    expect(tokens.nth(2)).to_have_attribute("aria-pressed", "true")  # the first that is clipped
    expect(formula).to_contain_text("−min(1.50 · 0.83, 1.20 · 0.83) = −min(1.24, 0.99) = −0.99")
    stops += tab_to(page, tokens.nth(2))
    press("End")
    expect(tokens.nth(5)).to_be_focused()
    press("ArrowLeft")
    expect(tokens.nth(4)).to_have_attribute("aria-pressed", "true")
    expect(words).to_contain_text("as likely as when it was written")
    stops += tab_to(page, panel.get_by_role("slider", name="Epoch of the picture"))
    press("Home")
    expect(panel.locator(".clip-words")).to_contain_text("0 of 10 tokens have no gradient")
    stops += tab_to(page, panel.locator(".what-if summary"))
    press("Enter")
    stops += tab_to(page, panel.locator("#what-if-kl_coef"))
    press("ControlOrMeta+A")
    page.keyboard.type("2")
    press("Enter")
    expect(panel.locator(".what-if-mark")).to_have_text("What if: Leash (beta) 0.25 → 2")
    panel.get_by_role("button", name="3 Leash").focus()
    press("Enter")
    expect(formula).to_contain_text("−2 · 0.30 = −0.60")
    page.add_script_tag(path=AXE)
    assert not serious(page)
    panel.get_by_role("button", name="Back to what was recorded").focus()
    press("Enter")
    expect(panel.locator(".what-if-mark")).to_be_hidden()
    expect(formula).to_contain_text("−0.25 · 0.30 = −0.075")
    assert_seen(stops)
    panel.get_by_label("Episode").select_option(label="2: the lowest score (−1)")
    expect(tokens).to_have_count(4)
    go(page, "train", run="older")
    expect(panel.locator("summary").first).to_contain_text("none recorded")
    expect(panel.locator(".slow-words").first).to_contain_text("No update of this run was recorded.")
    expect(panel.locator(".slow-body")).to_be_hidden()


def test_the_next_update_is_recorded_while_it_trains_and_comes_into_view(runs, make_page):
    page = visit(make_page(), runs)
    start(page)
    record = page.get_by_role("button", name="Record")
    expect(page.locator(".state strong")).to_have_text("running")
    record.click()
    expect(page.locator(".slow-motion .token")).to_have_count(6)
    expect(page.locator(".slow-motion summary").first).to_contain_text("recorded: update")
    expect(record).to_have_attribute("aria-disabled", "false")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".state strong")).to_have_text("stopped")
