"""The page in a real browser while answers come late or not at all: what cannot work yet is not offered, and a server
that is there again is found."""

import re

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.support import wait_until
from tests.ui import fake_run
from tests.ui.conftest import visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import change, start, updates_done, wait_for_update


class Held:
    """Keeps what a page asks at an address from the server, until `let_go`."""

    def __init__(self, page, address):
        self.asked, self.open = [], False
        page.route(address, self.take)

    def take(self, route):
        """One question of the page."""
        if self.open:
            route.continue_()
        else:
            self.asked.append(route)

    def let_go(self, first=0):
        """Let through what was asked, from number `first` on, and whatever will be."""
        self.open = True
        for route in self.asked[first:]:
            route.continue_()


def test_one_can_ask_as_soon_as_a_run_is_there_and_only_the_run_that_is_shown(site, make_page):
    for name in ("first-asked", "then-asked"):
        fake_run.write_run(site.outputs, name)
    page = visit(make_page(), site, "?run=first-asked")
    ask = page.locator("#ask-button")
    held = Held(page, "**/live/_runs")
    page.get_by_role("link", name="Compare").click()
    page.locator("#ask-prompt textarea").fill("The film was")
    expect(ask).to_be_disabled()
    held.let_go()
    ask.click()  # waits until it can be clicked on, as a person would
    expect(page.locator("#answers tbody tr")).to_have_count(3)
    held = Held(page, "**/then-asked/compare*")
    with page.expect_request("**/then-asked/compare*"):
        page.locator("#compare select").first.select_option("then-asked")
    expect(ask).to_be_disabled()  # the rows above are still those of the other run
    assert held.asked  # twice, where the run itself has come in between
    held.let_go()
    with page.expect_request("**/queue/join*") as asked:
        ask.click()
    assert asked.value.post_data_json["data"][:2] == ["then-asked", "The film was"]


SECONDS_SHOWN = """() => [...document.querySelectorAll("[data-testid=status-tracker]")]
    .map((tracker) => tracker.textContent).filter((text) => /\\b\\d+\\.\\ds\\b/.test(text))"""


def test_no_part_holds_a_count_of_seconds_while_the_form_waits_for_its_answers(site, make_page):
    page = make_page()
    held = Held(page, "**/gradio_api/run/**")
    page.goto(site.url)
    wait_until(lambda: held.asked or page.wait_for_timeout(20))
    trackers = page.locator("[data-testid=status-tracker]")
    expect(trackers.nth(8)).to_be_attached()
    for answer in ("the form", "what the run needs"):
        page.wait_for_timeout(700)  # Gradio counts tenths of a second
        assert page.evaluate(SECONDS_SHOWN) == [], answer
        if answer == "the form":
            held.asked.pop(0).continue_()
            wait_until(lambda: held.asked or page.wait_for_timeout(20))
    held.let_go()
    page.wait_for_function("document.querySelector('#needs summary')?.textContent")
    assert page.evaluate(SECONDS_SHOWN) == []


NOTE_TEXTS = """button => {
    window.texts = [];
    const isOff = () => button.matches(":disabled, [aria-disabled=true]");
    new MutationObserver(() => window.texts.push(isOff() ? button.textContent : "can be pressed"))
        .observe(button, { attributes: true, childList: true, subtree: true, characterData: true });
}"""
ASK_NOW = "document.dispatchEvent(new Event('visibilitychange'))"  # what the page asks by itself every few seconds


@pytest.mark.thorough
def test_a_reward_training_is_started_once_however_late_the_answer_is(site, make_page):
    page = make_page()
    page.goto(site.url + "?tab=rewards")
    expect(page.locator(".reward-report")).to_contain_text("No reward model was trained here yet")
    button = page.locator(".reward-form button[type=submit]")
    page.locator("#reward-name").fill("wait")
    starts = Held(page, "**/component_server/**")
    button.click()
    expect(button).to_have_text("Starting\u2026")
    button.evaluate(NOTE_TEXTS)
    with page.expect_response("**/live/_rewards"):
        page.evaluate(ASK_NOW)  # the server knows of no training yet
    polls = Held(page, "**/live/_rewards")
    page.evaluate(ASK_NOW)
    page.locator("#reward-name").press("Enter")
    button.click(force=True)
    with page.expect_request("**/live/_rewards"):
        starts.let_go()
    polls.asked[0].fulfill(json={"living": None, "run": None, "models": []})  # asked before the start, answered later
    polls.let_go(first=1)
    expect(button).to_have_text("wait is in training")
    expect(button).to_be_disabled()
    assert set(page.evaluate("window.texts")) <= {"Starting\u2026", "wait is in training"}
    assert len(starts.asked) == 1
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".reward-report")).to_contain_text("nothing was saved")
    expect(button).to_have_text("Train")
    expect(button).to_be_enabled()


