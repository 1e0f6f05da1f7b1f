"""The choice of the method: what it sets in the form, what it says, and which settings it says it does not read."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.ui.conftest import visit


def test_a_chosen_method_sets_what_it_needs_and_says_what_it_does_not_read(site, make_page):
    page = visit(make_page(), site)
    method = page.locator("#field-method")
    expect(method.locator(".field-unused")).to_contain_text("learns from them against a baseline")
    method.get_by_text("RLOO", exact=True).click()
    expect(page.locator("#notes")).to_contain_text("Method PPO → RLOO")
    expect(page.locator("#notes")).to_contain_text("Samples per prompt 1 → 8")
    expect(page.locator("#notes")).to_contain_text("Baseline value → leave_one_out")
    expect(page.locator("#start")).to_have_text("Start training")
    method.get_by_text("DPO", exact=True).click()
    expect(page.locator("#notes")).to_contain_text("Samples per prompt 1 → 2")
    expect(method.locator(".field-unused")).to_contain_text("TRL's DPOTrainer learns from the pairs")
    page.get_by_role("button", name="More training settings").click()
    expect(page.locator("#field-ppo-clip_range .field-unused")).to_have_text("Not used by DPO.")
    expect(page.locator("#field-ppo-num_epochs .field-unused")).to_have_count(0)
    expect(page.locator("#field-dpo-labels .field-unused")).to_have_count(0)
    method.get_by_text("PPO", exact=True).click()
    expect(page.locator("#notes")).to_contain_text("All settings as in the preset")
    expect(page.locator("#field-ppo-clip_range .field-unused")).to_have_count(0)
    expect(page.locator("#field-dpo-labels .field-unused")).to_have_text("Not used by PPO.")
