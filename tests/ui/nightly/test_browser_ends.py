"""The page in a browser while runs wait for their turn, and when a worker falls silent."""

import os
import re
import signal

from playwright.sync_api import expect

from playground.runs import launcher, queue
from playground.runs.folder import heartbeat
from tests.support import wait_until
from tests.ui.conftest import go
from tests.ui.test_browser import fill, updates_done, wait_for_update
from tests.ui.test_browser_ends import STATE, TITLE, button


def run_in_view(page):
    return re.search(r"run=([a-z0-9-]+)", page.url).group(1)


def test_a_run_that_waits_is_taken_out_of_the_queue_or_trains_when_its_turn_comes(site, open_page, begin):
    page = open_page
    site.let_runs_reach(1)
    first = begin("first")
    fill(page, "ppo.num_updates", "3000")
    expect(page.locator("#notes")).to_contain_text("\u2192 3000")
    expect(page.locator("#start")).to_have_text("Add to the queue")
    page.locator("#start").click()
    expect(page.locator(TITLE)).to_contain_text("Waiting: 1 run before it")
    second = run_in_view(page)
    expect(page.locator(STATE)).to_have_text("waiting")
    expect(page.locator(".steer")).to_be_hidden()
    expect(page.locator(".top .training")).to_contain_text("1 waiting")
    page.locator("#start").click()
    expect(page.locator(TITLE)).to_contain_text("Waiting: 2 runs before it")
    button(page, "Take out of the queue").click()
    expect(page.locator(TITLE)).to_contain_text("Stopped")
    assert queue.waiting(site.outputs) == [second]
    page.go_back()  # to the run that was viewed before
    expect(page.locator(TITLE)).to_contain_text("Waiting: 1 run before it")
    launcher.stop(first)
    wait_for_update(page, 1)
    expect(page.locator(STATE)).to_have_text("running")
    expect(page.locator(".notice")).to_be_hidden()
    assert run_in_view(page) == second


def test_a_worker_that_falls_silent_is_noticed_and_comes_back_by_itself(site, open_page, begin):
    site.let_runs_reach(2)
    run, page = begin("silent"), open_page
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
