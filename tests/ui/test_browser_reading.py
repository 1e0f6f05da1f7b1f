"""What an ended run shows in a browser: score against KL, more curves, answers that differ, that it is wrong on
purpose; and the presets as one story."""

import re

import pytest

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import choose_preset, go, open_section, visit

expect = pytest.importorskip("playwright.sync_api").expect
PRESET = catalog.preset("kinder-reviews")


def frontier_of(page, run):
    """The part of the page for score against KL, with a run in view."""
    go(page, "train", run=run)
    part = open_section(page, "frontier").locator("section.frontier")
    part.scroll_into_view_if_needed()
    return part


def test_what_was_possible_is_measured_when_asked_for(site, open_page):
    fake_run.write_run(site.outputs, "measured", PRESET)
    part = frontier_of(open_page, "measured")
    stage, measure = part.locator('[data-chart="frontier"] .stage'), part.get_by_role("button", name="Measure it")
    expect(stage).to_have_attribute("aria-label", re.compile(r"in sd: this run \+[\d.]+, slope of leash"))
    measure.click()
    expect(part.locator(".frontier-told")).to_have_text(re.compile(r"^At [\d.]+ nats the run scores .* possible there"))
    expect(stage).to_have_attribute("aria-label", re.compile(r"this run .*possible \+[\d.]+, best of n \+"))
    expect(measure).to_be_hidden()
    part.get_by_text("Numbers").click()
    rows = part.locator("tbody tr")
    expect(rows.first).to_contain_text("before training")
    for words in ("best of 16", "best policy at beta 0.25"):
        expect(rows.filter(has_text=words).first).to_be_visible()


def test_the_slider_of_beta_says_where_it_is(site, open_page):
    choose_preset(open_page, "kinder-reviews")
    knob = open_page.locator("#field-kl-coef")
    here, field = knob.locator(".zone-names .here"), knob.locator(".knob-field")
    expect(knob.locator(".knob-slider")).to_have_attribute("aria-valuetext", "0.25, useful")
    for value, zone in (("5", "barely moves"), ("0", "runs away"), ("0.25", "useful")):
        field.fill(value)
        field.press("Enter")
        expect(here).to_contain_text(zone)


def test_a_newcomer_is_led_from_one_experiment_to_the_next(site, make_page):
    fake_run.write_run(site.outputs, "went-wrong", fail_at=5)
    page = visit(make_page(height=900), site)
    title, step = page.locator("#run-title"), page.locator(".step")
    expect(title).to_have_text("Kinder reviews")  # a recording, and not the last failed run
    story = (
        f"Taught: {PRESET.about.story} Look for: {catalog.in_story()[0].look}"  # what was measured is with all settings
    )
    expect(page.locator("#story")).to_have_text(story, use_inner_text=True)
    expect(step).to_have_text("Next: 2, No leash \u2192")
    step.get_by_role("link").click()
    expect(title).to_have_text("No leash")
    expect(page.locator(".state strong")).to_have_text("recorded run")
    expect(page.locator("#story")).to_contain_text(f"Look for: {catalog.in_story()[1].look}")
    expect(page.locator("#preset select")).to_have_value("no-leash")
    assert page.url.endswith("?preset=no-leash")
    page.reload()
    expect(title).to_have_text("No leash")
    expect(page.locator("#knob-kl-coef")).to_have_value("0")
    open_section(page, "curves").get_by_role("link", name="Overlay with 1, Kinder reviews").click()
    expect(page.locator(".legend li")).to_contain_text(["Kinder reviews", "No leash"])
