"""The page in a browser when a worker falls silent and when a run is steered by hand; the picture of its curves, and a
page at rest."""

import os
import re
import signal

from PIL import Image
from playwright.sync_api import expect

from playground.runs.folder import heartbeat
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.conftest import go, in_page, open_section, visit
from tests.ui.test_browser import SCORE, updates_done, wait_for_update
from tests.ui.test_browser_ends import STATE, TITLE, button


def test_a_worker_that_falls_silent_is_noticed_and_comes_back_by_itself(site, page, begin):
    site.let_runs_reach(2)
    run = begin("silent")
    go(page, "train", run="silent")
    wait_for_update(page, 2)
    pid = wait_until(lambda: run.status().pid)  # never 0: that would stop the tests themselves
    last = wait_until(lambda: heartbeat.read(run.path))  # stopped before its first word, it would never have one
    os.kill(pid, signal.SIGSTOP)
    heartbeat.write(run.path, last.model_copy(update={"beat": heartbeat.now() - 34.0}))  # as if that were a while ago
    expect(page.locator(STATE)).to_have_text(re.compile(r"not answering for (3[4-9]|[4-9]\d) s"))
    expect(page.locator(TITLE)).to_contain_text("Not answering for")
    expect(page.locator(".notice")).to_contain_text("the run goes on by itself")
    expect(page.locator(".status [role=status]")).to_contain_text("Not answering")
    expect(button(page, "End it now")).to_be_visible()
    before = updates_done(page)
    site.let_runs_end()
    os.kill(pid, signal.SIGCONT)
    wait_for_update(page, before + 1)
    expect(page.locator(STATE)).to_have_text("running")
    expect(page.locator(".notice")).to_be_hidden()


def test_the_picture_of_a_run_has_all_of_its_curves(site, page):
    fake_run.write_run(site.outputs, "drawn")
    go(page, "train", run="drawn")
    open_section(page, "curves")
    expect(page.locator(f"{SCORE} .curves path").first).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    charts = page.locator(".charts-small .chart").locator("visible=true").count()
    expect(page.locator(".charts-small .curves:has(path)")).to_have_count(charts)
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
