"""The page in a browser when a run has ended: how, what to do, and that it is resumed in place. And while answers come
late or not at all: what cannot work yet is not offered, a server that is there again is found, nothing jumps."""

import re
import signal

import pytest
from playwright.sync_api import expect

from playground.runs.folder import exit_reasons
from tests.nights import cases
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.conftest import choose_preset, go, in_page, of_module, visit
from tests.ui.test_browser import fill, wait_for_update

STATE = ".status .state strong"
TITLE = ".notice h2"


def shown_updates(page):
    """The updates of the run in view that its charts have."""
    return of_module(page, "core/store.js", "(m) => m.live.metrics.update")


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def test_an_end_says_what_happened_and_what_to_do(site, page):
    """Three of the reasons: the others differ in words only."""
    notice = page.locator(".notice")
    for reason, state in (("out_of_memory", "failed"), ("killed", "interrupted"), ("stopped", "stopped")):
        end, name = exit_reasons.EXIT_REASONS[reason], f"end-{reason.replace('_', '-')}"
        message = f"This is `what` happened, {reason.replace('_', ' ')}: lower ppo.batch_size."
        fake_run.write_ended(site.outputs, name, reason, state, message=message, config=fake_run.settings(name))
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
    run = fake_run.write_ended(site.outputs, "end-bug", "bug", config=fake_run.settings("end-bug"))
    run.log_path.write_text("".join(f"line {number} <b>of the log</b>\n" for number in range(100)))
    go(page, "train", run="end-bug")
    notice.get_by_text("The end of its log").click()
    log = notice.locator("pre.log")
    expect(log).to_contain_text("line 99 <b>of the log</b>")
    assert log.inner_text().splitlines()[0] == "line 60 <b>of the log</b>"
    go(page, "runs")
    row = page.locator("[data-key='run end-bug']")
    expect(row).to_contain_text(exit_reasons.EXIT_REASONS["bug"].title)
    expect(row).to_contain_text(run.status().message)
    assert "line 99" in page.request.get(row.get_by_role("link", name="Its log").evaluate("link => link.href")).text()
    go(page, "train", run="end-bug")
    log.focus()
    finished = fake_run.write_run(site.outputs, "all-well")
    go(page, "train", run=finished.id)
    expect(page.locator(STATE)).to_have_text("finished")
    expect(notice).to_be_hidden()
    expect(page.locator("#run-title")).to_be_focused()  # the log that was read has gone


def test_a_run_is_resumed_in_place_from_its_newest_good_checkpoint(site, page):
    settings = fake_run.settings("cut-off", num_updates=4000)
    run = fake_run.write_ended(site.outputs, "cut-off", "killed", "interrupted", at=27, config=settings)
    broken = fake_run.write_checkpoint(run, 25)
    (broken / "model.safetensors").write_bytes(b"changed")
    site.let_runs_reach(29)
    go(page, "train", run="cut-off")
    expect(page.locator(".notice")).to_contain_text("The checkpoint update-000025 cannot be used")
    page.evaluate("window.here = true")
    resume = button(page, "Resume from update 20")
    resume.focus()
    resume.dblclick()
    expect(page.locator(".status .line")).to_contain_text("Resumed from update 20 (attempt 2).")
    page.wait_for_function("document.activeElement !== document.body")  # the keyboard is still in the panel
    expect(page.locator(".flag.resumed")).to_have_count(2)
    wait_for_update(page, 29)
    assert (run.status().attempt, page.evaluate("window.here")) == (2, True)
    wait_until(lambda: shown_updates(page) == list(range(1, 30)))  # figures may come after the status
    stop = button(page, "Stop")
    stop.focus()
    page.keyboard.press("Enter")
    expect(page.locator(TITLE)).to_contain_text("Stopped")
    page.wait_for_function("document.activeElement !== document.body")


class Held:
    """Keeps what a page asks at an address from the server, until `let_go`."""

    def __init__(self, page, address):
        self.asked, self.open = [], False
        page.route(address, self.take)

    def take(self, route):
        if self.open:
            route.continue_()
        else:
            self.asked.append(route)

    def let_go(self):
        """Let through what was asked, and whatever will be."""
        self.open = True
        for route in self.asked:
            route.continue_()


