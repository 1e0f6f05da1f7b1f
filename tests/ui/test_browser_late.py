"""The page in a real browser while answers come late or not at all: what cannot work yet is not offered, a server that
is there again is found, and without the library that draws the curves the rest works."""

import re

import pytest

from playground.runs.folder.directory import RunDirectory
from tests.nights import cases
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.conftest import visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import start, updates_done, wait_for_update


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
    for (const part of ["status", "counts", "texts-now", "charts-first", "section-names"]) {
        const { top, height } = document.querySelector(`.run-view .${part}`)?.getBoundingClientRect() ?? {};
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
    expect(page.locator(".flag.checkpoint")).to_have_count(2 * 2)  # of two updates, on two curves
    expect(page.locator("[data-chart=score] canvas").first).to_be_visible()
    assert page.locator("[data-chart=score]").bounding_box()["y"] > page.viewport_size["height"]
    places = page.evaluate("Object.entries(window.places).map(([part, tops]) => [part, [...tops]])")
    assert [len(tops) for _, tops in places] == [1] * 5, places
