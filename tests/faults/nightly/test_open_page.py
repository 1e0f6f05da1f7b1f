# ruff: noqa: F401, F811 - pytest finds the fixtures by these names
"""The page that stays open while its server is killed and started again."""

import re
import signal

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import begin, browser, make_page, recorded, server, site
from tests.ui.test_browser import updates_done, visit, wait_for_update
from tests.ui.test_browser_ends import TITLE, button, shown_updates

AWAY = ["ERR_", "Failed to", "fetch", "Connection"]  # what a browser logs of a server that is away


def test_an_open_page_survives_a_kill_of_the_server(site, make_page, begin, figure):
    run = begin("outlives")
    page = visit(make_page(forgive=AWAY), site, f"?run={run.id}")
    wait_for_update(page, 2)
    page.evaluate("window.here = true")
    site.process.send_signal(signal.SIGKILL)
    site.process.wait(timeout=120)
    expect(page.locator(TITLE)).to_contain_text("The playground does not answer")
    assert run.is_alive()
    before = updates_done(page)
    site.start()
    wait_for_update(page, before + 2)
    expect(page.locator(".notice")).to_be_hidden()
    updates = shown_updates(page)
    assert updates == list(range(1, updates[-1] + 1))
    button(page, "Stop").click()  # what the page asks for reaches the new server
    expect(page.locator(TITLE)).to_contain_text("Stopped")
    assert page.evaluate("window.here"), "it was not loaded anew"
    figure("server killed under an open page: it finds its run again, without a reload, no update twice", 1, 1)
