# ruff: noqa: F811 - pytest finds the fixture by this name
"""From a curve to the texts: a point of any curve opens its update, by mouse, by touch and by keyboard alone."""

import re

import pytest

from playground.runs.folder import changes
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import HEIGHT, go, present, visit
from tests.ui.test_browser import wait_for_update
from tests.ui.test_browser_behaviours import serious
from tests.ui.test_browser_ends import begin, button  # noqa: F401
from tests.ui.test_browser_keyboard import AXE, assert_seen, tab_to
from tests.ui.test_browser_presentation import SMALLER_THAN

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

WINDOW = "dialog.rollout[open]"
FITS = """() => {
    const window = document.querySelector("dialog.rollout");
    return window.scrollWidth <= window.clientWidth && window.getBoundingClientRect().right <= innerWidth;
}"""


@pytest.fixture(scope="module")
def runs(site):
    """Two runs that kept texts of their updates, and one from before that."""
    base = catalog.preset("kinder-reviews")
    for name, seed in (("kept", 701), ("other", 702), ("before", 703)):
        run = fake_run.write_run(site.outputs, name, base.model_copy(update={"seed": seed}))
    run.rollouts_path.unlink()
    return site


def open_section(page, key):
    """Open one of the sections below the first screen, unless it is."""
    name = page.locator(f"[data-section='{key}']")
    if name.get_attribute("aria-expanded") == "false":
        name.click()


def stage_of(page, chart="score"):
    """Where a curve is drawn, and can be pointed at."""
    stage = page.locator(f'[data-chart="{chart}"] .stage')
    stage.scroll_into_view_if_needed()
    expect(stage).to_have_attribute("data-drawn", "yes")
    return stage


def point_at(page, stage, share, height=0.5):
    """Move the mouse over a curve; returns the update whose point is read there."""
    box = stage.bounding_box()
    page.mouse.move(box["x"] + share * box["width"], box["y"] + height * box["height"])
    return int(stage.get_attribute("aria-valuenow"))


def press_mouse(page):
    page.mouse.down()
    page.mouse.up()


def title(page, update, name="Kinder reviews"):
    """The window has opened this update."""
    expect(page.locator(WINDOW)).to_have_accessible_name(f"Update {update} of {name}")


def kept_of(site, update, run="kept"):
    return next(one for one in RunDirectory(site.outputs / run).rollouts() if one.update == update)


def close(page):
    page.keyboard.press("Escape")
    expect(page.locator(WINDOW)).to_have_count(0)


def test_from_a_curve_to_its_highest_scores_and_to_other_updates_by_keyboard_alone(runs, open_page):
    page = open_page
    press = page.keyboard.press
    go(page, "train", run="kept")
    stage = stage_of(page)
    stage.focus()
    press("ArrowLeft")
    expect(stage).to_have_attribute("aria-valuetext", re.compile(r"^update 39: [\d.]+ sd$"))
    press("Home")
    press("ArrowRight")
    expect(stage).to_have_attribute("aria-valuenow", "2")
    press("End")
    press("PageDown")
    expect(stage).to_have_attribute("aria-valuetext", re.compile(r"^update 30: "))
    expect(page.locator('[data-chart="kl"] .cross')).to_have_css("visibility", "visible")  # the others follow
    press("Enter")
    window = page.locator(WINDOW)
    title(page, 30)
    expect(window.locator("h2")).to_be_focused()
    kept = kept_of(runs, 30)
    top, answers = kept.texts[0], sum(kept.histogram.counts)
    in_words = window.locator(".rollout-told")
    expect(in_words).to_have_text(re.compile(rf"^{answers} answers, scores \S+ to \S+ sd, mean [+-][\d.]+\.$"))
    mean = RunDirectory(runs.outputs / "kept").metrics()[29].score_mean
    shown = float(in_words.inner_text().rpartition(" ")[2].rstrip("."))
    assert abs(shown - mean) < 0.006, "a hundredth, of what travelled with four digits"
    bars, texts = window.locator(".rollout-bar"), window.locator(".rollout-texts li")
    expect(bars).to_have_count(sum(count > 0 for count in kept.histogram.counts))
    expect(texts).to_have_count(len(kept.texts))
    stops = tab_to(page, bars.last)  # one stop for all bars, at the top one
    press("Home")
    expect(bars.first).to_be_focused()
    press("ArrowRight")
    expect(bars.nth(1)).to_be_focused()
    press("End")
    press("Enter")
    expect(bars.last).to_have_attribute("aria-pressed", "true")
    in_top = [text for text in kept.texts if text.bin == top.bin]
    expect(texts).to_have_count(len(in_top))
    expect(texts.first).to_contain_text(top.completion.strip())
    expect(texts.first).to_contain_text(f"score +{top.score:.2f} sd")
    expect(texts.first.locator(".tag")).to_have_text("best")
    count = kept.histogram.counts[-1]
    words = "the only answer" if count == 1 else f"the {count} answers"
    expect(window.locator(".rollout-foot [role=status]")).to_contain_text(f"kept of {words} in this bin (+")
    press("n")  # the top bin stays chosen
    title(page, 31)
    expect(texts.first).to_contain_text(kept_of(runs, 31).texts[0].completion.strip())
    assert texts.count() < len(kept_of(runs, 31).texts)
    expect(bars.last).to_have_attribute("aria-pressed", "true")
    press("p")
    title(page, 30)
    stops += tab_to(page, window.get_by_role("button", name="All bins"))
    press("Enter")
    expect(texts).to_have_count(len(kept.texts))
    press("ArrowLeft")
    title(page, 29)
    stops += tab_to(page, window.get_by_role("region", name="Texts of this update"))
    assert_seen(stops)
    close(page)
    expect(stage).to_be_focused()
    press("ArrowRight")  # from where one was
    expect(stage).to_have_attribute("aria-valuenow", "31")


