"""An ended run, read in a browser: a point of any curve opens the texts of its update, by mouse and by keyboard alone;
and what was possible at its distance."""

import re

import pytest
from playwright.sync_api import expect

from playground.runs.folder.directory import RunDirectory
from tests.ui import fake_run
from tests.ui.conftest import go, open_section
from tests.ui.test_browser_keyboard import assert_seen, tab_to

WINDOW = "dialog.rollout[open]"


@pytest.fixture(scope="module")
def runs(site):
    """Two runs that kept texts of their updates, and one from before that."""
    for seed, name in enumerate(("kept", "other", "before"), start=701):
        config = fake_run.settings("Kinder reviews").model_copy(update={"seed": seed})
        run = fake_run.write_run(site.outputs, name, config)
    run.rollouts_path.unlink()
    return site


def stage_of(page, chart="score"):
    """Where a curve is drawn, and can be pointed at."""
    stage = page.locator(f'[data-chart="{chart}"] .stage')
    stage.scroll_into_view_if_needed()
    expect(stage).to_have_attribute("data-drawn", "yes")
    return stage


def open_last(page):
    """Open the last update of the run in view, by keyboard. (A point that was read before is read still.)"""
    stage_of(page).focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")


def point_at(page, stage, share):
    """Move the mouse over a curve; returns the update whose point is read there."""
    box = stage.bounding_box()
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    return int(stage.get_attribute("aria-valuenow"))


def press_mouse(page):
    """Where it is."""
    page.mouse.down()
    page.mouse.up()


def title(page, update, name="Kinder reviews"):
    """The window has opened this update."""
    expect(page.locator(WINDOW)).to_have_accessible_name(f"Update {update} of {name}")


def kept_of(site, update, run="kept"):
    """What was kept of the texts of an update."""
    return next(record for record in RunDirectory(site.outputs / run).rollouts() if record.update == update)


def close(page):
    """Close the window of the update."""
    page.keyboard.press("Escape")
    expect(page.locator(WINDOW)).to_have_count(0)


def test_from_a_curve_to_its_highest_scores_and_to_other_updates_by_keyboard_alone(runs, open_page):
    page = open_page
    press = page.keyboard.press
    go(page, "train", run="kept")
    stage = stage_of(page)
    stage.focus()
    press("End")
    press("PageDown")
    expect(stage).to_have_attribute("aria-valuetext", re.compile(r"^update 30: [\d.]+ sd$"))
    expect(page.locator('[data-chart="kl"] .cross')).to_have_css("visibility", "visible")  # the others follow
    press("Enter")
    window = page.locator(WINDOW)
    title(page, 30)
    expect(window.locator("h2")).to_be_focused()
    kept = kept_of(runs, 30)
    top, answers = kept.texts[0], sum(kept.histogram.counts)
    mean = RunDirectory(runs.outputs / "kept").metrics()[29].score_mean
    expect(window.locator(".rollout-told")).to_contain_text(re.compile(rf"^{answers} answers, .* mean \{mean:+.2f}\.$"))
    bars, texts = window.locator(".rollout-bar"), window.locator(".rollout-texts li")
    expect(bars).to_have_count(sum(count > 0 for count in kept.histogram.counts))
    expect(texts).to_have_count(len(kept.texts))
    stops = tab_to(page, bars.last)  # one stop for all bars, at the top one
    press("Home")
    expect(bars.first).to_be_focused()
    press("ArrowRight")
    expect(bars.nth(1)).to_be_focused()
    press("End")
    press("Enter")
    expect(bars.last).to_have_attribute("aria-pressed", "true")
    in_top = [text for text in kept.texts if text.bin == top.bin]
    expect(texts).to_have_count(len(in_top))
    expect(texts.first).to_contain_text(top.completion.strip())
    expect(texts.first).to_contain_text(f"score +{top.score:.2f} sd")
    expect(texts.first.locator(".tag")).to_have_text("best")
    expect(window.locator(".rollout-foot [role=status]")).to_contain_text("in this bin (+")
    press("n")  # the top bin stays chosen
    title(page, 31)
    expect(texts.first).to_contain_text(kept_of(runs, 31).texts[0].completion.strip())
    expect(bars.last).to_have_attribute("aria-pressed", "true")
    stops += tab_to(page, window.get_by_role("button", name="All bins"))
    press("Enter")
    expect(texts).to_have_count(len(kept_of(runs, 31).texts))
    press("ArrowLeft")
    title(page, 30)
    stops += tab_to(page, window.get_by_role("region", name="Texts of this update"))
    assert_seen(stops)
    close(page)
    expect(stage).to_be_focused()
    press("ArrowRight")  # from where one was
    expect(stage).to_have_attribute("aria-valuenow", "31")


def test_what_was_possible_is_measured_when_asked_for(site, open_page):
    fake_run.write_run(site.outputs, "measured", fake_run.settings("measured"))
    go(open_page, "train", run="measured")
    part = open_section(open_page, "frontier").locator("section.frontier")
    part.scroll_into_view_if_needed()
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
