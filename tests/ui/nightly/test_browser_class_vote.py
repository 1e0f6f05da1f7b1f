"""A vote on two runs begins at the desk of a class, by keys."""

from playwright.sync_api import expect

from tests.ui import fake_run
from tests.ui.conftest import WAIT_MS
from tests.ui.test_browser_class_vote import front, lead


def test_two_runs_are_put_to_the_vote_from_the_desk_by_keys(site, make_page):
    for run in ("one", "other"):
        fake_run.write_run(site.outputs, run)
    lead(site, do="open")
    desk = make_page(390, 800)
    desk.goto(f"{site.url}class/desk")
    desk.get_by_text("A vote on pairs of texts").click()
    which, against = desk.get_by_label("Which texts"), desk.get_by_label("Against")
    expect(against).to_be_hidden()
    which.press("ArrowDown")
    which.press("ArrowDown")
    expect(against).to_be_visible()
    expect(desk.locator("#vote-source option")).to_have_text(desk.locator("#vote-against option").all_inner_texts())
    assert desk.locator("#vote-source").input_value() != against.input_value()
    assert desk.evaluate("document.documentElement.scrollWidth <= innerWidth")
    desk.get_by_role("button", name="Begin the vote").press("Enter")
    desk.get_by_role("heading", name="The desk").wait_for()
    desk.get_by_role("button", name="No more votes").wait_for(timeout=WAIT_MS)
    assert front(site)["step"]["vote"]["sides"][1].startswith("by the policy of ")