def test_a_click_opens_the_point_that_is_read_and_neither_a_drag_nor_a_double_click_does(runs, open_page):
    page = open_page
    go(page, "train", run="kept")
    stage, window = stage_of(page), page.locator(WINDOW)
    update = point_at(page, stage, 0.6)
    assert 15 < update < 30
    press_mouse(page)
    title(page, update)
    window.locator(".rollout-bar").last.click()
    expect(window.locator(".rollout-texts .tag").first).to_have_text("best")
    page.mouse.click(5, 5)  # beside it
    expect(window).to_have_count(0)
    back = page.get_by_role("button", name="Whole run")
    point_at(page, stage, 0.3)
    page.mouse.down()
    last = point_at(page, stage, 0.7)
    page.mouse.up()
    expect(back).to_be_visible()
    assert int(stage.get_attribute("aria-valuenow")) <= last
    box = stage.bounding_box()
    page.mouse.dblclick(box["x"] + 0.5 * box["width"], box["y"] + 50)
    expect(back).to_be_hidden()
    page.wait_for_timeout(400)  # longer than a first click waits for a second one
    expect(window).to_have_count(0)
    open_section(page, "curves")
    page.get_by_label("Horizontal axis", exact=True).select_option("seconds")
    stage.scroll_into_view_if_needed()
    later = point_at(page, stage, 0.6)
    press_mouse(page)
    title(page, later)
    close(page)
    page.get_by_label("Horizontal axis", exact=True).select_option("update")
    page.get_by_role("button", name="Table").click()
    page.get_by_role("button", name="Open update 17", exact=True).click()
    title(page, 17)
    close(page)
    expect(page.get_by_role("button", name="Open update 17", exact=True)).to_be_focused()
    page.get_by_role("button", name="Table").click()


def test_bars_are_compared_on_one_axis_and_a_text_is_never_markup(runs, open_page):
    page = open_page
    go(page, "train", run="kept")
    hostile = {"prompt": "<b>p</b>", "completion": "<img src=x onerror=window.hacked=1>", "score": 3.9, "kl": None}
    answers = {
        1: {"low": 0, "high": 4, "counts": [8, 2], "previous": None, "next": 2, "bin": 1},
        2: {"low": -4, "high": 0, "counts": [16], "previous": 1, "next": None, "bin": 0},
    }

    def answer(route):
        number = int(route.request.url.rpartition("/")[2])
        found = dict(answers[1 if number == 40 else number])
        histogram = {name: found.pop(name) for name in ("low", "high", "counts")}
        text = {**hostile, "chosen": "best", "bin": found.pop("bin")}
        route.fulfill(json={"update": number, "mean": None, "histogram": histogram, "texts": [text], **found})

    page.route("**/rollout/*", answer)
    stage_of(page).focus()
    page.keyboard.press("Enter")
    window = page.locator(WINDOW)
    bars = window.locator(".rollout-bar")
    expect(bars).to_have_count(2)
    expect(window.locator(".rollout-texts")).to_contain_text("<b>p</b><img src=x onerror=window.hacked=1>")
    expect(window.locator(".rollout-texts")).not_to_contain_text("nats")  # not known
    assert window.locator("b, img").count() == 0
    assert page.evaluate("window.hacked") is None
    width = bars.first.bounding_box()["width"]
    expect(button(page, "\u2190 Previous update")).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("ArrowRight")
    title(page, 2)
    expect(bars).to_have_count(1)
    expect(window.locator(".rollout-told")).to_have_text("16 answers, scores \u22124 to 0 sd.")
    page.keyboard.press("ArrowLeft")
    title(page, 1)
    assert bars.first.bounding_box()["width"] == pytest.approx(width / 2, rel=0.02)  # there is room for both
    page.unroute("**/rollout/*")
    close(page)


