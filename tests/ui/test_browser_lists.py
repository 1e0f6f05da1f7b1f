"""Runs, Compare and Rewards as lists and tabs: what is in a row and what in its menu, long words, a phone, a class that
has no run yet, by mouse and by keyboard."""

import json

import pytest

from tests.ui import fake_run
from tests.ui.conftest import HEIGHT, go, open_settings, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import more


def test_who_watches_a_class_without_a_run_waits_for_the_teacher(site, open_page):
    page = open_page
    go(page, "runs")
    empty = page.locator("#page-runs p.empty")
    expect(empty).to_contain_text("press Start")
    page.evaluate("Object.assign(document.documentElement.dataset, { mode: 'classroom', role: 'visitor' })")
    go(page, "train")
    go(page, "runs")
    expect(empty).to_have_text("Waiting for your teacher to start a run.")
    page.evaluate("Object.assign(document.documentElement.dataset, { mode: 'local', role: 'host' })")


def test_what_else_can_be_done_with_a_run_is_in_a_menu_that_the_keyboard_walks(site, open_page):
    fake_run.write_run(site.outputs, "menu")
    page, press = open_page, open_page.keyboard.press
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


def test_long_words_do_not_make_a_long_row_and_stand_in_full_where_the_focus_is(site, open_page):
    fake_run.write_run(site.outputs, "long").write_label("A name that goes on " * 4, "a note of many words " * 14)
    page = open_page
    go(page, "runs")
    row = page.locator("tr[data-key='run long']")
    note = row.locator(".run-note")
    short = row.bounding_box()["height"]
    assert short < 190
    assert "many words a note" in note.get_attribute("title")
    row.locator(".run-name").focus()
    assert note.evaluate("node => node.scrollHeight <= node.clientHeight")
    assert row.bounding_box()["height"] > short
    page.get_by_label("Filter runs by words").focus()
    go(page, "runs", overlay=["long", "menu"])
    legend = page.locator(".legend li").first
    expect(legend).to_be_visible()
    assert legend.bounding_box()["height"] < 90
    go(page, "compare", run="long", **{"with": "menu"})
    head = page.locator("table.compare thead th").nth(2)
    expect(head).to_contain_text("A name that goes on")
    assert head.bounding_box()["height"] < 60
    go(page, "runs", overlay=[])


def test_on_a_phone_the_sorting_folds_and_ten_pairs_are_shown(site, make_page):
    for name in ("folded", "folded-too", "folded-as-well"):
        fake_run.write_run(site.outputs, name)
    page = visit(make_page(390, 844), site, "?tab=runs")
    folds, head = page.get_by_role("button", name="Sorted by When"), page.locator("table.runs thead")
    expect(folds).to_have_attribute("aria-expanded", "false")
    expect(head).to_be_hidden()
    folds.click()
    head.get_by_role("button", name="Gain", exact=True).click()
    expect(page.get_by_role("button", name="Sorted by Gain")).to_have_attribute("aria-expanded", "true")
    go(page, "compare", run="folded")
    pairs = page.locator("table.compare tbody tr")
    expect(pairs).to_have_count(10)
    assert page.evaluate("document.documentElement.scrollHeight") < 7500
    page.get_by_role("button", name="Show 30 more").click()
    expect(pairs).to_have_count(40)


def test_what_is_disabled_on_compare_says_why(site, open_page):
    page = open_page
    run = fake_run.write_run(site.outputs, "moments")
    go(page, "compare", run="moments")
    expect(page.get_by_label("At update")).to_be_enabled()
    expect(page.locator("#moment-reason")).to_be_hidden()
    page.get_by_role("button", name="Read blind").click()
    expect(page.get_by_label("Sort", exact=True)).to_be_disabled()
    expect(page.locator("#blind-reason")).to_have_text("In the order of prompts:")
    page.get_by_role("button", name="Reveal").click()
    expect(page.locator("#blind-reason")).to_be_hidden()
    kept = [line for line in run.samples_path.read_text().splitlines() if json.loads(line)["stage"] != "during"]
    fake_run.write_run(site.outputs, "once").samples_path.write_text("\n".join(kept) + "\n")
    go(page, "compare", run="once")
    expect(page.get_by_label("At update")).to_be_disabled()
    expect(page.get_by_text("The fixed prompts were answered at one moment only.")).to_be_visible()


def test_rewards_are_three_tabs_that_the_address_names_and_the_keyboard_walks(site, open_page):
    page, press = open_page, open_page.keyboard.press
    go(page, "rewards")
    tabs = page.get_by_role("tablist", name="Rewards").get_by_role("tab")
    expect(tabs).to_have_text(["Try", "Train", "Test"])
    expect(page.get_by_role("tabpanel")).to_have_count(1)  # those that are hidden have no role for anyone
    assert page.locator("#reward-training-panel .reward-form").count() == 0, "drawn when it is first opened"
    tabs.first.focus()
    press("ArrowRight")
    expect(tabs.nth(1)).to_be_focused()
    expect(tabs.nth(1)).to_have_attribute("aria-selected", "true")
    expect(page.locator(".reward-form")).to_be_visible()
    expect(page.locator("#workbench")).to_be_hidden()
    assert page.url.endswith("tab=rewards&part=train")
    press("End")
    expect(page.get_by_role("tabpanel", name="Test").get_by_role("button", name="Test it")).to_be_visible()
    press("ArrowRight")
    expect(page.locator("#bench-texts")).to_be_visible()
    assert page.url.endswith("tab=rewards")
    page.go_back()
    expect(page.get_by_role("tabpanel", name="Test")).to_be_visible()


def test_the_workbench_has_the_rewards_of_the_form_until_others_are_chosen_there(site, make_page):
    page = visit(make_page(height=HEIGHT), site, "?preset=yes-man")
    go(page, "rewards")
    kinds = page.locator("#bench-rewards .reward-head select")
    expect(kinds).to_have_count(1)
    expect(kinds.first).to_have_value("agreement")
    kinds.first.select_option("length")
    go(page, "train")
    page.locator("#preset select").select_option("kinder-reviews")
    open_settings(page)
    expect(page.locator("#field-rewards .reward-head select")).to_have_value("sentiment")
    go(page, "rewards")
    expect(kinds.first).to_have_value("length")
    page.get_by_role("button", name="Copy from Train").click()
    expect(kinds.first).to_have_value("sentiment")
