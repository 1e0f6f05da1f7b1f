"""Bringing a model of one's own, in a browser: what fits it, the check before a start, and a form that survives."""

from __future__ import annotations

import pytest

from playground.runs import history, trial
from playground.runs.start import launcher
from tests.ui.conftest import visit

expect = pytest.importorskip("playwright.sync_api").expect
HOSTILE = "<img src=x onerror='window.hacked=1'>"


def choose_model(page, name):
    box = page.locator("#field-model-source input")
    box.fill(name)
    box.press("Enter")


def set_knob(page, field, value):
    knob = page.locator(f"#knob-{field}")
    knob.fill(value)
    knob.press("Enter")
    return knob


def test_what_fits_a_model_a_reload_and_a_link(site, make_page):
    page = visit(make_page(), site)
    rate = set_knob(page, "ppo-learning_rate", "0.05")
    choose_model(page, "pocket-1m")
    fit, notes = page.locator(".needs-fit"), page.locator("#notes")
    expect(fit).to_contain_text("1 setting does not suit pocket-1m")
    fit.locator("summary").click()
    expect(fit).to_contain_text("Learning rate 0.05 \u2192 0.0002")
    fit.get_by_role("button", name="Use what fits this model").click()
    expect(rate).to_have_value("2e-4")
    expect(notes).to_contain_text("1 setting differs from the preset")
    expect(fit).to_contain_text("Set to what fits pocket-1m.")
    fit.get_by_role("button", name="Undo").press("Enter")
    expect(rate).to_have_value("0.05")
    expect(notes).to_contain_text("2 settings differ from the preset")
    set_knob(page, "kl-coef", "-1")  # not valid, and kept all the same
    expect(page.locator("#start")).to_have_text("Fix 1 setting to start")
    page.reload()
    expect(notes).to_contain_text("Your 3 changes came back after the reload.")
    expect(page.locator("#knob-kl-coef")).to_have_value("-1")
    expect(page.locator("#field-model-source input")).to_have_value("pocket-1m (ships with it)")
    expect(page.locator("#start")).to_have_text("Fix 1 setting to start")
    notes.get_by_role("button", name="Undo").press("Enter")
    expect(notes).to_contain_text("All settings as in the preset.")
    expect(notes).not_to_contain_text("came back")
    expect(rate).to_have_value("2e-4")
    set_knob(page, "kl-coef", "0.5")
    expect(notes).to_contain_text("1 setting differs")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    notes.get_by_role("button", name="Copy link to these settings").click()
    expect(notes).to_contain_text("Link copied.")
    link = page.evaluate("window.copied")
    assert link == f"{site.url}?preset=kinder-reviews&set=kl.coef:0.5,seed:0"
    page.goto(f"{site.url}?preset=no-leash&set=seed:3,kl.coef:0.5")
    expect(notes).to_contain_text("Opened with 2 changes from a link.")
    expect(page.locator("#knob-kl-coef")).to_have_value("0.5")
    page.goto(f"{site.url}?preset=no-leash&set=kl.coeff:{HOSTILE}")
    expect(notes).to_contain_text("The settings of the link were not taken. kl.coeff: There is no such setting.")
    assert page.evaluate("window.hacked") is None
    page.goto(f"{site.url}?preset=no-leash&set=nonsense")
    expect(notes.locator("code")).to_have_text("nonsense")  # what stood in backticks


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
    expect(panel.locator(".prompts .field-problem")).to_contain_text("the fixed prompts are trained on too")
    expect(panel.locator(".prompts .seen .special").first).to_have_text("<|im_start|>")
    expect(panel.locator(".answers tbody tr")).to_have_count(8)
    expect(panel.locator(".update .tryout-facts")).to_contain_text("for 40 updates")
    expect(page.locator("#needs summary").first).to_contain_text("(measured)")
    assert history.list_runs(site.outputs) == [] and not (site.outputs / launcher.TRIAL).exists()
    assert len(trial.timed(site.outputs)) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    panel.get_by_role("button", name="Close the check").click()
    expect(panel).to_be_hidden()
