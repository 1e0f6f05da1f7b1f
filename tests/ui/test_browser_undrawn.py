"""The page in a real browser when the library that draws the curves does not come: it says so, and the rest works."""

import re

import pytest

from tests.thoroughness import cases
from tests.ui import fake_run
from tests.ui.conftest import go, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import SCORE, start, wait_for_update
from tests.ui.test_browser_late import Held

BOKEH = "**/playground/bokeh/**"
LOGGED = ["ERR_FAILED", "404", "Unexpected token", "MIME type"]  # what a browser logs of a file that did not come
ANSWERS = {
    "blocked": lambda route: route.abort(),
    "not there": lambda route: route.fulfill(status=404, body="Not found."),
    "something else": lambda route: route.fulfill(body="<html>Sign in</html>", content_type="text/javascript"),
}


@pytest.mark.parametrize("answer", cases(ANSWERS, always=["something else"]))
def test_a_page_without_bokehjs_says_what_is_wrong_and_shows_the_numbers(site, make_page, answer):
    page = make_page(forgive=LOGGED)
    page.route(BOKEH, ANSWERS[answer])
    visit(page, site, "?run=" + fake_run.write_run(site.outputs, f"undrawn-{len(answer)}").id)
    note = page.locator(".charts .undrawn-note")
    expect(note).to_contain_text("The curves cannot be drawn")
    expect(note).to_contain_text("Reload the page")
    expect(note).to_contain_text("Table and CSV")
    expect(page.locator(SCORE)).to_be_hidden()  # no empty frames
    expect(page.locator('[data-chart="score"] .chart-value')).to_have_text(re.compile(r"\d sd"))
    page.get_by_role("button", name="Table").click()
    expect(page.locator(".charts .numbers tbody tr").first).to_be_visible()
    with page.expect_download() as saved:
        page.locator(".charts a", has_text="CSV").click()
    assert saved.value.path().read_text().count("\n") == 41


def test_without_bokehjs_runs_are_started_steered_compared_and_asked(site, make_page):
    page = make_page(forgive=LOGGED)
    page.route(BOKEH, ANSWERS["blocked"])
    visit(page, site)
    start(page)
    wait_for_update(page, 6)
    rows = page.locator(".charts .numbers tbody tr")
    page.get_by_role("button", name="Table").click()
    expect(rows.first).to_contain_text(re.compile(r"^[6-9]|^\d\d"))
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(page.locator(".state strong")).to_have_text("paused")
    page.get_by_role("button", name="One step").click()
    expect(page.locator(".changed .at")).to_have_text(re.compile(r"after update \d+"))
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".state strong")).to_have_text("stopped")
    page.get_by_role("button", name="Compare before and after").click()
    expect(page.locator("table.compare tbody tr").first).to_be_visible()
    told = [r"Score: mean .* before, .* sd after", r"Length: mean .* before, .* tokens after"]
    for drawing, words in zip(page.locator(".histograms .stage").all(), told, strict=True):  # without that library
        expect(drawing).to_be_visible()
        expect(drawing).to_have_attribute("aria-label", re.compile(words))
    page.locator("#ask-prompt textarea").fill("The film was")
    page.locator("#ask-button").click()
    expect(page.locator("#answers tbody tr")).to_have_count(3)
    for name in ("undrawn-a", "undrawn-b"):
        fake_run.write_run(site.outputs, name)
    go(page, "runs", overlay=["undrawn-a", "undrawn-b"])
    expect(page.locator(".legend li")).to_have_count(2)
    expect(page.locator(".overlay .undrawn-note")).to_contain_text("The curves cannot be drawn")


@pytest.mark.thorough
def test_curves_that_come_late_are_drawn_when_they_come(site, make_page):
    page = make_page()
    held = Held(page, BOKEH)
    visit(page, site, "?run=" + fake_run.write_run(site.outputs, "late-curves").id)
    expect(page.locator('[data-chart="score"] .chart-value')).to_have_text(re.compile(r"\d sd"))
    note = page.locator(".charts .undrawn-note")
    expect(note).to_contain_text("The curves are not drawn yet")
    page.get_by_role("button", name="Table").click()  # drawn while they are out of sight
    held.let_go()
    expect(note).to_be_empty()
    page.get_by_role("button", name="Table").click()
    expect(page.locator(SCORE)).to_have_attribute("aria-label", re.compile("now .* sd"))
    expect(page.locator(f"{SCORE} canvas").first).to_be_visible()
    page.wait_for_function("document.querySelector('[data-chart=score] .canvas > *').clientWidth > 200")


COUNT_TURNS = """() => {
    window.turns = 0;
    for (const name of ["setTimeout", "requestAnimationFrame"]) {
        const real = window[name];
        window[name] = (work, wait, ...more) => {
            if (!(wait >= 200) && new Error().stack.includes("/playground/static/")) window.turns += 1;
            return real(work, wait, ...more);
        };
    }
    const find = document.getElementById;
    document.getElementById = (id) => (id === "upload-pairs" ? null : find.call(document, id));
}"""


@pytest.mark.thorough
def test_a_page_that_waits_for_what_never_comes_does_not_turn_in_circles(site, make_page):
    page = make_page(forgive=LOGGED)
    page.route(BOKEH, ANSWERS["blocked"])
    page.add_init_script(f"({COUNT_TURNS})()")
    visit(page, site, "?run=" + fake_run.write_run(site.outputs, "in-circles").id)
    expect(page.locator(".changed tbody tr").first).to_be_visible()
    expect(page.locator(".reward-form")).to_have_count(1)
    turns = page.evaluate("""async () => {
        const before = window.turns;
        await new Promise((resolve) => setTimeout(resolve, 2000));
        return window.turns - before;
    }""")
    assert turns < 10


def test_overlaid_curves_have_their_place_before_they_are_drawn(site, make_page):
    for name in ("placed-a", "placed-b"):
        fake_run.write_run(site.outputs, name)
    page = make_page()
    held = Held(page, BOKEH)
    visit(page, site, "?tab=runs&overlay=placed-a,placed-b")
    parts = [page.locator(f".overlay {part}") for part in (".overlay-methods", ".overlay-settings")]
    expect(parts[0].get_by_role("row")).to_have_count(12)
    expect(page.locator("table.runs tbody tr").first).to_be_visible()
    before = [part.bounding_box()["y"] for part in parts]
    assert held.asked and not page.locator(".overlay canvas").count()
    held.let_go()
    expect(page.locator("[data-chart=overlay-score] canvas").first).to_be_attached()
    expect(page.locator("[data-chart=overlay-frontier] .stage")).to_be_visible()
    assert [part.bounding_box()["y"] for part in parts] == pytest.approx(before, abs=2)
