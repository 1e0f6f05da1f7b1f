"""Bringing a model of one's own, in a browser: the check before a start."""

from __future__ import annotations

import pytest

from playground.runs import history, trial
from tests.ui.conftest import visit

expect = pytest.importorskip("playwright.sync_api").expect


def test_a_check_before_the_start_in_four_parts_leaves_no_run(site, make_page):
    page = visit(make_page(390, 844), site)
    page.get_by_role("button", name="Set up a run").click()
    page.get_by_role("button", name="Check it before you start").press("Enter")
    panel = page.locator(".tryout")
    expect(panel).to_be_visible()
    expect(page.locator("#start")).to_be_hidden()  # the drawer makes room for the panel
    panel.get_by_role("button", name="Check all").click()
    expect(panel.locator(".tryout-part[data-state='done']")).to_have_count(4)
    expect(panel.locator(".model .tryout-facts")).to_contain_text("ships with the playground")
    expect(panel.locator(".prompts .seen .special").first).to_have_text("<|im_start|>")
    expect(panel.locator(".answers tbody tr")).to_have_count(8)
    expect(panel.locator(".update .tryout-facts")).to_contain_text("for 40 updates")
    assert history.list_runs(site.outputs) == [] and not (site.outputs / trial.FOLDER).exists()
    assert len(trial.timed(site.outputs)) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    panel.get_by_role("button", name="Close the check").click()
    expect(panel).to_be_hidden()
