"""The page in a real browser while answers come late or not at all: what cannot work yet is not offered, a server that
is there again is found, and without the library that draws the curves the rest works."""

import re

import pytest

from playground.runs.folder.directory import RunDirectory
from tests.support import wait_until
from tests.thoroughness import cases
from tests.ui import fake_run
from tests.ui.conftest import go, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import SCORE, change, start, updates_done, wait_for_update


class Held:
    """Keeps what a page asks at an address from the server, until `let_go`."""

    def __init__(self, page, address):
        self.asked, self.open = [], False
        page.route(address, self.take)

    def take(self, route):
        """One question of the page."""
        if self.open:
            route.continue_()
        else:
            self.asked.append(route)

    def let_go(self, first=0):
        """Let through what was asked, from number `first` on, and whatever will be."""
        self.open = True
        for route in self.asked[first:]:
            route.continue_()


def test_one_can_ask_as_soon_as_a_run_is_there_and_only_the_run_that_is_shown(site, make_page):
    for name in ("first-asked", "then-asked"):
        fake_run.write_run(site.outputs, name)
    page = visit(make_page(), site, "?run=first-asked")
    ask = page.locator("#ask-button")
    held = Held(page, "**/live/_runs")
    page.get_by_role("link", name="Compare").click()
    page.locator("#ask-prompt textarea").fill("The film was")
    expect(ask).to_be_disabled()
    held.let_go()
    ask.click()  # waits until it can be clicked on, as a person would
    expect(page.locator("#answers tbody tr")).to_have_count(3)
    held = Held(page, "**/then-asked/compare*")
    with page.expect_request("**/then-asked/compare*"):
        page.locator("#compare select").first.select_option("then-asked")
    expect(ask).to_be_disabled()  # the rows above are still those of the other run
    assert held.asked  # twice, where the run itself has come in between
    held.let_go()
    with page.expect_request("**/queue/join*") as asked:
        ask.click()
    assert asked.value.post_data_json["data"][:2] == ["then-asked", "The film was"]


def test_what_is_asked_is_sent_once_however_late_the_answer_is_and_can_be_asked_again_where_none_comes(site, make_page):
    page = visit(make_page(forgive=["ERR_FAILED"]), site)
    start(page)
    wait_for_update(page, 2)
    change(page, "kl.coef", "0.6")
    apply = page.locator(".live-head button")
    asked = Held(page, "**/component_server/**")
    apply.focus()
    page.keyboard.press("Enter")
    expect(apply).to_be_disabled()
    wait_for_update(page, updates_done(page) + 2)  # what comes from the run meanwhile
    expect(apply).to_be_disabled()
    page.keyboard.press("Enter")
    asked.let_go()
    expect(page.locator(".live-note")).to_contain_text("Applied: ")
    expect(apply).to_be_disabled()  # until something is changed again
    expect(apply).to_be_focused()
    assert len(asked.asked) == 1
    page.unroute_all()
    page.route("**/component_server/**", lambda route: route.abort())
    stop = page.get_by_role("button", name="Stop", exact=True)
    stop.click()
    expect(page.locator(".status .line")).to_contain_text("nothing was asked of the run")
    expect(stop).to_be_enabled()
    page.unroute_all()
    stop.click()
    expect(page.locator(".state strong")).to_have_text("stopped")


def test_a_restart_of_the_web_process_in_mid_run_shows_the_run_as_it_is(site, make_page):
    page = visit(make_page(forgive=["ERR_", "Failed to", "fetch", "Connection"]), site)
    start(page)
    wait_for_update(page, 3)
    before = updates_done(page)
    run_id = re.search(r"run=([a-z0-9-]+)", page.url).group(1)
    assert site.stop() == 0
    run = RunDirectory.open(site.outputs / run_id)
    assert run.is_alive()  # the worker goes on
    expect(page.locator(".notice h2")).to_contain_text("The playground does not answer")
    site.start()
    wait_for_update(page, before + 1)  # the open page finds its run again by itself
    fresh = visit(make_page(), site)
    wait_for_update(fresh, before + 1)
    assert f"run={run_id}" in page.url
    run.request_stop()
    wait_until(lambda: not run.is_alive())


def test_the_preset_that_was_chosen_last_fills_the_form_however_late_the_answer_for_the_first_is(site, make_page):
    page = visit(make_page(), site)
    held = Held(page, "**/run/predict*")
    for preset in ("no-leash", "short-leash"):
        page.locator("#preset select").select_option(preset)
    wait_until(lambda: page.evaluate("1") and held.asked)
    held.let_go()
    expect(page.locator("#knob-kl-coef")).to_have_value("5")


