"""The page in a real browser while answers come late or not at all: what cannot work yet is not offered, a server that
is there again is found, and without the library that draws the curves the rest works."""

import pytest
from playwright.sync_api import expect

from tests.nights import cases
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.conftest import choose_preset, in_page, visit
from tests.ui.test_browser import wait_for_update


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

    def let_go(self):
        """Let through what was asked, and whatever will be."""
        self.open = True
        for route in self.asked:
            route.continue_()


def test_an_open_page_finds_its_run_again_after_a_restart_of_the_web_process(site, make_page, begin):
    site.let_runs_reach(3)
    run = begin("goes-on")
    page = visit(make_page(forgive=["ERR_", "Failed to", "fetch", "Connection"]), site, "?run=goes-on")
    wait_for_update(page, 3)
    assert site.stop() == 0
    assert run.is_alive()  # the worker goes on
    expect(page.locator(".notice h2")).to_contain_text("The playground does not answer")
    site.let_runs_reach(5)
    site.start()
    wait_for_update(page, 5)
    expect(page.locator(".notice")).to_be_hidden()


def test_a_form_takes_nothing_until_it_has_the_values_of_the_preset_that_was_chosen_last(site, open_page):
    page, beta = open_page, open_page.locator("#field-kl-coef")
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


PLACES = [".run-view", ".status", ".counts", ".texts-now", ".charts-first", ".section-names"]
BROUGHT_BY = {"the library that draws": "**/playground/bokeh/**", "the run": "**/live/late-*"}


@pytest.mark.parametrize("last", cases(BROUGHT_BY, always=["the run"]))
def test_whatever_comes_last_nothing_jumps_and_curves_and_signs_are_drawn(site, make_page, last):
    run = fake_run.write_ended(site.outputs, f"late-{len(last)}", "killed", "interrupted", at=27)
    page = make_page()
    page.add_init_script(f"({in_page('note-places')})({PLACES})")
    held = Held(page, BROUGHT_BY[last])
    page.goto(f"{site.url}?run={run.id}", wait_until="commit")  # what is held may keep it from being loaded
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