def test_changes_of_a_living_run_are_sent_once_however_late_the_answer_is(site, make_page):
    page = visit(make_page(), site)
    start(page)
    wait_for_update(page, 2)
    change(page, "kl.coef", "0.6")
    apply = page.locator(".live-head button")
    asked = Held(page, "**/component_server/**")
    apply.focus()
    page.keyboard.press("Enter")
    expect(apply).to_be_disabled()
    wait_for_update(page, updates_done(page) + 2)  # what comes from the run meanwhile
    expect(apply).to_be_disabled()
    page.keyboard.press("Enter")
    asked.let_go()
    expect(page.locator(".live-note")).to_contain_text("Applied: ")
    expect(apply).to_be_disabled()  # until something is changed again
    expect(apply).to_be_focused()
    assert len(asked.asked) == 1
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".state strong")).to_have_text("stopped")


@pytest.mark.thorough
def test_a_run_in_the_list_is_resumed_once_however_late_the_answer_is(site, make_page):
    config = catalog.preset("kinder-reviews").model_copy(update={"seed": 81})
    run = fake_run.write_ended(site.outputs, "resumed-late", "killed", "interrupted", at=27, config=config)
    page = visit(make_page(forgive=["ERR_FAILED"]), site, "?tab=runs")
    row = page.locator("table.runs tr", has_text="seed 81")
    resume = row.locator("[data-key^=resume]")
    asked = Held(page, "**/component_server/**")
    resume.focus()
    page.keyboard.press("Enter")
    expect(resume).to_have_text("Resuming\u2026")
    fake_run.write_status(run, run.status().model_copy(update={"message": "Told differently."}))
    page.evaluate(ASK_NOW)
    expect(row.locator(".state")).to_have_attribute("title", "Told differently.")
    expect(resume).to_have_text("Resuming\u2026")
    page.keyboard.press("Enter")
    asked.asked[0].abort()
    expect(page.locator(".runs-panel .problem")).to_contain_text("nothing was done")
    expect(resume).to_have_text("Resume")
    expect(resume).to_be_enabled()
    expect(resume).to_be_focused()
    assert len(asked.asked) == 1


def test_a_question_that_never_reaches_the_server_is_told_and_can_be_asked_again(site, make_page):
    page = visit(make_page(forgive=["ERR_FAILED"]), site)
    start(page)
    wait_for_update(page, 1)
    page.route("**/component_server/**", lambda route: route.abort())
    stop = page.get_by_role("button", name="Stop", exact=True)
    stop.click()
    expect(page.locator(".status .line")).to_contain_text("nothing was asked of the run. Try again in a moment.")
    expect(stop).to_be_enabled()
    page.unroute_all()
    stop.click()
    expect(page.locator(".state strong")).to_have_text("stopped")


def test_what_came_of_a_press_is_not_wiped_away_by_the_next_look(site, make_page):
    page = make_page(forgive=["ERR_FAILED"])
    page.goto(site.url + "?tab=rewards")
    page.locator("#reward-name").fill("wait")
    page.get_by_role("button", name="Train", exact=True).click()
    stop = page.locator(".reward-report").get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    page.route("**/component_server/**", lambda route: route.abort())
    stop.click()
    told = page.locator(".reward-view .problem").first
    expect(told).to_contain_text("cannot reach the playground")
    for _ in range(2):
        with page.expect_response("**/live/_rewards/wait"):
            page.evaluate(ASK_NOW)
    expect(told).to_contain_text("cannot reach the playground")
    page.unroute_all()
    stop.click()
    expect(page.locator(".reward-report")).to_contain_text("nothing was saved")
    expect(told).to_be_empty()


SHORTER_PATIENCE = """const wait = AbortSignal.timeout;
AbortSignal.timeout = (milliseconds) => wait.call(AbortSignal, milliseconds / 5);"""


