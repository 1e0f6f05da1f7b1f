"""Score against KL in a browser: the chart, what it says, having it measured, and the marks on the slider of beta."""

import re
import shutil

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import choose_preset, go

expect = pytest.importorskip("playwright.sync_api").expect
PRESET = catalog.preset("kinder-reviews")


def shown(page, run):
    """The part of the page, with a run in view."""
    go(page, "train", run=run)
    part = page.locator("section.frontier")
    part.scroll_into_view_if_needed()
    return part


def test_what_was_possible_is_measured_when_somebody_asks(site, open_page):
    fake_run.write_run(site.outputs, "measured", PRESET)
    part = shown(open_page, "measured")
    stage = part.locator('[data-chart="frontier"] .stage')
    expect(stage).to_have_attribute("aria-label", re.compile(r"in sd: this run \+[\d.]+, slope of leash"))
    expect(part.locator(".frontier-offer")).to_contain_text("not measured yet")
    part.get_by_role("button", name="Measure it").click()
    expect(part.locator(".frontier-told")).to_have_text(re.compile(r"^At [\d.]+ nats the run scores .* reference"))
    expect(stage).to_have_attribute("aria-label", re.compile(r"this run .*possible \+[\d.]+, best of n \+"))
    expect(part.get_by_role("button", name="Measure it")).to_be_hidden()
    part.get_by_text("Numbers").click()
    rows = part.locator("tbody tr")
    expect(rows.first).to_contain_text("before training")
    expect(rows.filter(has_text="best of 16")).to_have_count(1)
    expect(rows.filter(has_text="best policy at beta 0.25").first).to_be_visible()


def test_measuring_shows_how_far_it_is_and_can_be_stopped(site, open_page):
    fake_run.write_run(site.outputs, "slow", PRESET)
    part = shown(open_page, "slow")
    part.get_by_role("button", name="Measure it").click()
    bar = part.get_by_role("progressbar", name="Texts written and scored")
    expect(bar).to_have_attribute("aria-valuetext", re.compile(r"^[1-9]\d* of 600 texts"))
    stop = part.get_by_role("button", name="Stop", exact=True)
    stop.focus()
    open_page.keyboard.press("Enter")
    expect(part.locator(".frontier-offer")).to_contain_text("Stopped; nothing was kept.")
    expect(bar).to_be_hidden()
    expect(part.get_by_role("button", name="Measure it")).to_be_focused()
    assert not (site.outputs / "slow" / "frontier.json").exists()


def test_a_run_without_weights_says_why_nothing_can_be_measured(site, open_page):
    fake_run.write_run(site.outputs, "weightless", PRESET)
    shutil.rmtree(RunDirectory(site.outputs / "weightless").checkpoints_path)
    part = shown(open_page, "weightless")
    expect(part.locator(".frontier-offer")).to_contain_text("once the run has saved its weights")
    expect(part.get_by_role("button", name="Measure it")).to_be_hidden()


def test_before_the_second_look_it_says_when_the_path_begins(site, open_page):
    run = fake_run.write_ended(site.outputs, "early", "stopped", "stopped", at=3)
    part = shown(open_page, run.id)
    expect(part.locator(".frontier-waiting")).to_have_text(
        "This run ended before its second look at the fixed prompts, so it has no path."
    )
    expect(part.locator('[data-chart="frontier"]')).to_be_hidden()


def test_the_slider_of_beta_says_where_it_stands(site, open_page):
    choose_preset(open_page, "kinder-reviews")
    knob = open_page.locator("#field-kl-coef")
    here = knob.locator(".zone-names .here")
    expect(here).to_have_text("useful")
    expect(knob.locator(".knob-slider")).to_have_attribute("aria-valuetext", "0.25, useful")
    expect(knob.locator(".zone-names")).to_have_text(re.compile(r"runs away < [\d.]+useful\s*barely moves > [\d.]+"))
    field = knob.locator(".knob-field")
    for value, zone in (("5", "barely moves"), ("0", "runs away"), ("0.25", "useful")):
        field.fill(value)
        field.press("Enter")
        expect(here).to_contain_text(zone)
    knob.locator(".help-button").click()
    expect(knob.locator(".help-text")).to_contain_text("cannot tell from luck")
    open_page.keyboard.press("Escape")
