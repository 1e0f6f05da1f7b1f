"""An answer token by token: opened beside it, coloured, walked by keyboard, as a table, played over the looks."""

import pytest

from playground.runs.folder.directory import RunDirectory
from tests.ui import fake_run
from tests.ui.conftest import go
from tests.ui.test_browser_behaviours import serious
from tests.ui.test_browser_keyboard import AXE

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def runs(site):
    """A run that kept its first answers token by token."""
    fake_run.write_tokens(fake_run.write_run(site.outputs, "kept"))
    return site


def test_an_answer_opens_as_tokens_with_their_figures_by_keyboard(runs, open_page):
    page = open_page
    go(page, "train", run="kept")
    expect(page.locator(".status .badge")).to_be_hidden()  # the recording has gone
    row = page.locator("section.changed table.pairs tbody tr").nth(1)
    button = row.get_by_role("button", name="Tokens, after update 40")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Tokens, after update 40")
    tokens = dialog.get_by_role("listbox", name="Tokens of this answer").get_by_role("option")
    kept = RunDirectory(runs.outputs / "kept").token_figures(1)[-1]
    expect(tokens).to_have_count(len(kept.pieces))
    expect(tokens.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(1)).to_be_focused()
    expect(tokens.nth(1)).to_have_attribute("aria-selected", "true")
    expect(tokens.nth(1)).to_have_class("token below")  # made up as less likely than before
    assert "KL of the token: \u2212" in tokens.nth(1).get_attribute("title")
    expect(dialog.get_by_role("heading", name="Token 2:")).to_be_visible()
    rows = dialog.locator(".token-chosen tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("likely0.100.30+0.20")
    expect(rows.last).to_contain_text("<i>rare</i>0.200.05")
    expect(rows.nth(1)).to_contain_text("drawn")
    total = f"{sum(kept.kl):.2f}"
    expect(dialog).to_contain_text(f"{len(kept.pieces)} tokens add up to a KL of {total} nats")
    expect(row).to_contain_text(total)
    page.keyboard.press("End")
    expect(tokens.last).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


def test_the_switch_the_table_and_play_show_the_same_figures(runs, open_page):
    page = open_page
    go(page, "train", run="kept")
    expect(page.locator(".status .badge")).to_be_hidden()
    page.locator("section.changed").get_by_role("button", name="Tokens, before training").first.click()
    dialog = page.get_by_role("dialog", name="Tokens, before training")
    expect(dialog.locator(".at")).to_have_text("before training")
    dialog.get_by_label("Colour by").select_option(label="Value")
    expect(dialog.locator(".token-legend")).to_contain_text("\u22120.30+0.30 sd")
    expect(dialog.locator(".token-text .token").first).to_have_attribute("title", "Value: +0.30 sd")
    dialog.get_by_role("button", name="As a table").click()
    table = dialog.get_by_role("region", name="All figures of all tokens")
    expect(table.get_by_role("columnheader")).to_have_count(9)
    expect(table.locator("tbody tr").first).to_contain_text("+0.30")
    dialog.get_by_role("button", name="As text").click()
    page.add_script_tag(path=AXE)
    assert not serious(page)
    dialog.get_by_label("Look of the run").fill("8")
    expect(dialog.locator(".at")).to_have_text("after update 40")
    page.set_viewport_size({"width": 390, "height": 800})
    wide = (
        "[document.documentElement, document.querySelector('dialog')].map((box) => box.scrollWidth > box.clientWidth)"
    )
    assert page.evaluate(wide) == [False, False]
    page.set_viewport_size({"width": 1440, "height": 600})
    page.keyboard.press("Escape")


def test_compare_opens_both_columns_and_what_was_not_kept_says_why(runs, open_page):
    page = open_page
    go(page, "compare", run="kept")
    page.get_by_label("Sort").select_option(label="order of prompts")
    rows = page.locator("table.compare tbody tr")
    rows.first.get_by_role("button", name="Tokens, before training").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".at")).to_have_text("before training")
    page.keyboard.press("Escape")
    rows.nth(12).get_by_role("button", name="Tokens, after update 40").click()
    expect(dialog).to_contain_text("the first answers to the first 8 fixed prompts are kept token by token")
    dialog.get_by_role("button", name="Ask the model").click()
    expect(dialog).to_contain_text("The fake service does not know the question tokens.")
    page.keyboard.press("Escape")
