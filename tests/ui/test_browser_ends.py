"""The page in a real browser when things go wrong or take long: how a run ended and what to do, resume, the queue, a
worker that does not answer. What takes longer to try is in tests/faults/test_open_page.py."""

import os
import re
import signal

import pytest

from playground.runs import launcher, queue
from playground.runs.folder import exit_reasons, heartbeat
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from playground.ui import own_files
from tests.support import kill_worker, wait_until
from tests.ui import fake_run, fake_server
from tests.ui.conftest import go, of_module, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import fill, updates_done, wait_for_update

STATE = ".status .state strong"
TITLE = ".notice h2"
WAITS = "“Kinder reviews” is training; one run at a time on this device."
ASK_NOW = "document.dispatchEvent(new Event('visibilitychange'))"


def config(name, num_updates=4000, **changes):
    """Of a run that is long enough to look at for as long as a busy machine needs."""
    base = catalog.preset("kinder-reviews")
    parts = {
        "ppo": base.ppo.model_copy(update={"num_updates": num_updates}),
        "evaluation": base.evaluation.model_copy(update={"num_prompts": 8}),
    }
    return base.model_copy(update={"name": name, **parts, **changes})


@pytest.fixture
def begin(site, monkeypatch):
    """Start a run with a fake worker without the page; whatever still lives at the end of the test is ended."""
    monkeypatch.setenv(fake_run.SECONDS_VARIABLE, str(site.seconds_per_update))

    def start(name):
        return launcher.start(config(name), site.outputs, name, spawn=fake_server.spawn_fake).run

    yield start
    for run_id in queue.waiting(site.outputs):
        launcher.stop(RunDirectory(site.outputs / run_id))
    for run in launcher.living_runs(site.outputs):
        kill_worker(run)
    wait_until(lambda: not launcher.living_runs(site.outputs))


def shown_updates(page):
    """The updates of the run in view that its charts have."""
    return of_module(page, f"/{own_files.address('core/store.js')}", "(m) => m.live.metrics.update")


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def run_in_view(page):
    return re.search(r"run=([a-z0-9-]+)", page.url).group(1)


def test_an_end_says_what_happened_and_what_to_do(site, open_page):
    """Three of the reasons: the others differ in words only."""
    page, notice = open_page, open_page.locator(".notice")
    for reason, state in (("out_of_memory", "failed"), ("killed", "interrupted"), ("stopped", "stopped")):
        end, name = exit_reasons.EXIT_REASONS[reason], f"end-{reason.replace('_', '-')}"
        message = f"This is `what` happened, {reason.replace('_', ' ')}: lower ppo.batch_size."
        fake_run.write_ended(site.outputs, name, reason, state, message=message, config=config(name, 40))
        go(page, "train", run=name)
        expect(page.locator(TITLE)).to_contain_text(end.title)
        expect(notice).to_contain_text(f"what happened, {reason.replace('_', ' ')}: lower \u201cBatch\u201d.")
        expect(notice.locator("code").first).to_have_text("what")
        expect(notice).to_contain_text("What to do:")
        assert notice.get_attribute("data-tone") == ("quiet" if state == "stopped" else "bad")
        expect(page.locator(".status [role=status]")).to_contain_text(end.title)  # a screen reader hears it
        expect(button(page, "Put its settings into the form")).to_be_visible()
        again = notice.get_by_role("button", name=re.compile("Resume|from the beginning"))
        expect(again).to_have_count(int(end.resumable))
    run = fake_run.write_ended(site.outputs, "end-bug", "bug", config=config("end-bug", 40))
    run.log_path.write_text("".join(f"line {number} <b>of the log</b>\n" for number in range(100)))
    go(page, "train", run="end-bug")
    button(page, "Show the log").click()
    log = page.locator("pre.log")
    expect(log).to_contain_text("line 99 <b>of the log</b>")
    assert log.inner_text().splitlines()[0] == "line 60 <b>of the log</b>"
    log.focus()
    finished = fake_run.write_run(site.outputs, "all-well")
    go(page, "train", run=finished.id)
    expect(page.locator(STATE)).to_have_text("finished")
    expect(notice).to_be_hidden()
    expect(page.locator("#run-title")).to_be_focused()  # the log that was read has gone


