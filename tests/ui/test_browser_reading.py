"""What an ended run shows in a browser: score against KL, more curves, answers that differ, that it is wrong on
purpose; and the presets as one story, and in a presentation."""

import re
import shutil

import pytest

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import HEIGHT, choose_preset, go, visit

expect = pytest.importorskip("playwright.sync_api").expect
PRESET = catalog.preset("kinder-reviews")


def frontier_of(page, run):
    """The part of the page for score against KL, with a run in view."""
    go(page, "train", run=run)
    part = page.locator("section.frontier")
    part.scroll_into_view_if_needed()
    return part


def test_what_was_possible_is_measured_when_asked_for(site, open_page):
    fake_run.write_run(site.outputs, "measured", PRESET)
    part = frontier_of(open_page, "measured")
    stage, measure = part.locator('[data-chart="frontier"] .stage'), part.get_by_role("button", name="Measure it")
    expect(stage).to_have_attribute("aria-label", re.compile(r"in sd: this run \+[\d.]+, slope of leash"))
    measure.click()
    expect(part.locator(".frontier-told")).to_have_text(re.compile(r"^At [\d.]+ nats the run scores .* reference"))
    expect(stage).to_have_attribute("aria-label", re.compile(r"this run .*possible \+[\d.]+, best of n \+"))
    expect(measure).to_be_hidden()
    part.get_by_text("Numbers").click()
    rows = part.locator("tbody tr")
    expect(rows.first).to_contain_text("before training")
    for words in ("best of 16", "best policy at beta 0.25"):
        expect(rows.filter(has_text=words).first).to_be_visible()


def test_measuring_shows_how_far_it_is_and_can_be_stopped_and_a_run_without_weights_says_why_not(site, open_page):
    fake_run.write_run(site.outputs, "slow", PRESET)
    part = frontier_of(open_page, "slow")
    measure = part.get_by_role("button", name="Measure it")
    measure.click()
    bar = part.get_by_role("progressbar", name="Texts written and scored")
    expect(bar).to_have_attribute("aria-valuetext", re.compile(r"^[1-9]\d* of 600 texts"))
    part.get_by_role("button", name="Stop", exact=True).focus()
    open_page.keyboard.press("Enter")
    expect(part.locator(".frontier-offer")).to_contain_text("Stopped")
    expect(bar).to_be_hidden()
    expect(measure).to_be_focused()
    assert not (site.outputs / "slow" / "frontier.json").exists()
    run = fake_run.write_ended(site.outputs, "early", "stopped", "stopped", at=3)
    shutil.rmtree(run.checkpoints_path, ignore_errors=True)
    part = frontier_of(open_page, run.id)
    expect(part.locator(".frontier-waiting")).not_to_be_empty()  # no second evaluation, so no path
    expect(part.locator('[data-chart="frontier"]')).to_be_hidden()
    expect(measure).to_be_hidden()


def test_the_slider_of_beta_says_where_it_is(site, open_page):
    choose_preset(open_page, "kinder-reviews")
    knob = open_page.locator("#field-kl-coef")
    here, field = knob.locator(".zone-names .here"), knob.locator(".knob-field")
    expect(knob.locator(".knob-slider")).to_have_attribute("aria-valuetext", "0.25, useful")
    for value, zone in (("5", "barely moves"), ("0", "runs away"), ("0.25", "useful")):
        field.fill(value)
        field.press("Enter")
        expect(here).to_contain_text(zone)


def test_more_curves_unfold(site, open_page):
    page = open_page
    fake_run.write_run(site.outputs, "more", PRESET)
    go(page, "train", run="more")
    loss = page.locator("[data-chart=policy_loss]")
    expect(loss).to_be_hidden()
    page.get_by_text("More curves", exact=True).click()
    expect(loss.locator("canvas").first).to_be_visible()
    expect(loss.locator(".chart-value")).to_have_text("\u22120.02")
    expect(page.locator(".charts-folded .chart:visible")).to_have_count(5)
    rows = page.locator(".kl-strip li")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("spread 2")
    page.get_by_text("More curves", exact=True).click()


