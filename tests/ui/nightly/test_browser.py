"""How a run is steered by hand, the picture of its curves, and a page at rest, in a browser."""

import re

from PIL import Image
from playwright.sync_api import expect

from playground.runs import launcher
from playground.runs.folder import changes
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.conftest import go, in_page, open_section, visit
from tests.ui.test_browser import SCORE, updates_done, wait_for_update


def test_a_run_is_paused_over_a_reload_makes_one_step_and_its_end_leaves_the_focus_in_its_panel(site, open_page, begin):
    page, state = open_page, open_page.locator(".status .state strong")
    site.let_runs_reach(2)
    run = begin("by-hand")
    go(page, "train", run="by-hand")
    wait_for_update(page, 2)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(state).to_have_text("paused")
    site.let_runs_reach(5)
    page.reload()
    expect(state).to_have_text("paused")
    expect(page).to_have_title(re.compile("^\u2016 2/"))
    step, steer = page.get_by_role("button", name="One step"), page.locator(".steer-main")
    step.click()
    wait_for_update(page, 3)
    expect(state).to_have_text("paused")
    expect(step).to_have_attribute("aria-disabled", "false")
    assert updates_done(page) == 3
    step.focus()
    changes.request_resume(run)  # by another person
    expect(step).to_be_hidden()
    expect(steer).to_be_focused()
    wait_for_update(page, 5)
    launcher.stop(run)
    expect(page.locator(".steer")).to_be_hidden()
    expect(page.locator("#run-title")).to_be_focused()


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


def test_a_page_at_rest_draws_no_frames(site, make_page):
    """Each would have the browser look at the whole page: Gradio's loader asked for sixty a second, for ever."""
    opened = make_page()
    opened.add_init_script(in_page("count-frames"))
    visit(opened, site)

    def in_a_second():
        before = opened.evaluate("window.frames_asked")
        opened.wait_for_timeout(1000)
        return opened.evaluate("window.frames_asked") - before

    wait_until(lambda: in_a_second() < 5)