@pytest.mark.thorough
def test_lists_that_get_no_answer_are_asked_for_again(site, make_page):
    for name in ("unheard-a", "unheard-b"):
        fake_run.write_run(site.outputs, name)
    asked = []

    def never_answer_the_first(route):
        known = route.request.url in asked
        asked.append(route.request.url)
        if known:
            route.continue_()

    page = make_page()
    page.add_init_script(SHORTER_PATIENCE)
    page.route(re.compile("/live/_(runs|rewards|overlay)"), never_answer_the_first)
    page.goto(site.url + "?tab=runs&overlay=unheard-a,unheard-b")
    expect(page.locator("[data-key='show unheard-a']")).to_be_visible()
    expect(page.locator(".legend li")).to_have_count(2)
    for told in page.locator("#page-runs .problem").all():
        expect(told).to_be_empty()
    page.get_by_role("link", name="Rewards").click()
    expect(page.locator(".reward-report")).not_to_be_empty()


def test_a_restart_of_the_web_process_in_mid_run_shows_the_run_as_it_is(site, make_page):
    page = visit(make_page(forgive=["ERR_", "Failed to", "fetch", "Connection"]), site)
    start(page)
    wait_for_update(page, 3)
    before = updates_done(page)
    run_id = re.search(r"run=([a-z0-9-]+)", page.url).group(1)
    assert site.stop() == 0
    run = RunDirectory.open(site.outputs / run_id)
    assert run.is_alive()  # the worker goes on
    expect(page.locator(".notice h2")).to_contain_text("The playground does not answer")
    site.start()
    wait_for_update(page, before + 1)  # the open page finds its run again by itself
    fresh = visit(make_page(), site)
    wait_for_update(fresh, before + 1)
    assert f"run={run_id}" in page.url
    run.request_stop()
    wait_until(lambda: not run.is_alive())


def test_the_preset_that_was_chosen_last_fills_the_form_however_late_the_answer_for_the_first_is(site, make_page):
    page = visit(make_page(), site)
    held = Held(page, "**/run/predict*")
    for preset in ("no-leash", "short-leash"):
        page.locator("#preset select").select_option(preset)
    wait_until(lambda: page.evaluate("1") and held.asked)
    held.let_go()
    expect(page.locator("#knob-kl-coef")).to_have_value("5")


NOTE_PLACES = """window.places = {};
(function look() {
    if (document.querySelector(".alerts .alert:is(.red, .amber)")) return; // whose words need room of their own
    for (const part of ["status", "charts"]) {
        const { top, height } = document.querySelector(`.run-view > .${part}`)?.getBoundingClientRect() ?? {};
        if (height) (window.places[part] ??= new Set()).add(Math.round(top + scrollY));
    }
    requestAnimationFrame(look);
})();"""
BROUGHT_BY = {"the library that draws": "**/playground/bokeh/**", "the run": "**/live/late-*"}


@pytest.mark.parametrize("last", BROUGHT_BY)
def test_whatever_comes_last_nothing_jumps_and_curves_and_signs_are_drawn(site, make_page, last):
    run = fake_run.write_ended(site.outputs, f"late-{len(last)}", "killed", "interrupted", at=27)
    page = make_page()
    page.add_init_script(NOTE_PLACES)
    held = Held(page, BROUGHT_BY[last])
    visit(page, site, f"?run={run.id}")
    expect(page.locator("#run-title")).to_have_text("" if last == "the run" else "Kinder reviews")
    page.wait_for_function(f"Boolean(window.Bokeh?.Plotting) === {str(last == 'the run').lower()}")
    wait_until(lambda: page.evaluate("1") and held.asked)
    held.let_go()
    expect(page.locator("#run-title")).to_have_text("Kinder reviews")
    expect(page.locator(".flag.checkpoint")).to_have_count(2 * 3)  # of two updates, on three curves
    expect(page.locator("[data-chart=score] canvas").first).to_be_visible()
    assert page.locator("[data-chart=score]").bounding_box()["y"] > page.viewport_size["height"]
    places = page.evaluate("Object.entries(window.places).map(([part, tops]) => [part, [...tops]])")
    assert {part: len(tops) for part, tops in places} == {"status": 1, "charts": 1}, places


def test_nothing_jumps_while_a_run_goes(site, make_page):
    page = visit(make_page(), site)
    start(page)
    wait_for_update(page, 1)
    page.evaluate(NOTE_PLACES)
    wait_for_update(page, 11)  # after the first alerts, the second evaluation and the first checkpoint
    expect(page.locator(".alerts-summary")).to_contain_text("quiet")
    expect(page.locator(".flag.checkpoint")).to_have_count(3)
    places = page.evaluate("Object.entries(window.places).map(([part, tops]) => [part, [...tops]])")
    assert {part: len(tops) for part, tops in places} == {"status": 1, "charts": 1}, places
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator(".state strong")).to_have_text("stopped")