def test_a_run_that_is_wrong_on_purpose_says_so_wherever_its_figures_are(site, open_page):
    config = PRESET.model_copy(update={"experiments": True, "faults": ("no-clip",)})
    fake_run.write_run(site.outputs, "planted", config)
    page = open_page
    for place, marks in (
        ({"tab": "train", "run": "planted"}, (".status", ".charts")),
        ({"tab": "compare", "run": "planted"}, (".compare-top",)),
        ({"tab": "runs", "overlay": ["planted"]}, ("table.runs", "li")),
    ):
        go(page, **place)
        for mark in marks:
            expect(page.locator(f"{mark} .wrong-note")).to_contain_text("Wrong on purpose: ")
    page.get_by_role("button", name="Close").click()
    page.locator("table.runs .tick input:checked").first.uncheck()


def test_a_newcomer_is_led_from_one_experiment_to_the_next(site, make_page):
    fake_run.write_run(site.outputs, "went-wrong", fail_at=5)
    page = visit(make_page(height=900), site)
    title, step = page.locator("#run-title"), page.locator(".step")
    expect(title).to_have_text("Kinder reviews")  # a recording, and not the last failed run
    expect(step).to_contain_text(catalog.story()[0].look)
    for field in ("#knob-kl-coef", "#knob-ppo-learning_rate"):  # what to play with first, above the Start button
        box, bar = page.locator(field).bounding_box(), page.locator("#start-bar").bounding_box()
        assert box["y"] + box["height"] < bar["y"]
    step.get_by_role("link", name="Next experiment: 2, No leash").click()
    expect(title).to_have_text("No leash")
    expect(page.locator(".badge")).to_have_text("recorded")
    expect(step).to_contain_text(catalog.story()[1].look)
    expect(page.locator("#preset select")).to_have_value("no-leash")
    assert page.url.endswith("?preset=no-leash")
    page.reload()
    expect(title).to_have_text("No leash")
    expect(page.locator("#knob-kl-coef")).to_have_value("0")
    step.get_by_role("link", name="Lay it over 1, Kinder reviews").click()
    expect(page.locator(".legend li")).to_contain_text(["Kinder reviews", "No leash"])
    page.get_by_role("link", name="Compare").click()
    expect(page.locator("#compare select").first).to_contain_text("No leash, recorded")
    page.get_by_role("link", name="Train").click()
    page.locator("#preset select").select_option("kinder-reviews")
    expect(title).to_have_text("Kinder reviews")
    page.get_by_role("button", name="Newest run").click()
    expect(page.locator(".badge")).to_be_hidden()


# Of all text that can be seen, what is smaller than a number of pixels, or lies outside of the window.
SMALLER_THAN = """least => [...document.querySelectorAll("body *")].filter((node) => {
  const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const box = node.getBoundingClientRect();
  return text && box.width > 1 && box.height > 1 && getComputedStyle(node).visibility === "visible"
    && parseFloat(getComputedStyle(node).fontSize) < least;
}).map((node) => `${node.tagName}.${node.className}: ${node.textContent.slice(0, 40)}`)"""


def test_a_presentation_has_one_chart_three_texts_and_what_came_of_it_in_large_letters(site, open_page):
    fake_run.write_run(site.outputs, "shown-to-all").write_label("N" * 80, "n" * 300)
    page = open_page
    page.set_viewport_size({"width": 1024, "height": 768})
    go(page, "train", run="shown-to-all")
    expect(page.locator(".changed tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Present").click()
    expect(page.locator("#controls")).to_be_hidden()
    assert "view=presentation" in page.url
    charts = page.locator(".charts .chart").locator("visible=true")
    expect(charts).to_have_count(1)
    expect(charts).to_have_attribute("data-chart", "score")
    expect(page.locator(".changed tbody tr").locator("visible=true")).to_have_count(3)
    expect(page.locator(".meters .meter").locator("visible=true").first).to_contain_text("is kind")
    assert page.evaluate(SMALLER_THAN, 24) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024
    page.keyboard.press("Escape")
    expect(page.locator("#controls")).to_be_visible()
    page.set_viewport_size({"width": 1440, "height": HEIGHT})