def test_a_run_is_resumed_in_place_from_its_newest_good_checkpoint(site, make_page, begin):
    run = fake_run.write_ended(site.outputs, "cut-off", "killed", "interrupted", at=27, config=config("cut-off"))
    broken = fake_run.write_checkpoint(run, 25)
    (broken / "model.safetensors").write_bytes(b"changed")
    page, other = visit(make_page(), site, "?run=cut-off"), visit(make_page(390, 844), site, "?run=cut-off")
    expect(page.locator(".notice")).to_contain_text("The checkpoint update-000025 cannot be used")
    page.evaluate("window.here = true")
    resume = button(page, "Resume from update 20")
    resume.focus()
    resume.dblclick()
    expect(page.locator(".status .line")).to_contain_text("Resumed from update 20 (attempt 2).")
    assert page.evaluate("document.activeElement !== document.body")  # the keyboard is still in the panel
    expect(page.locator(".flag.resumed")).to_have_count(2)
    wait_for_update(page, 29)
    assert (run.status().attempt, page.evaluate("window.here")) == (2, True)
    updates = shown_updates(page)
    assert updates == list(range(1, updates[-1] + 1))
    wait_for_update(other, 29)  # who only looks on follows too
    expect(other.locator(".status .line")).to_contain_text("Resumed from update 20")
    stop = button(page, "Stop")
    stop.focus()
    page.keyboard.press("Enter")
    expect(page.locator(TITLE)).to_contain_text("Stopped")
    assert page.evaluate("document.activeElement !== document.body")


def test_starts_while_a_run_trains_wait_their_turn(site, make_page, begin):
    page = visit(make_page(), site)
    fill(page, "ppo.num_updates", "3000")
    expect(page.locator("#notes")).to_contain_text("\u2192 3000")
    page.locator("#start").dblclick()
    expect(page.locator(STATE)).to_have_text(re.compile("starting|running"))
    first = run_in_view(page)
    expect(page.locator("#start")).to_have_text("Add to the queue")
    expect(page.locator("#needs .queue-why")).to_have_text(WAITS)
    assert [run.id for run in launcher.living_runs(site.outputs)] == [first]
    assert not queue.waiting(site.outputs)
    page.locator("#start").click()
    expect(page.locator(TITLE)).to_contain_text("Waiting: 1 run before it")
    second = run_in_view(page)
    expect(page.locator(STATE)).to_have_text("waiting")
    expect(page.locator(".steer")).to_be_hidden()
    expect(page.locator(".top .training")).to_contain_text("1 waiting")
    page.locator("#start").click()
    expect(page.locator(TITLE)).to_contain_text("Waiting: 2 runs before it")
    assert queue.waiting(site.outputs) == [second, run_in_view(page)]
    button(page, "Take out of the queue").click()
    expect(page.locator(TITLE)).to_contain_text("Stopped")
    assert queue.waiting(site.outputs) == [second]
    page.go_back()  # to the run that was viewed before
    expect(page.locator(TITLE)).to_contain_text("Waiting: 1 run before it")
    assert run_in_view(page) == second
    launcher.stop(RunDirectory(site.outputs / first))
    wait_for_update(page, 1)  # its turn has come, in the open page
    expect(page.locator(STATE)).to_have_text("running")
    expect(page.locator(".notice")).to_be_hidden()
    assert run_in_view(page) == second


def test_a_worker_that_falls_silent_is_noticed_and_comes_back_by_itself(site, open_page, begin):
    run = begin("silent")
    page = open_page
    go(page, "train", run="silent")
    wait_for_update(page, 2)
    pid = wait_until(lambda: run.status().pid)  # never 0: that would stop the tests themselves
    found = wait_until(lambda: heartbeat.read(run.path))  # stopped before its first word, it would never have one
    os.kill(pid, signal.SIGSTOP)
    heartbeat.write(run.path, found.model_copy(update={"beat": heartbeat.now() - 34.0}))  # as if that were a while ago
    expect(page.locator(STATE)).to_have_text(re.compile(r"not answering for (3[4-9]|[4-9]\d) s"))
    expect(page.locator(TITLE)).to_contain_text("Not answering for")
    expect(page.locator(".notice")).to_contain_text("the run goes on by itself")
    expect(page.locator(".status [role=status]")).to_contain_text("Not answering")
    expect(button(page, "End it now")).to_be_visible()
    before = updates_done(page)
    os.kill(pid, signal.SIGCONT)
    wait_for_update(page, before + 1)
    expect(page.locator(STATE)).to_have_text("running")
    expect(page.locator(".notice")).to_be_hidden()
