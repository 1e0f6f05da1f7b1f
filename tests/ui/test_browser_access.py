"""What a class and a visitor see: who controls the page, what is switched off and why, the caps. In a real browser."""

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from playground.setup import catalog
from tests.nights import cases
from tests.ui import fake_run
from tests.ui.conftest import Site, go, open_section

TOKEN = "the-token-of-the-teacher"


@pytest.fixture(scope="module", params=cases(["classroom", "space"], always=["classroom"]))
def shared(request, tmp_path_factory, recorded):
    """A page for others, with a run that went well and a newer one that failed."""
    outputs: Path = tmp_path_factory.mktemp(request.param)
    fake_run.write_run(outputs, "lesson", catalog.preset("short-leash"), age_seconds=600)
    fake_run.write_run(outputs, "failed", fail_at=12)
    served = Site(outputs, recorded, mode=request.param)
    served.start(TOKEN)
    yield served
    served.stop()


def test_each_sees_runs_of_the_host_and_what_they_may_do_and_why_not(shared, make_page):
    page, in_class = make_page(), shared.mode == "classroom"
    page.goto(shared.url)
    page.wait_for_function("document.documentElement.dataset.canSteer")
    title = page.locator("#run-title")
    if in_class:
        title.get_by_text("Short leash").wait_for()
        page.locator(".state strong", has_text="finished").wait_for()
        open_section(page, "export")
        page.locator(".all-settings summary").click()
        page.locator(".all-settings pre", has_text="coef: 5.0").wait_for()
        page.get_by_role("link", name="Runs").click()
        page.locator("table.runs tbody tr").first.wait_for()
        go(page, "train", run="_recorded")
    title.get_by_text("Kinder reviews").wait_for()
    page.locator(".state strong", has_text="recorded run").wait_for()
    if not in_class:
        open_section(page, "export")
        page.locator(".all-settings summary").click()
    page.locator(".all-settings pre", has_text="coef: 0.25").wait_for()  # of a recording too
    look = page.locator(".step [data-key=look]")  # beside the run for those who have no form, else in the form
    assert look.is_visible() == in_class
    assert page.locator("#story").is_visible() != in_class
    if in_class:
        assert "ress Start" not in page.evaluate("document.body.textContent"), "a watcher is asked to start a run"
    go(page, "train", run="failed")
    page.locator(".notice h2").wait_for()
    assert page.locator(".notice .remedy").is_hidden()  # advice is for those who may follow it
    if in_class:
        assert "The host leads this page" in page.locator(".access-banner").inner_text()
        assert page.locator("#controls").is_hidden()
        assert page.locator(".notice-actions [data-key]:visible").count() == 0
    else:
        page.get_by_role("button", name="Start training").wait_for()
        page.locator(".caps summary").click()
        caps = page.locator(".caps").inner_text()
        assert "30 minutes" in caps
        assert "500 updates" in caps
        assert page.locator("#controls .off-note").count() == 0
        assert page.locator(".notice-actions [data-key=resume]:visible").count() == 0  # another visitor's run
    page.get_by_role("link", name="Rewards").click()
    if in_class:  # who has not joined only looks
        page.locator("#workbench .off-note").get_by_role("link", name="Join it").wait_for()
    else:
        page.get_by_role("button", name="Score", exact=True).wait_for()
        assert page.locator("#page-rewards .off-note:visible").count() == 0  # what they may is there, and nothing grey
    assert page.get_by_role("tab").count() == (0 if in_class else 3)
    for part in ("train", "test"):
        go(page, "rewards", part=part)
        off = page.locator("#page-rewards .off-note:visible")
        off.wait_for()
        assert page.locator("#page-rewards [data-off] > [inert]:visible").count() == 0 or not in_class
    go(page, "rewards", part="try")


def test_a_class_asks_a_model_and_scores_texts(shared, make_page):
    page = make_page()
    if shared.mode == "classroom":
        page.goto(f"{shared.url}?tab=compare&run=lesson")
        page.locator("#ask .off-note").get_by_text("in the class").wait_for()
        host = {"Authorization": f"Bearer {TOKEN}"}
        made = page.request.post(f"{shared.url}class/lead", data={"do": "open"}, headers=host).json()["made"]
        assert page.request.post(f"{shared.url}class/join", data={"code": made}).ok
    page.goto(f"{shared.url}?tab=compare&run=lesson")
    samples = page.get_by_role("slider", name="Samples each")
    expect(samples).to_have_attribute("max", "4")
    page.locator("#ask-prompt textarea").fill("The film was")
    page.get_by_role("button", name="Ask both").click()
    page.locator("#answers", has_text="wonderful and number 2.").wait_for()
    go(page, "rewards")
    page.get_by_role("button", name="Score", exact=True).click()
    assert page.locator("#page-rewards .off-note:visible").count() == 0
    page.locator("#bench-result").get_by_text("wins by").first.wait_for()


def test_the_host_may_do_it_and_sees_what_to_hand_out(shared, make_page):
    page = make_page()
    page.goto(f"{shared.url}host?token={TOKEN}")
    page.wait_for_function("document.documentElement.dataset.role === 'host'")
    assert page.url == shared.url
    assert TOKEN not in page.content()
    assert page.locator("#controls").is_visible()
    go(page, "train", run="failed")
    page.locator(".notice-actions [data-key=again]").wait_for()
    assert page.locator(".notice .remedy").inner_text().startswith("What to do: ")
    assert page.locator(".off-note").count() == 0
    assert ("You are the host" in page.locator("body").inner_text()) == (shared.mode == "classroom")
    assert TOKEN not in page.evaluate("document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)")
