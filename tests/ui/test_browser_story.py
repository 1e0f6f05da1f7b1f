"""The presets as one story on the page: each with its recording, and the way from one to the next; the presentation."""

import pytest

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import go, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

STORY = catalog.story()
# Of all text that can be seen, what is smaller than a number of pixels, or lies outside of the window.
SMALLER_THAN = """least => [...document.querySelectorAll("body *")].filter((node) => {
  const text = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const box = node.getBoundingClientRect();
  return text && box.width > 1 && box.height > 1 && getComputedStyle(node).visibility === "visible"
    && parseFloat(getComputedStyle(node).fontSize) < least;
}).map((node) => `${node.tagName}.${node.className}: ${node.textContent.slice(0, 40)}`)"""


def test_a_newcomer_is_led_from_one_experiment_to_the_next(site, make_page):
    fake_run.write_run(site.outputs, "went-wrong", fail_at=5)
    page = visit(make_page(height=900), site)
    title, step = page.locator("#run-title"), page.locator(".step")
    expect(title).to_have_text("Kinder reviews")  # a recording, and not the last failed run
    expect(step).to_contain_text(f"Experiment 1 of {len(STORY)}. Look for: {STORY[0].look}")
    for field in ("#knob-kl-coef", "#knob-ppo-learning_rate"):  # what to play with first, above the Start button
        box, bar = page.locator(field).bounding_box(), page.locator("#start-bar").bounding_box()
        assert box["y"] + box["height"] < bar["y"]
    step.get_by_role("link", name="Next experiment: 2, No leash").click()
    expect(title).to_have_text("No leash")
    expect(page.locator(".badge")).to_have_text("recorded")
    expect(step).to_contain_text(f"Experiment 2 of {len(STORY)}. Against 1, Kinder reviews: {STORY[1].look}")
    expect(page.locator("#knob-kl-coef")).to_have_value("0")
    expect(page.locator("#preset select")).to_have_value("no-leash")
    expect(page.locator("#story")).to_contain_text(f"Experiment 2 of {len(STORY)}The same reward, but drifting")
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
    expect(page.locator("#preset optgroup")).to_have_count(3)
    page.get_by_role("button", name="Newest run").click()
    expect(page.locator(".status .state strong")).to_have_text("failed")
    expect(step).to_contain_text("Next experiment: 2, No leash")


def test_a_presentation_has_one_chart_three_texts_and_what_came_of_it_in_large_letters(site, open_page):
    fake_run.write_run(site.outputs, "shown-to-all")
    page = open_page
    page.set_viewport_size({"width": 1024, "height": 768})
    go(page, "train", run="shown-to-all")
    expect(page.locator(".changed tbody tr").first).to_be_visible()
    page.get_by_role("button", name="Present").click()
    expect(page.locator("#controls")).to_be_hidden()
    assert "view=presentation" in page.url
    shown = page.locator(".charts .chart").locator("visible=true")
    expect(shown).to_have_count(1)
    expect(shown).to_have_attribute("data-chart", "score")
    expect(page.locator(".changed tbody tr").locator("visible=true")).to_have_count(3)
    expect(page.locator(".status .line")).to_contain_text("95 % interval")
    expect(page.locator(".meters .meter").locator("visible=true").first).to_contain_text("is kind")
    assert page.evaluate(SMALLER_THAN, 24) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024
    page.keyboard.press("Escape")
    expect(page.locator("#controls")).to_be_visible()
    assert "view=" not in page.url
    page.set_viewport_size({"width": 1440, "height": 600})
