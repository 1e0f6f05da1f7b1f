# ruff: noqa: F811 - pytest finds the fixtures by these names
"""The whole page of three recordings, as it is written: its size, its lessons, comparisons as a server makes them."""

from urllib.parse import urljoin

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from playground.ui import routes
from playground.ui.feed.feed import Hub
from playground.ui.standalone import site
from tests.ui.conftest import of_module
from tests.ui.test_standalone import MISSING, chosen, copied, page, served  # noqa: F401

THREE = ["_recorded", "_recorded-no-leash", "_recorded-short-leash"]


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    return copied(tmp_path_factory.mktemp("recordings"), "kinder-reviews", "no-leash", "short-leash")


@pytest.fixture(scope="module")
def written(tmp_path_factory, recordings):
    root = tmp_path_factory.mktemp("served")
    whole = site.write(root / "some" / "path", routes.routes, recordings, "https://example.org/playground")
    assert whole.num_runs == 3
    assert whole.num_bytes < 26_000_000  # of which 20 are the five models that can be asked
    return root


def test_a_newcomer_begins_with_the_lessons_whose_runs_are_recordings(make_page, served):
    MISSING.clear()
    page = make_page(newcomer=True)
    page.goto(served)
    page.locator("details.course summary").first.click()
    page.get_by_role("link", name="Why there is a leash").click()
    page.get_by_role("radio").first.check()
    page.get_by_role("button", name="That is my prediction").click()
    for after in ("Next: With a leash", "Why is that?"):
        assert page.get_by_role("button", name="Start the run").count() == 0
        page.get_by_role("button", name="Play the recording").click()
        page.get_by_role("button", name=after).click()
    chosen(page, "[data-step=explain]", "nats")
    page.get_by_role("button", name="Open in Train").click()
    page.locator("#preset").wait_for()
    chosen(page, "#run-title", "Kinder reviews")
    page.goto(f"{served}?lesson=too-short&embed=1")
    page.get_by_role("link", name="Open in the playground").wait_for()
    assert not page.locator("header.top").is_visible()
    assert MISSING == []


def test_recordings_are_compared_and_laid_over_each_other_as_a_server_does_it(page, served, recordings, tmp_path):
    hub = Hub(tmp_path, recordings)
    client = TestClient(Starlette(routes=routes.routes(hub)))
    page.goto(f"{served}?tab=compare&run=_recorded&with=_recorded-no-leash")
    expected = client.get("/live/_recorded/compare?with=_recorded-no-leash").json()
    chosen(page, ".compare-view .outcome", expected["outcome"].replace(" -", " \u2212"))
    assert page.locator(".compare-top input[type=range]").is_disabled()
    assert page.get_by_text("Two recordings are compared at their ends.").is_visible()
    page.get_by_label("Against").select_option("")
    page.locator(".compare-top input[type=range]:enabled").evaluate(
        "(slider) => { slider.value = 2; slider.dispatchEvent(new Event('input')); }"
    )
    chosen(page, ".compare-view .outcome", client.get("/live/_recorded/compare?update=15").json()["outcome"])
    page.get_by_role("link", name="Runs").click()
    page.locator("table.runs tbody tr").nth(2).wait_for()
    assert page.locator("table.runs tbody tr").count() == 3
    page.get_by_role("button", name="More: Kinder reviews").click()
    page.get_by_role("menuitem", name="Texts, CSV").wait_for()
    assert not page.get_by_role("menuitem", name="Delete").is_visible()  # there is nobody to do it
    page.keyboard.press("Escape")
    for box in page.locator("table.runs .tick input").all()[:2]:
        box.check()
    page.get_by_role("button", name="Overlay curves of 2 runs").click()
    page.locator(".overlay .legend li").nth(1).wait_for()
    chosen(page, ".overlay-settings", "Leash (beta)")
    asked = f"live/_overlay?runs={','.join(THREE)}"
    (address,) = (script.get_attribute("src") for script in page.locator("script[type=module]").all())
    server = address.replace("standalone/site.js", "core/server.js")
    shown = of_module(page, urljoin(page.url, server), "(m, asked) => m.getJson(asked)", asked)
    assert shown == client.get(f"/{asked}").json()