@pytest.mark.parametrize("how", cases([signal.SIGTERM, signal.SIGKILL], always=[signal.SIGTERM]))
def test_an_open_page_finds_its_run_again_after_a_restart_of_the_web_process(site, make_page, begin, figure, how):
    site.let_runs_reach(3)
    run = begin(f"outlives-{how:d}")
    page = visit(make_page(forgive=["ERR_", "Failed to", "fetch", "Connection"]), site, f"?run={run.id}")
    wait_for_update(page, 3)
    page.evaluate("window.here = true")
    site.process.send_signal(how)
    assert site.process.wait(timeout=120) == (0 if how is signal.SIGTERM else -how)
    assert run.is_alive()  # the worker goes on
    expect(page.locator(TITLE)).to_contain_text("The playground does not answer")
    site.let_runs_reach(5)
    site.start()
    wait_for_update(page, 5)
    expect(page.locator(".notice")).to_be_hidden()
    wait_until(lambda: shown_updates(page) == [1, 2, 3, 4, 5])  # figures may come after the status
    button(page, "Stop").click()  # what the page asks for reaches the new server
    expect(page.locator(TITLE)).to_contain_text("Stopped")
    assert page.evaluate("window.here"), "it was loaded anew"
    figure(f"server ended ({how.name}) under an open page: it finds its run again, no reload, no update twice", 1, 1)


def test_a_form_takes_nothing_until_it_has_the_values_of_the_preset_that_was_chosen_last(site, page):
    beta = page.locator("#field-kl-coef")
    held = Held(page, "**/run/predict*")
    for preset in ("no-leash", "short-leash"):
        page.locator("#preset select").select_option(preset)
    wait_until(lambda: page.evaluate("1") and held.asked)
    assert beta.evaluate("node => node.inert")
    held.let_go()
    expect(beta.locator(".knob-field")).to_have_value("5")
    page.wait_for_function("!document.getElementById('field-kl-coef').inert")
    page.unroute_all()
    choose_preset(page, "kinder-reviews")


def test_an_edit_is_not_hidden_by_a_check_of_the_values_before_it(page):
    choose_preset(page, "kinder-reviews")
    held = Held(page, "**/run/predict*")
    page.locator("#preset select").select_option("yes-man")
    wait_until(lambda: page.evaluate("1") and held.asked)
    held.asked.pop().continue_()  # its values
    wait_until(lambda: page.evaluate("1") and held.asked)  # what is to be said of them
    fill(page, "kl.coef", "0.4")
    page.wait_for_timeout(500)  # in which the edit would be asked about too
    held.open = True
    for route in reversed(held.asked):
        route.fulfill(response=route.fetch())
    page.wait_for_timeout(500)  # in which the last answer is shown
    expect(page.locator("#notes")).to_contain_text("1 setting differs")
    page.unroute_all()
    choose_preset(page, "kinder-reviews")


PLACES = [".run-view", ".status", ".counts", ".texts-now", ".charts-first", ".section-names"]


def test_where_the_run_comes_last_nothing_jumps_and_curves_and_signs_are_drawn(site, make_page):
    run = fake_run.write_ended(site.outputs, "late", "killed", "interrupted", at=27)
    page = make_page()
    page.add_init_script(f"({in_page('note-places')})({PLACES})")
    held = Held(page, "**/live/late*")
    page.goto(f"{site.url}?run={run.id}", wait_until="commit")  # what is held may keep it from being loaded
    expect(page.locator("#run-title")).to_have_text("")
    wait_until(lambda: page.evaluate("1") and held.asked)
    held.let_go()
    expect(page.locator("#run-title")).to_have_text("Kinder reviews")
    expect(page.locator(".flag.checkpoint")).to_have_count(2 * 2)  # of two updates, on two curves
    assert page.locator("[data-chart=score]").bounding_box()["y"] > page.viewport_size["height"]
    places = page.evaluate("Object.entries(window.places).map(([part, tops]) => [part, [...tops]])")
    assert [len(tops) for _, tops in places] == [1] * 5, places
