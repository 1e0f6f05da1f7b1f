"""The first screen of Train, idle, training and ended, in a browser: what stands in it, how much that is, and that
nothing in it moves while a run goes."""

import shutil

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.support import data_beside
from tests.ui.conftest import close, go, in_page, serving
from tests.ui.test_browser import wait_for_update
from tests.ui.test_browser_keyboard import SETTLED

MOST_CONTROLS, MOST_WORDS = 25, 250
# Rows without texts stand there while the run is still on its way.
TEXTS_BEFORE = ".run-view:not(.opening) .texts-now td.before .output:not(.nothing)"
WAITS = "“Kinder reviews” is training; one run at a time on this device."

TABLES = data_beside(__file__, "tables.yaml")

PARTS = [".status", ".counts", ".texts-now", ".charts-first", ".section-names"]
OF_A_KNOWN_RUN = ["body:not(:has(.run-view.opening))", *PARTS, "#start"]
PLACES = "Object.fromEntries(Object.entries(window.places).map(([part, tops]) => [part, [...tops]]))"


@pytest.fixture(scope="module")
def site(tmp_path_factory, _open_pages):
    """A page of its own with the shipped recordings, two of them as runs of one's own."""
    outputs = tmp_path_factory.mktemp("first-screen")
    for name in ("no-leash", "kinder-reviews"):
        shutil.copytree(catalog.RECORDED / name, outputs / f"own-{name}")
    with serving(outputs, catalog.RECORDED, seconds_per_update=0.02) as served:
        yield served
        if served.url in _open_pages:
            close(_open_pages.pop(served.url)[0])


def in_place(page):
    """That everything that belongs into the first screen is in it."""
    page.evaluate(SETTLED)
    assert page.evaluate(in_page("outside"), TABLES["in_sight"]) == []


def counted(page, most_controls=MOST_CONTROLS, most_words=MOST_WORDS, left_out="script"):
    """What stands in the first screen, which is no more than it may be."""
    screen = page.evaluate(in_page("first-screen"), left_out)
    assert len(screen["controls"]) <= most_controls, (len(screen["controls"]), screen["controls"])
    assert len(screen["words"]) <= most_words, (len(screen["words"]), " ".join(screen["words"]))
    return screen["state"]


def test_from_idle_to_the_end_of_a_run_all_stays_in_sight_and_nothing_moves(site, page):
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.locator(TEXTS_BEFORE)).to_have_count(3)
    in_place(page)
    assert counted(page) == "example, recorded"
    page.evaluate(in_page("note-places"), OF_A_KNOWN_RUN)
    site.let_runs_reach(0)
    page.locator("#start").click()
    page.wait_for_url("**run=kinder*")
    expect(page.locator("[data-chart=score] .curves path")).to_have_count(0)  # those of the recording are gone
    expect(page.locator("#start")).to_have_text("Add to the queue")
    expect(page.locator("#needs .queue-why")).to_have_text(WAITS)
    for update in (1, 6, 20):  # the model has answered the prompts; it has once more; in the middle
        site.let_runs_reach(update)
        wait_for_update(page, update)
        in_place(page)
        assert counted(page) == "running"
    site.let_runs_end()
    expect(page.locator(".status .state strong")).to_have_text("finished")
    expect(page.locator("#start")).to_have_text("Start training")
    expect(page.locator(".counts .compared").first).not_to_be_empty()
    in_place(page)
    assert counted(page) == "finished"
    places = page.evaluate(PLACES)
    assert [len(tops) for tops in places.values()] == [1] * 6, places


def test_the_first_page_is_short_and_its_doors_are_near(page):
    go(page, "lessons")
    page.locator("details.course").first.wait_for()
    page.set_viewport_size({"width": 1024, "height": 768})
    expect(page.locator(".doors-row")).to_be_in_viewport(ratio=1)
    for width, height in ((1440, 900), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        counted(page, 15, 90, left_out=".board-texts")  # words of our own
    page.reload()
    page.get_by_role("button", name="Another", exact=True).scroll_into_view_if_needed()
    expect(page.locator(".board-pairs tbody tr")).to_have_count(1)
    expect(page.locator("#leash-lessons-stop")).to_be_in_viewport()  # beside the texts
    assert page.locator(".doors-row").evaluate("row => row.getBoundingClientRect().top + scrollY") < 1.3 * 844
