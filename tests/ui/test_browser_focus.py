# ruff: noqa: F401, F811 - pytest finds the fixtures by these names
"""Who uses the keyboard or a screen reader stays where they are while the page follows what goes on."""

import pytest

from playground.runs.folder import changes
from playground.runs.start import launcher
from tests.ui import fake_run
from tests.ui.conftest import WAIT_MS, go, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser import SCORE, wait_for_update
from tests.ui.test_browser_ends import begin, button
from tests.ui.test_browser_late import ASK_NOW

STAND_ON = "node => { node.focus(); window.stood = document.activeElement; }"


def stand_on(control):
    """Put the focus on a control, and remember the element itself."""
    control.evaluate(STAND_ON)
    expect(control).to_be_focused()


def assert_still_there(page):
    """The focus is on the very same element."""
    assert page.evaluate("document.activeElement === window.stood && window.stood.isConnected")


def wait_for_news(page, place, times=2):
    """Until what stands at a place has changed so many times."""
    for _ in range(times):
        page.wait_for_function(
            "([place, before]) => document.querySelector(place).textContent !== before",
            arg=[place, page.locator(place).first.text_content()],
        )


@pytest.mark.thorough
def test_the_stop_button_of_a_reward_training_keeps_the_focus_while_it_learns(site, make_page):
    page = make_page()
    page.goto(site.url + "?tab=rewards")
    page.locator("#reward-name").fill("learn")
    train = page.locator(".reward-form button[type=submit]")
    train.focus()
    page.keyboard.press("Enter")
    report = page.locator(".reward-report")
    expect(report).to_contain_text("step 1")
    expect(train).to_be_focused()
    for place in (report.get_by_role("button", name="Stop"), page.locator(".reward-models button")):
        stand_on(place)
        wait_for_news(page, ".reward-report .where")
        assert_still_there(page)
    report.get_by_role("button", name="Stop").focus()
    page.keyboard.press("Enter")
    expect(report).to_contain_text("nothing was saved")
    expect(report.get_by_role("button", name="Delete")).to_be_focused()


def test_the_list_of_runs_keeps_the_focus_while_runs_go_on_begin_and_end(site, open_page, begin):
    run = begin("followed")
    page = open_page
    go(page, "runs")
    row = page.locator("table.runs tr", has=page.locator("[data-key='show followed']"))
    stand_on(row.get_by_role("button", name="Use settings"))
    wait_for_news(page, "tr:has([data-key='show followed'])")
    assert_still_there(page)
    fake_run.write_run(site.outputs, "comes-in-between")
    page.evaluate(ASK_NOW)
    expect(page.locator("[data-key='show comes-in-between']")).to_be_visible()
    assert_still_there(page)
    launcher.stop(run)
    expect(row).to_contain_text("Stopped")  # now the row has other buttons
    assert_still_there(page)


@pytest.mark.thorough
def test_the_legend_of_overlaid_runs_keeps_the_focus_while_one_of_them_goes_on(site, make_page, begin):
    begin("goes-on")
    fake_run.write_run(site.outputs, "stands-still")
    page = visit(make_page(), site, "?tab=runs&overlay=goes-on,stands-still")
    for place in ("goes-on", "stands-still"):
        stand_on(page.locator(f".legend [title={place}]"))
        wait_for_news(page, ".legend li")
        assert_still_there(page)
    stand_on(page.get_by_role("region", name="Settings in which they differ"))
    wait_for_news(page, ".legend li")
    assert_still_there(page)


@pytest.mark.thorough
def test_the_header_keeps_the_focus_while_others_start_and_wait(site, make_page):
    page = visit(make_page(), site)
    home = {"training": [{"id": "one", "title": "One", "device": "cpu", "attempt": 1}], "waiting": []}

    def answer(route):
        route.fulfill(json={**route.fetch().json(), **home})

    page.route("**/live/_home", answer)
    page.evaluate(ASK_NOW)
    training = page.locator(".top .training")
    expect(training).to_contain_text("One")
    stand_on(training.get_by_role("link"))
    home["training"] = [{"id": "two", "title": "Two", "device": "cpu", "attempt": 1}, *home["training"]]
    home["waiting"] = ["three"]
    page.evaluate(ASK_NOW)
    expect(training).to_contain_text("Two")
    assert_still_there(page)
    home.update(training=[], waiting=[])
    page.evaluate(ASK_NOW)
    expect(training).to_be_empty()
    expect(page.locator("#header [aria-current]")).to_be_focused()


def test_what_goes_with_the_end_of_a_run_leaves_the_focus_in_its_panel(site, open_page, begin):
    run = begin("left-alone")
    page = open_page
    go(page, "train", run="left-alone")
    wait_for_update(page, 1)
    button(page, "Pause").click()
    step = button(page, "One step")
    step.focus()
    changes.request_resume(run)  # by somebody else
    expect(step).to_be_hidden()
    expect(page.locator(".steer-main")).to_be_focused()
    page.locator("#live-kl-coef").focus()
    launcher.stop(run)
    expect(page.locator(".live-settings")).to_be_hidden()
    expect(page.locator("#run-title")).to_be_focused()


def test_a_press_that_takes_its_own_button_away_leaves_the_focus_beside_it(site, open_page):
    fake_run.write_run(site.outputs, "looked-at")
    page = open_page
    go(page, "train", run="looked-at")
    stand_on(button(page, "Save the model"))
    page.keyboard.press("Enter")
    expect(page.locator(".take-told")).to_contain_text("The fake service does not know")
    assert_still_there(page)
    page.locator(f"{SCORE}[data-drawn]").hover(position={"x": 60, "y": 80})
    page.mouse.down()
    page.locator(SCORE).hover(position={"x": 140, "y": 90})
    page.mouse.up()
    button(page, "Whole run").focus()
    page.keyboard.press("Enter")
    expect(button(page, "Whole run")).to_be_hidden()
    expect(button(page, "Table")).to_be_focused()


def test_who_reads_a_log_that_goes_is_led_to_the_title_of_the_run(site, open_page):
    fake_run.write_ended(site.outputs, "has-a-log", "bug")
    fake_run.write_run(site.outputs, "has-none")
    page = open_page
    go(page, "train", run="has-a-log")
    button(page, "Show the log").click()
    page.locator("pre.log").focus()
    go(page, "train", run="has-none")
    expect(page.locator(".notice")).to_be_hidden()
    expect(page.locator("#run-title")).to_be_focused()


def test_what_came_of_a_run_is_there_again_when_it_is_played_again(site, make_page):
    page = visit(
        make_page(), site, "?run=_recorded"
    )  # with reduced motion, so that a run that is played is at its end at once
    expect(page.locator(".outcome-panel")).to_be_visible()
    with page.expect_response("**/outcome"):
        button(page, "Play again").click()
    expect(page.locator(".outcome-panel")).to_be_visible()
