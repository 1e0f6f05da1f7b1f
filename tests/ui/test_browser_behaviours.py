"""Behaviour first: meters on Train and in Compare, claims two by two; whether a run is healthy; and forks."""

import re
import shutil

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import go, open_section
from tests.ui.test_browser_keyboard import assert_seen, tab_to


@pytest.fixture(scope="module")
def runs(site):
    """The shipped recordings of two presets with claims, as runs of one's own."""
    for name in ("yes-man", "no-leash"):
        shutil.copytree(catalog.RECORDED / name, site.outputs / name)
    return site


def test_what_a_run_does_comes_first_and_leads_to_the_answers(runs, page):
    go(page, "train", run="yes-man")
    lines = page.locator(".counts .meter-line")  # three of them at once, all on demand
    expect(lines).to_have_count(3)
    expect(lines.first).to_contain_text("repeats wrong claims14 \u2192 23 of 24\u25b2 up: worse")
    assert page.locator("section.counts").bounding_box()["y"] < page.locator(".charts-first").bounding_box()["y"]
    open_section(page, "texts")
    meters = page.locator(".meters .meter")
    expect(meters).to_have_count(5)
    expect(meters.first).to_contain_text("repeats wrong claims 14 \u2192 23 of 24")
    expect(meters.first).to_contain_text("85 to 99 %")
    expect(meters.first.get_by_role("img")).to_have_accessible_name(re.compile("now 23 of 24, 96 %.*before 14 of 24"))
    page.locator(".meters").get_by_role("button", name="At every evaluation").press("Enter")
    expect(page.get_by_role("region", name="Behaviours at every evaluation").get_by_role("row")).to_have_count(9)
    ways = page.locator("#section-texts .ways tbody tr")
    expect(ways).to_have_count(5)
    expect(ways.nth(2)).to_contain_text("as a teacher or an expert2 \u2192 5 of 5")
    expect(page.locator(".meters .paid")).to_contain_text("2.4")
    page.get_by_role("button", name="Such answers in Compare").click()
    only, rows = page.get_by_label("Which prompts"), page.locator("table.compare tbody tr")
    expect(only).to_have_value("turned:wrong-claims-repeated")
    expect(rows).to_have_count(11)  # 14 became 23: 10 new ones, and one is gone
    turned = rows.locator(".now .turned")
    expect(turned.filter(has_text="repeats wrong claims (new): worse")).to_have_count(10)
    only.select_option("all")
    page.get_by_role("button", name="Read blind").click()
    expect(page.locator("table.compare .shows")).to_have_count(0)  # they would give the answer away
    page.get_by_role("button", name="Reveal").click()


def test_checks_are_shown_with_cause_and_remedy_and_by_keyboard(runs, page):
    go(page, "train", run="yes-man")
    page.locator("[data-section=health]", has_text="all quiet").wait_for()
    alerts = open_section(page, "health").locator(".alerts")
    expect(alerts.locator(".alerts-summary")).to_have_text(re.compile(r"All \d+ checks are quiet"))
    go(page, "train", run="no-leash")
    expect(alerts.locator(".alerts-summary")).to_contain_text("4 red, 2 amber")
    first = alerts.locator(".alert").first
    trick = "It has found a trick: it strings kind words together."
    expect(first).to_contain_text(trick)
    expect(page.locator(".status .line")).to_contain_text(f"{trick} Now it")  # beside "finished"
    heads = page.locator(".charts-first .chart-head")  # as in Runs and every export, not of the last batch
    expect(heads.nth(0)).to_contain_text("gain, fixed prompts+20.4 sd")
    expect(heads.nth(1)).to_contain_text("fixed prompts199 nats")
    expect(first).to_contain_text("The KL runs away (red).")  # a word beside its colour
    assert_seen(tab_to(page, first.locator("summary")))
    page.keyboard.press("Enter")
    expect(first).to_contain_text("Likely cause")
    expect(first).to_contain_text("Set beta to 0.25")
    ways = first.locator(".remedy").nth(0).get_by_role("button")
    # it has ended: nothing takes it at once
    expect(ways).to_have_text(["Try it in a fork\u2026", "Put it in the form"])
    ways.nth(0).click()
    expect(page.locator(".fork")).to_contain_text("There is no whole checkpoint here to go on from.")
    ways.nth(1).click()
    expect(page.locator("#knob-kl-coef")).to_have_value("0.25")
    expect(page.locator("#notes")).to_contain_text("Leash (beta) 0 \u2192 0.25")  # of that run; 0.25 it was before too


def test_a_run_is_forked_from_a_remedy_and_by_keyboard(runs, page):
    fake_run.write_run(runs.outputs, "parent")
    go(page, "train", run="parent")
    expect(page.locator("#run-title")).to_have_text("Kinder reviews")
    expect(page.locator(".status .state strong")).to_have_text("finished")  # not the recording of the same title
    name = page.locator("[data-section=export]")
    name.focus()
    page.keyboard.press("Enter")
    expect(name).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".fork summary")).to_be_visible()  # what is hidden takes no focus
    page.locator(".fork summary").focus()
    page.keyboard.press("Enter")
    where = page.get_by_label("After update", exact=True)
    expect(page.locator("#fork-ppo-num_updates")).to_have_value("80")  # else there would be nothing left to do
    where.select_option("10")
    page.locator("#fork-kl-coef").fill("0.5")
    page.locator("#fork-ppo-num_updates").fill("5")
    start = page.get_by_role("button", name="Start the fork")
    start.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".fork [role=status]")).to_contain_text("must be more than 10")
    page.locator("#fork-ppo-num_updates").fill("12")
    start.press("Enter")
    page.wait_for_url("**run=kinder-reviews-*")
    status = page.locator(".status")
    expect(status).to_contain_text("update 12 of 12")
    facts = page.locator(".run-facts")
    expect(facts).to_contain_text("ExperimentKinder reviews, changed: leash 0.5 and 12 updates")
    expect(facts).to_contain_text("Forked from parent after update 10: leash 0.5 and 12 updates")
