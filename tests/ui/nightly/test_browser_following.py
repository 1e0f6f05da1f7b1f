"""The page of a class's host says where it is, so that the class can be taken along."""

from tests.support import wait_until
from tests.ui.conftest import TOKEN
from tests.ui.test_browser_following import lead, shared, viewed  # noqa: F401


def test_the_host_s_page_says_where_it_is_once_there_is_a_class(shared, lead, make_page):  # noqa: F811
    page, before = make_page(), lead.front()["location"]
    page.goto(f"{shared.url}host?token={TOKEN}")
    page.get_by_role("link", name="Your desk").wait_for()
    page.goto(f"{shared.url}?run=first")
    page.locator(viewed("first")).wait_for()
    assert lead.front()["location"] == before  # there is no class
    lead("open")

    def where():
        place = lead.front()["location"] or {}
        return place.get("query"), place.get("update"), place.get("text")

    page.reload()
    wait_until(lambda: where() == ("run=first", None, None))
    page.get_by_role("link", name="Compare", exact=True).click()
    wait_until(lambda: where() == ("tab=compare&run=first", None, None))
    page.get_by_role("link", name="Runs", exact=True).click()
    wait_until(lambda: where()[0].startswith("tab=runs"))
