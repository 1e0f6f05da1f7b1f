"""The presets as one story on the page: each with its recording, and the way from one to the next."""

import pytest

from tests.ui import fake_run
from tests.ui.conftest import WAIT_MS, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

expect.set_options(timeout=WAIT_MS)


def test_a_newcomer_is_led_from_one_experiment_to_the_next(site, make_page):
    fake_run.write_run(site.outputs, "went-wrong", fail_at=5)
    page = visit(make_page(height=900), site)
    title, step = page.locator("#run-title"), page.locator(".step")
    expect(title).to_have_text("Kinder reviews")  # a recording, and not the last failed run
    expect(step).to_contain_text("Experiment 1 of 12. Look for: Score and KL climb together")
    for field in ("#knob-kl-coef", "#knob-ppo-learning_rate"):  # what to play with first, above the Start button
        box, bar = page.locator(field).bounding_box(), page.locator("#start-bar").bounding_box()
        assert box["y"] + box["height"] < bar["y"]
    step.get_by_role("link", name="Next experiment: 2, No leash").click()
    expect(title).to_have_text("No leash")
    expect(page.locator(".badge")).to_have_text("recorded")
    expect(step).to_contain_text("Experiment 2 of 12. Against 1, Kinder reviews: More than five times the score")
    expect(page.locator("#knob-kl-coef")).to_have_value("0")
    expect(page.locator("#preset select")).to_have_value("no-leash")
    expect(page.locator("#story")).to_contain_text("Experiment 2 of 12The same reward, but drifting costs nothing")
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
