"""A page that has a host: who controls it, what is switched off for a visitor, and why; what the host sees."""

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import TOKEN, go, open_section


@pytest.fixture(scope="module")
def shared(class_site, space_site):
    """Both with a run that went well and a newer one that failed."""
    for site in (class_site, space_site):
        fake_run.write_run(site.outputs, "lesson", catalog.preset("short-leash"), age_seconds=600)
        fake_run.write_run(site.outputs, "failed", fail_at=12)
    return {site.mode: site for site in (class_site, space_site)}


def open_as_visitor(page, site):
    page.goto(site.url)
    page.wait_for_function("document.documentElement.dataset.canSteer")


def see_settings(page, coefficient):
    """Those of the run in view, which everybody may know."""
    open_section(page, "export")
    page.locator(".run-facts summary").click()
    page.locator(".run-facts pre", has_text=f"coef: {coefficient}").wait_for()


def see_failed_run(page):
    """What happened is for everybody, advice for those who may follow it."""
    go(page, "train", run="failed")
    page.locator(".notice h2").wait_for()
    assert page.locator(".notice .remedy").is_hidden()


def test_who_watches_a_class_sees_the_runs_of_the_host_and_why_nothing_can_be_started(shared, make_page):
    page = make_page()
    open_as_visitor(page, shared["classroom"])
    page.locator("#run-title").get_by_text("Tight leash").wait_for()
    page.locator(".status .state strong", has_text="finished").wait_for()
    see_settings(page, "5.0")
    page.get_by_role("link", name="Runs").click()
    page.locator("table.runs tbody tr").first.wait_for()
    go(page, "train", run="_recorded")
    page.locator(".status .state strong", has_text="example, recorded").wait_for()
    page.locator(".run-facts pre", has_text="coef: 0.25").wait_for()  # of a recording too
    assert page.locator(".step [data-key=look]").is_visible()  # beside the run: there is no form
    assert page.locator("#story").is_hidden()
    assert "ress Start" not in page.evaluate("document.body.textContent"), "a watcher is asked to start a run"
    see_failed_run(page)
    assert "The host leads this page" in page.locator(".access-banner").inner_text()
    assert page.locator("#controls").is_hidden()
    assert page.locator(".notice-actions [data-key]:visible").count() == 0
    page.get_by_role("link", name="Rewards").click()
    page.locator("#workbench .off-note").get_by_role("link", name="Join it").wait_for()  # who has not, only looks
    assert page.get_by_role("tab").count() == 0
    for part in ("train", "test"):
        go(page, "rewards", part=part)
        page.locator("#page-rewards .off-note:visible").wait_for()
        assert page.locator("#page-rewards [data-off] > [inert]:visible").count() == 0


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