NOTE_PLACES = """window.places = {};
(function look() {
    if (document.querySelector(".alerts .alert:is(.red, .amber)")) return; // whose words need room of their own
    for (const part of ["status", "charts"]) {
        const { top, height } = document.querySelector(`.run-view > .${part}`)?.getBoundingClientRect() ?? {};
        if (height) (window.places[part] ??= new Set()).add(Math.round(top + scrollY));
    }
    requestAnimationFrame(look);
})();"""
BROUGHT_BY = {"the library that draws": "**/playground/bokeh/**", "the run": "**/live/late-*"}


@pytest.mark.parametrize("last", cases(BROUGHT_BY, always=["the run"]))
def test_whatever_comes_last_nothing_jumps_and_curves_and_signs_are_drawn(site, make_page, last):
    run = fake_run.write_ended(site.outputs, f"late-{len(last)}", "killed", "interrupted", at=27)
    page = make_page()
    page.add_init_script(NOTE_PLACES)
    held = Held(page, BROUGHT_BY[last])
    visit(page, site, f"?run={run.id}")
    expect(page.locator("#run-title")).to_have_text("" if last == "the run" else "Kinder reviews")
    page.wait_for_function(f"Boolean(window.Bokeh?.Plotting) === {str(last == 'the run').lower()}")
    wait_until(lambda: page.evaluate("1") and held.asked)
    held.let_go()
    expect(page.locator("#run-title")).to_have_text("Kinder reviews")
    expect(page.locator(".flag.checkpoint")).to_have_count(2 * 3)  # of two updates, on three curves
    expect(page.locator("[data-chart=score] canvas").first).to_be_visible()
    assert page.locator("[data-chart=score]").bounding_box()["y"] > page.viewport_size["height"]
    places = page.evaluate("Object.entries(window.places).map(([part, tops]) => [part, [...tops]])")
    assert {part: len(tops) for part, tops in places} == {"status": 1, "charts": 1}, places


def test_nothing_jumps_while_a_run_goes(site, make_page):
    page = visit(make_page(), site)
    start(page)
    wait_for_update(page, 1)
    page.evaluate(NOTE_PLACES)
    wait_for_update(page, 11)  # after the first alerts, the second evaluation and the first checkpoint
    expect(page.locator(".alerts-summary")).to_contain_text("quiet")
    expect(page.locator(".flag.checkpoint")).to_have_count(3)
    places = page.evaluate("Object.entries(window.places).map(([part, tops]) => [part, [...tops]])")
    assert {part: len(tops) for part, tops in places} == {"status": 1, "charts": 1}, places
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".state strong")).to_have_text("stopped")


BOKEH = "**/playground/bokeh/**"
LOGGED = ["ERR_FAILED", "Unexpected token", "MIME type"]  # what a browser logs of a file that did not come


def test_without_bokehjs_numbers_are_shown_and_runs_are_started_steered_compared_and_asked(site, make_page):
    page = make_page(forgive=LOGGED)
    page.route(BOKEH, lambda route: route.fulfill(body="<html>Sign in</html>", content_type="text/javascript"))
    visit(page, site)
    start(page)
    wait_for_update(page, 6)
    note = page.locator(".charts .undrawn-note")
    expect(note).to_contain_text("The curves cannot be drawn")
    expect(page.locator(SCORE)).to_be_hidden()  # no empty frames
    expect(page.locator('[data-chart="score"] .chart-value')).to_have_text(re.compile(r"\d sd"))
    expect(page.get_by_role("button", name="PNG")).to_be_disabled()
    rows = page.locator(".charts .numbers tbody tr")
    page.get_by_role("button", name="Table").click()
    expect(rows.first).to_contain_text(re.compile(r"^[6-9]|^\d\d"))
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".state strong")).to_have_text("paused")
    page.get_by_role("button", name="One step").click()
    expect(page.locator(".changed .at")).to_have_text(re.compile(r"after update \d+"))
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".state strong")).to_have_text("stopped")
    page.get_by_role("button", name="Compare before and after").click()
    expect(page.locator("table.compare tbody tr").first).to_be_visible()
    labels = [r"Score: mean .* before, .* sd after", r"Length: mean .* before, .* tokens after"]
    for drawing, words in zip(page.locator(".histograms .stage").all(), labels, strict=True):  # without that library
        expect(drawing).to_be_visible()
        expect(drawing).to_have_attribute("aria-label", re.compile(words))
    page.locator("#ask-prompt textarea").fill("The film was")
    page.locator("#ask-button").click()
    expect(page.locator("#answers tbody tr")).to_have_count(3)
    for name in ("undrawn-a", "undrawn-b"):
        fake_run.write_run(site.outputs, name)
    go(page, "runs", overlay=["undrawn-a", "undrawn-b"])
    expect(page.locator(".legend li")).to_have_count(2)
    expect(page.locator(".overlay .undrawn-note")).to_contain_text("The curves cannot be drawn")
