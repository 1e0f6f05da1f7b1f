"""More of Runs and Rewards: a phone, rewards that go to the form and back, and three tabs by keyboard."""

from playwright.sync_api import expect

from tests.ui import fake_run
from tests.ui.conftest import go, open_settings, visit


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
