"""The page in a real browser while answers come late or not at all: what cannot work yet is not offered."""

import pytest

from tests.ui import fake_run
from tests.ui.conftest import WAIT_MS

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import start, visit, wait_for_update

expect.set_options(timeout=WAIT_MS)


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
    held = Held(page, "**/then-asked/compare")
    page.locator("#compare select").first.select_option("then-asked")
    expect(ask).to_be_disabled()  # the rows above are still those of the other run
    held.let_go()
    with page.expect_request("**/queue/join*") as asked:
        ask.click()
    assert asked.value.post_data_json["data"][:2] == ["then-asked", "The film was"]


def test_a_question_that_never_reaches_the_server_is_told_and_can_be_asked_again(site, make_page):
    page = visit(make_page(forgive=["ERR_FAILED"]), site)
    start(page)
    wait_for_update(page, 1)
    page.route("**/component_server/**", lambda route: route.abort())
    stop = page.get_by_role("button", name="Stop", exact=True)
    stop.click()
    expect(page.locator(".status .line")).to_contain_text("nothing was asked of the run. Try again in a moment.")
    expect(stop).to_be_enabled()
    page.unroute_all()
    stop.click()
    expect(page.locator(".state strong")).to_have_text("stopped")
