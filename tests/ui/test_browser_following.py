"""Who has joined a class is taken along to where the host is, may leave and comes back. The host is a program here: one
browser has the cookies of one person."""

import pytest

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import TOKEN


@pytest.fixture(scope="module")
def shared(class_site):
    """A page for a class, with two runs."""
    fake_run.write_run(class_site.outputs, "first", catalog.preset("short-leash"), age_seconds=600)
    fake_run.write_run(class_site.outputs, "second")
    return class_site


@pytest.fixture
def lead(shared, person):
    """What the host does, without a browser."""
    return person(shared, TOKEN).lead


def viewed(run):
    return f".run-view[data-run='{run}']"


def test_a_student_is_taken_along_leaves_and_comes_back(shared, lead, make_page):
    page, code = make_page(), lead("open")["made"]
    page.request.post(f"{shared.url}class/join", data={"code": code})
    lead("location", query="run=first", update=None, text=None)
    page.goto(f"{shared.url}?tab=runs&follow=1")  # who comes late is where the host is
    page.locator(viewed("first")).wait_for()
    lead("location", query="tab=compare&run=second")
    page.wait_for_url("**/?tab=compare&run=second&follow=1")
    lead("ask", ask="Which way?", options=["Up", "Down"])
    bar = page.get_by_role("region", name="The class")
    assert bar.get_by_role("link", name="A question is open: answer").get_attribute("href") == f"{shared.url}class"
    page.get_by_role("link", name="Runs", exact=True).click()
    bar.get_by_text("You look around.").wait_for()
    lead("location", query="run=first", update=None, text=None)
    bar.get_by_role("button", name="Back to the host").click()
    page.locator(viewed("first")).wait_for()
    assert page.url == f"{shared.url}?run=first&follow=1"
    bar.get_by_role("button", name="Look around").press("Enter")
    bar.get_by_role("button", name="Back to the host").wait_for()
    lead("free", free=False)
    bar.get_by_text("You follow the host.").wait_for()
    assert bar.get_by_role("button").count() == 0
    page.get_by_role("link", name="Runs", exact=True).click()
    page.wait_for_url("**/?run=first&follow=1")
    lead("location", query="run=_recorded", update=None, text=None, played=3)
    page.locator(viewed("_recorded")).wait_for()
    page.get_by_label("Update to show").and_(page.locator("[aria-valuetext='after update 3']")).wait_for()
    lead("end")
    bar.get_by_text("The class has ended.").wait_for()
