"""More of Runs, Compare and Rewards: long words, a phone, a class without a run, what is disabled, what is wrong with a
reward, and the charts of rewards and judges."""

import json
import re

import pytest
from playwright.sync_api import expect

from playground.config import yaml_io
from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import go, open_section, open_settings, visit
from tests.ui.test_browser_lists import choose


@pytest.fixture(scope="module")
def runs(site):
    for name in ("folded", "folded-too", "folded-as-well"):
        fake_run.write_run(site.outputs, name)


def test_who_watches_a_class_without_a_run_waits_for_the_teacher(site, page):
    go(page, "runs")
    empty = page.locator("#page-runs p.empty")
    expect(empty).to_contain_text("press Start")
    page.evaluate("Object.assign(document.documentElement.dataset, { mode: 'classroom', role: 'visitor' })")
    go(page, "train")
    go(page, "runs")
    expect(empty).to_have_text("Waiting for your teacher to start a run.")
    page.evaluate("Object.assign(document.documentElement.dataset, { mode: 'local', role: 'host' })")


def test_on_a_phone_the_sorting_folds_and_ten_pairs_are_shown(runs, site, make_page):
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


def test_what_is_disabled_on_compare_says_why(site, page):
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


def test_the_workbench_has_the_rewards_of_the_form_until_others_are_chosen_there_and_gives_them_back(site, make_page):
    page = visit(make_page(), site, "?preset=yes-man")
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
    page.locator("#bench-rewards summary", has_text="Scale and cap").click()
    page.locator("#bench-rewards").get_by_label("Measure in standard deviations").check()
    page.get_by_role("button", name="Copy to Train").click()
    expect(page.locator("#bench-told")).to_contain_text("Copied to the form")
    go(page, "train")
    expect(page.locator("#notes")).to_contain_text("on the reference's scale")


def test_rewards_are_three_tabs_that_the_address_names_and_the_keyboard_walks(site, page):
    press = page.keyboard.press
    go(page, "rewards")
    tabs = page.get_by_role("tablist", name="Rewards").get_by_role("tab")
    expect(tabs).to_have_text(["Try", "Train", "Test"])
    expect(page.get_by_role("tabpanel")).to_have_count(1)  # those that are hidden have no role for anyone
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


def test_a_run_with_several_rewards_and_judges_shows_who_brings_the_gain_and_who_turns_down(site, make_page):
    base = catalog.preset("no-leash").model_dump(mode="json")
    rewards = [{"kind": "sentiment"}, {"kind": "length"}]
    fake_run.write_run(site.outputs, "judged", yaml_io.from_dict({**base, "rewards": rewards}))
    page = visit(make_page(height=1000), site, "?run=judged")
    farmed, judged = (page.locator(f'[data-chart="{key}"]') for key in ("farmed", "judged"))
    open_section(page, "curves")
    farmed.scroll_into_view_if_needed()  # what is out of sight is not drawn
    expect(farmed.locator(".chart-words")).to_have_text(
        "In the newest training batches 50 % of the gain comes from Sentiment, 50 % from Length."
    )
    expect(farmed.locator(".line-name")).to_have_count(2)
    judged.scroll_into_view_if_needed()
    expect(judged.locator(".line-name")).to_have_text(
        [re.compile("Trained"), re.compile("Grammar"), re.compile("Senti")]
    )
    expect(judged.locator(".chart-words .turned").first).to_contain_text("Grammar turned down after update 20")
    expect(judged.locator(".turn-mark")).to_have_count(2)
    page.get_by_role("link", name="Compare").click()
    expect(page.locator(".term-table tbody tr")).to_have_count(3)
    expect(page.locator(".term-table")).to_contain_text("monitor")


def test_the_form_says_what_is_wrong_beside_a_reward_of_ones_own(site, make_page):
    page = visit(make_page(), site)
    open_settings(page)
    row = choose(page, "#field-rewards", 0, "expression")
    row.locator("textarea.written").fill("words(completion")
    expect(row.locator(".field-problem")).to_contain_text("A bracket is missing")
    expect(row.locator("textarea.written")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#start")).to_have_text("Fix 1 setting to start")
    row.locator("textarea.written").fill("words(completion)")
    expect(page.locator("#start")).to_have_text("Start training")
    row = choose(page, "#field-rewards", 0, "python")
    expect(row.locator(".warning")).to_contain_text("Runs your code on this machine")