def test_a_run_that_kept_nothing_says_so_and_what_was_shown_stays_while_there_is_no_answer(runs, make_page):
    page = visit(make_page(forgive=("Failed to load resource",)), runs, "?run=before")
    window = page.locator(WINDOW)
    stage_of(page).focus()
    page.keyboard.press("Enter")
    title(page, 40)
    expect(window.locator(".rollout-note")).to_have_text("This run was made before updates kept their texts.")
    expect(window.locator(".rollout-body")).to_be_hidden()
    page.keyboard.press("ArrowLeft")  # leads nowhere
    title(page, 40)
    close(page)
    go(page, "train", run="kept")
    stage_of(page).focus()
    page.keyboard.press("Enter")
    expect(window.locator(".rollout-bar").first).to_be_visible()
    page.route("**/rollout/39", lambda route: route.abort())
    page.keyboard.press("ArrowLeft")
    expect(window.locator(".rollout-note")).to_contain_text("cannot reach the playground")
    title(page, 40)
    page.unroute("**/rollout/39")
    page.keyboard.press("ArrowLeft")
    title(page, 39)
    expect(window.locator(".rollout-note")).to_be_hidden()


def test_the_update_after_the_newest_is_there_as_soon_as_it_has_come(site, open_page, begin):
    run = begin("goes-on")
    page = open_page
    go(page, "train", run="goes-on")
    wait_for_update(page, 2)
    changes.request_pause(run)
    expect(page.locator(".state strong")).to_have_text("paused")
    stage = stage_of(page)
    stage.focus()
    page.keyboard.press("End")
    newest = int(stage.get_attribute("aria-valuenow"))
    page.keyboard.press("Enter")
    title(page, newest, "goes-on")
    following = button(page, "Next update \u2192")
    expect(following).to_have_attribute("aria-disabled", "true")
    last = page.locator(WINDOW).locator(".rollout-bar").last
    expect(last).to_be_visible()  # those of an earlier window are there too, hidden until the answer comes
    last.focus()
    changes.request_resume(run)
    expect(following).to_have_attribute("aria-disabled", "false")
    expect(last).to_be_focused()
    page.keyboard.press("n")
    title(page, newest + 1, "goes-on")
    close(page)


def test_curves_of_a_recording_open_too_also_those_that_are_known_at_some_updates_only(runs, open_page):
    page = open_page
    go(page, "train", run="_recorded")
    for section, chart, update in (("curves", "beta", 39), ("frontier", "frontier", 35)):
        open_section(page, section)
        stage = stage_of(page, chart)
        stage.focus()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        title(page, update)
        expect(page.locator(WINDOW).locator(".rollout-bar").first).to_be_visible()
        close(page)


def test_the_nearest_line_of_an_overlay_says_which_run_is_opened(runs, open_page):
    page = open_page
    go(page, "runs", overlay=["kept", "other"])
    stage = stage_of(page, "overlay-kl")
    stage.focus()
    page.keyboard.press("ArrowLeft")
    expect(stage).to_have_attribute("aria-valuetext", re.compile(r"^A, Kinder reviews, update 39: [\d.]+ nats$"))
    page.keyboard.press("ArrowDown")
    expect(stage).to_have_attribute("aria-valuetext", re.compile(r"^B, Kinder reviews, update 39: [\d.]+ nats$"))
    page.keyboard.press("Enter")
    title(page, 39)
    best = kept_of(runs, 39, "other").texts[0]
    expect(page.locator(WINDOW).locator(".rollout-texts li").first).to_contain_text(best.completion.strip())
    close(page)


def test_the_window_has_no_serious_fault_and_fits_a_phone_and_a_presentation(runs, open_page):
    page = open_page
    page.add_script_tag(path=AXE)
    go(page, "train", run="kept")
    stage_of(page).focus()
    page.keyboard.press("Enter")
    window = page.locator(WINDOW)
    window.get_by_role("button", name="Top bin").click()
    for _ in range(2):  # both themes
        assert not serious(page)
        page.evaluate("document.body.classList.toggle('dark')")
    page.set_viewport_size({"width": 390, "height": 800})
    page.wait_for_function(FITS)
    close(page)
    page.set_viewport_size({"width": 1024, "height": 768})
    present(page)
    stage = stage_of(page)
    update = point_at(page, stage, 0.6)
    press_mouse(page)
    title(page, update)
    expect(window.locator(".rollout-bar").first).to_be_visible()
    assert page.evaluate(SMALLER_THAN, 20) == []
    page.wait_for_function(FITS)
    close(page)  # and the presentation goes on
    expect(page.locator("#controls")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#controls")).to_be_visible()
    page.set_viewport_size({"width": 1440, "height": HEIGHT})
