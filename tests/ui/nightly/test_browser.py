"""How a run is steered by hand, and the picture of its curves, in a browser."""

import re

from PIL import Image
from playwright.sync_api import expect

from tests.ui import fake_run
from tests.ui.conftest import go, open_section, visit
from tests.ui.test_browser import SCORE, change, said, updates_done, wait_for_update


def test_a_run_is_paused_over_a_reload_makes_one_step_and_goes_on_by_the_space_key(site, open_page, begin):
    page, state = open_page, open_page.locator(".status .state strong")
    site.let_runs_reach(2)
    begin("by-hand")
    go(page, "train", run="by-hand")
    wait_for_update(page, 2)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(state).to_have_text("paused")
    site.let_runs_reach(5)
    page.reload()
    expect(state).to_have_text("paused")
    expect(page).to_have_title(re.compile("^\u2016 2/"))
    page.get_by_role("button", name="One step").click()
    wait_for_update(page, 3)
    expect(state).to_have_text("paused")
    expect(page.get_by_role("button", name="One step")).to_have_attribute("aria-disabled", "false")
    assert updates_done(page) == 3
    page.locator("h1").click()
    page.keyboard.press("Space")
    expect(state).to_have_text("running")
    wait_for_update(page, 5)


def test_a_leash_that_two_windows_set_is_the_last_one_in_both(site, open_page, make_page, begin):
    page = open_page
    site.let_runs_reach(1)
    begin("for-two")
    go(page, "train", run="for-two")
    wait_for_update(page, 1)
    other = visit(make_page(390, 844), site, "?run=for-two")  # as on a phone
    other.get_by_role("button", name="Set up a run").click()
    change(page, "kl.coef", "0.6")
    expect(other.locator("#knob-kl-coef")).to_have_value("0.6")
    site.let_runs_reach(5)  # the prompts are answered again
    wait_for_update(other, 5)
    change(other, "kl.coef", "0.1")
    expect(page.locator("#knob-kl-coef")).to_have_value("0.1")
    expect(said(page, "kl.coef")).to_contain_text("Set after update 5.")
    expect(open_section(page, "curves").locator(".edits li")).to_have_count(2)


def test_the_picture_of_a_run_has_all_of_its_curves(site, open_page):
    page = open_page
    fake_run.write_run(site.outputs, "drawn")
    go(page, "train", run="drawn")
    open_section(page, "curves")
    expect(page.locator(f"{SCORE} canvas").first).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    charts = page.locator(".charts-small .chart").locator("visible=true").count()
    expect(page.locator(".charts-small .canvas:has(*)")).to_have_count(charts)
    assert len(set(Image.open(saved.value.path()).resize((300, 900)).convert("L").tobytes())) > 50
