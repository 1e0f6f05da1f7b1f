"""What the host of a page sees, and what a visitor of a public page may do."""

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import TOKEN, go
from tests.ui.test_browser_access import open_as_visitor, see_failed_run, see_settings, write_runs


@pytest.fixture(scope="module")
def shared(class_site, space_site):
    return {site.mode: write_runs(site) for site in (class_site, space_site)}


def test_who_visits_a_public_page_may_start_within_caps_and_has_no_power_over_other_runs(shared, make_page):
    page = make_page()
    open_as_visitor(page, shared["space"])
    page.locator("#run-title").get_by_text("Kinder reviews").wait_for()
    page.locator(".status .state strong", has_text="example, recorded").wait_for()
    see_settings(page, "0.25")
    assert page.locator(".step [data-key=look]").is_hidden()  # it is in the form
    assert page.locator("#story").is_visible()
    see_failed_run(page)
    page.get_by_role("button", name="Start training").wait_for()
    page.locator(".caps summary").click()
    caps = page.locator(".caps").inner_text()
    assert "30 minutes" in caps
    assert "500 updates" in caps
    assert page.locator("#controls .off-note").count() == 0
    assert page.locator(".notice-actions [data-key=resume]:visible").count() == 0  # another visitor's run
    page.get_by_role("link", name="Rewards").click()
    page.get_by_role("button", name="Score", exact=True).wait_for()
    assert page.locator("#page-rewards .off-note:visible").count() == 0  # what they may is there, and nothing grey
    expect(page.get_by_role("tab")).to_have_count(3)
    for part in ("train", "test"):
        go(page, "rewards", part=part)
        page.locator("#page-rewards .off-note:visible").wait_for()


@pytest.mark.parametrize("mode", ["classroom", "space"])
def test_the_host_may_start_and_resume_and_the_token_is_nowhere_in_the_page(shared, mode, make_page):
    page, url = make_page(), shared[mode].url
    page.goto(f"{url}host?token={TOKEN}")
    page.wait_for_function("document.documentElement.dataset.role === 'host'")
    assert page.url == url
    assert TOKEN not in page.content()
    assert page.locator("#controls").is_visible()
    go(page, "train", run="failed")
    page.locator(".notice-actions [data-key=again]").wait_for()
    assert page.locator(".notice .remedy").inner_text().startswith("What to do: ")
    assert page.locator(".off-note").count() == 0
    assert ("You are the host" in page.locator("body").inner_text()) == (mode == "classroom")
    assert TOKEN not in page.evaluate("document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
