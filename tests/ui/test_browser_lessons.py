"""A newcomer finds the lessons and gets through one: predicts, sees a run, and sees the prediction held against it.

The lessons are those of tests/ui/lessons, whose runs the fake worker knows, or has as recordings.
"""

import json
import re
import shutil

import pytest

from playground.ui import own_files
from tests.ui.conftest import go, of_module, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

from tests.ui.test_browser_access import shared  # noqa: F401
from tests.ui.test_browser_keyboard import tab_to

KEPT = "JSON.parse(localStorage.getItem('playground-lessons'))"


@pytest.fixture
def lesson(open_page):
    """Opens a lesson within the page that the module shares; what was answered is forgotten afterwards."""
    page = open_page

    def begin(name):
        go(page, "train", lesson=name, run="")
        page.locator("[data-step=predict]").wait_for()
        return page

    yield begin
    page.set_viewport_size({"width": 1440, "height": 600})
    if page.evaluate("document.body.dataset.lesson"):
        page.get_by_role("button", name="Leave the lesson").click()
    page.evaluate("localStorage.clear(); dispatchEvent(new StorageEvent('storage', { key: 'playground-lessons' }))")


def step(page, name):
    """The open step, once it is this one."""
    found = page.locator(f"[data-step={name}]")
    found.wait_for()
    return found


def press(page, name):
    page.locator(".lesson-step").get_by_role("button", name=name).click()


def test_a_newcomer_lands_on_the_lessons_and_is_no_newcomer_on_train(site, make_page):
    page = make_page(newcomer=True)
    page.goto(f"{site.url}?__theme=light")  # as on a Space
    expect(page).to_have_url(re.compile(r"tab=lessons$"))
    page.get_by_role("link", name="Start with lesson 1").wait_for()
    assert page.locator("#page-train").is_hidden()
    page.goto(f"{site.url}?run=_recorded")  # a link goes where it says
    page.locator("#run-title", has_text="Kinder reviews").wait_for()
    page.goto(site.url)
    expect(page.locator("#page-train")).to_be_visible()


def test_a_whole_lesson_by_keyboard_with_recordings(site, make_page):
    page = visit(make_page(), site, "?tab=lessons")
    key = page.keyboard.press
    link = page.get_by_role("link", name="Two runs")
    link.focus()
    key("Enter")
    expect(page.get_by_role("heading", name="Two runs")).to_be_focused()
    expect(page.locator("#run-title")).to_have_text("No run yet")
    assert page.locator("#preset").is_hidden()
    assert page.locator(".section-names").is_hidden()
    assert page.locator("[data-chart=kl]").is_hidden()
    assert page.locator(".counts").is_hidden()
    tab_to(page, page.get_by_role("radio").first)
    key("Space")  # the wrong one
    tab_to(page, page.locator("#lesson-why"))
    page.keyboard.type("<b>Just so</b>")
    tab_to(page, page.get_by_role("button", name="That is my prediction"))
    key("Enter")
    heading = page.locator("#lesson-step")
    expect(heading).to_have_text("Now try it")
    expect(heading).to_be_focused()
    expect(page.locator(".lesson-behind")).to_contain_text("You predicted: They stay as they were")
    expect(page.locator(".lesson-behind")).to_contain_text("<b>Just so</b>")
    for run in (0, 1):
        tab_to(page, page.get_by_role("button", name="Play the recording"))
        key("Enter")
        expect(step(page, f"run-{run}")).to_contain_text("Kind are")
        expect(heading).to_be_focused()
        expect(page.locator("#lesson-panel [role=status]")).to_contain_text("Kind are")
        if run == 0:
            verdict = page.locator(".lesson-verdict")
            expect(verdict).to_contain_text("Otherwise than you said")
            expect(verdict).to_contain_text("What happened: \u201cThey become kind\u201d")
            expect(verdict).to_contain_text("It sounds as if nothing could happen without a leash.")
        tab_to(page, page.locator(".lesson-step .button.strong"))
        key("Enter")
    expect(step(page, "explain")).to_contain_text("The leash costs")
    card = page.locator(".lesson-card")
    tab_to(page, card.locator("summary"))
    key("Enter")
    expect(card.locator("li:visible")).to_have_count(1)
    tab_to(page, card.get_by_role("button", name="Next step"))
    key("Enter")
    expect(card.locator("li:visible")).to_have_count(2)
    expect(card.locator("li").nth(1)).to_be_focused()
    expect(card.locator(".in-numbers math mn")).to_have_text("0.25")
    assert card.locator("mfrac").evaluate("node => node.namespaceURI") == "http://www.w3.org/1998/Math/MathML"
    tab_to(page, page.locator(".lesson-step .button.strong"))
    key("Enter")
    tab_to(page, page.get_by_role("radio").first)
    key("ArrowDown")
    tab_to(page, page.get_by_role("button", name="That is my answer"))
    key("Enter")
    expect(step(page, "transfer")).to_contain_text("It is not free.")
    expect(step(page, "transfer")).to_contain_text("What is so: Yes")
    tab_to(page, page.locator(".lesson-step .button.strong"))
    key("Enter")
    expect(step(page, "end")).to_contain_text("Not quite so, here. It costs score.")
    assert page.evaluate(KEPT)["two-runs"]["at"] == "end"


def test_the_list_says_what_is_done_and_what_comes_next_and_hands_in_a_page(lesson, site):
    page = lesson("two-runs")
    page.get_by_role("radio").nth(1).check()
    page.locator("#lesson-why").fill("<script>window.taken = true</script>")
    press(page, "That is my prediction")
    press(page, "Play the recording")
    expect(page.locator(".lesson-verdict")).to_contain_text("As you said")
    page.get_by_role("button", name="Leave the lesson").click()
    row = page.locator("li", has=page.get_by_role("link", name="Two runs"))
    expect(row.locator(".lesson-mark")).to_contain_text("predicted")
    expect(page.locator("[data-key=next]")).to_have_text("Go on with: Two runs")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save my answers as a page").click()
    text = saving.value.path().read_text(encoding="utf-8")
    assert "They become kind" in text
    assert "Kind are 64 of 64." in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text


def test_a_curve_is_drawn_with_a_pointer_and_the_run_is_laid_over_it(lesson):
    page = lesson("a-curve")
    ready = page.get_by_role("button", name="That is my prediction")
    plot = page.locator("svg.drawable")
    expect(ready).to_have_attribute("aria-disabled", "true")
    box = plot.bounding_box()
    left, middle = box["x"] + box["width"] * 0.14, box["y"] + box["height"] * 0.45
    page.mouse.move(left, middle)
    page.mouse.down()
    page.mouse.move(left + box["width"] * 0.3, middle + 20, steps=5)
    page.mouse.up()
    expect(ready).to_have_attribute("aria-disabled", "true")  # it ends far from the end
    page.mouse.down()
    page.mouse.move(left + box["width"] * 0.8, middle + 60, steps=8)
    page.mouse.up()
    expect(page.get_by_role("button", name="falls", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(plot).to_have_attribute("aria-label", "Your drawing: falls")
    ready.click()
    expect(page.locator(".lesson-behind")).to_contain_text("You predicted: the score falls")
    press(page, "Play the recording")
    expect(page.locator(".lesson-verdict")).to_contain_text("You said: the score falls. It rises.")
    drawn = page.locator(".lesson-step .lesson-plot")
    expect(drawn.locator("polyline.mine")).to_have_count(1)
    expect(drawn.locator("polyline.run")).to_have_attribute("style", "stroke: var(--pg-score)")
    expect(drawn).to_have_attribute("aria-label", "the score over the run: it rises")


def test_a_named_shape_draws_itself_and_only_looking_is_a_way_too(lesson):
    page = lesson("a-curve")
    page.get_by_role("button", name="stays", exact=True).press("Enter")
    expect(page.locator("svg.drawable")).to_have_attribute("aria-label", "Your drawing: stays")
    places = page.locator("svg.drawable polyline").get_attribute("points").split()
    assert len(places) == 41
    assert len({place.split(",")[1] for place in places}) == 1
    press(page, "Only look")
    expect(page.locator(".lesson-behind")).to_contain_text("You only look.")
    press(page, "Play the recording")
    expect(page.locator(".lesson-verdict")).to_contain_text("The score rises.")


def test_a_run_of_ones_own_is_started_a_reload_comes_back_to_it_and_a_deleted_one_is_run_again(site, make_page):
    page = visit(make_page(forgive=["404"]), site, "?lesson=a-curve")
    page.get_by_role("button", name="rises", exact=True).click()
    press(page, "That is my prediction")
    press(page, "Start the run")
    expect(page.locator(".state strong")).to_have_text("running")
    run = page.evaluate(KEPT)["a-curve"]["runs"][0]["id"]
    page.reload()
    expect(page.locator("#lesson-step")).to_have_text("Watch: With a leash")
    expect(page.locator(".lesson-verdict")).to_contain_text("So it does.")
    page.reload()
    expect(page.locator(".lesson-verdict")).to_contain_text("So it does.")
    assert page.url.endswith(f"?lesson=a-curve&run={run}")
    press(page, "Why is that?")
    press(page, "Now try it yourself")
    page.locator(".lesson-knobs .knob-field").fill("3")
    page.locator(".lesson-knobs .knob-field").press("Enter")
    press(page, "Start the run")
    expect(page.locator(".state strong")).to_have_text("running")
    page.locator(".status").get_by_role("button", name="Stop").click()
    expect(step(page, "break").locator(".lesson-verdict")).to_contain_text("Not yet")
    expect(step(page, "break")).to_contain_text("A hint: Looser.")
    made = page.evaluate(KEPT)["a-curve"]["tries"][0]
    assert made["values"] == {"kl.coef": 3}
    kept = page.evaluate(KEPT)
    del kept["a-curve"]["runs"][0]["told"]
    kept["a-curve"].update(at="run-0", tries=[])
    page.evaluate("kept => localStorage.setItem('playground-lessons', kept)", json.dumps(kept))
    shutil.rmtree(site.outputs / run)
    page.goto(f"{site.url}?lesson=a-curve")
    expect(step(page, "run-0")).to_contain_text("deleted")
    press(page, "Run it again")
    expect(page.get_by_role("button", name="Play the recording")).to_be_visible()


def test_show_everything_keeps_the_run_in_view_and_the_lesson_as_far_as_it_is(lesson):
    page = lesson("two-runs")
    press(page, "Only look")
    press(page, "Play the recording")
    page.locator(".lesson-verdict").wait_for()
    page.get_by_role("button", name="Open in Train").click()
    expect(page.locator("#preset select")).to_have_value("no-leash")
    expect(page.locator("#run-title")).to_have_text("No leash")
    expect(page.locator(".section-names")).to_be_visible()
    page.go_back()
    step(page, "run-0").get_by_text("Kind are 64 of 64.").wait_for()


def test_a_bar_leads_back_to_a_lesson_until_it_is_left(lesson):
    page = lesson("two-runs")
    press(page, "Only look")
    page.get_by_role("button", name="Open in Train").click()
    bar = page.get_by_role("navigation", name="Open lesson")
    expect(bar).to_contain_text("Lesson: Two runs")
    go(page, "compare")
    bar.get_by_role("button", name="Back to the lesson").click()
    step(page, "run-0")
    expect(bar).to_be_hidden()
    page.get_by_role("button", name="Open in Train").click()
    bar.get_by_role("button", name="Leave the lesson").click()
    expect(bar).to_be_hidden()
    go(page, "train", lesson="two-runs", run="")
    step(page, "run-0")


def test_a_run_is_called_as_the_lesson_calls_it_and_shows_the_figures_it_names(lesson):
    page = lesson("a-curve")
    press(page, "Only look")
    press(page, "Play the recording")
    expect(page.locator("#run-title")).to_have_text("With a leash")  # its preset is called Kinder reviews
    section = page.locator("#section-curves")
    expect(section.locator("[data-chart=entropy]")).to_be_visible()
    expect(section.locator("section.chart:visible")).to_have_count(1)
    expect(section.locator(".kl-strip-part")).to_be_hidden()
    page.get_by_role("button", name="Open in Train").click()
    expect(page.locator("#run-title")).to_have_text("Kinder reviews")


def test_texts_are_whole_in_a_lesson(lesson):
    page = lesson("two-runs")
    press(page, "Only look")
    press(page, "Play the recording")
    page.locator(".lesson-verdict").wait_for()
    cut = "nodes => nodes.filter(node => node.scrollHeight > node.clientHeight + 1).length"
    assert page.locator(".texts-now-pairs .output").evaluate_all(cut) == 0


def test_no_formula_brings_markup_into_the_page(lesson):
    page = lesson("two-runs")
    made = of_module(
        page,
        f"/{own_files.address('lessons/formula.js')}",
        """({ formulaOf }) => {
          const attributes = { onclick: "taken()", href: "javascript:taken()", display: "block" };
          const hostile = { name: "math", attributes,
            parts: [{ name: "script", parts: ["taken()"] }, { name: "annotation-xml", parts: ["x"] },
              { name: "mi", attributes: { style: "color: red", href: "#" }, parts: ["<img src=x onerror=taken()>"] },
              { name: "semantics", parts: [{ name: "mi", parts: ["y"] }] }] };
          return new XMLSerializer().serializeToString(formulaOf(hostile));
        }""",
    )
    inner = "<mi>&lt;img src=x onerror=taken()&gt;</mi>"
    assert made == f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{inner}</math>'


def test_in_a_presentation_a_lesson_is_beside_its_run_and_nothing_scrolls_away(lesson):
    page = lesson("two-runs")
    for width, height in ((1024, 768), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator(".lesson-ways").get_by_role("button", name="Present").click()
        panel, view = page.locator("#lesson-panel"), page.locator(".run-view")
        expect(panel.get_by_role("heading", name="Two runs")).to_be_in_viewport()
        expect(panel.get_by_role("radio").first).to_be_in_viewport()
        expect(panel.get_by_role("button", name="That is my prediction")).to_be_in_viewport()
        expect(view.locator("#run-title")).to_be_in_viewport()
        assert panel.bounding_box()["x"] < view.bounding_box()["x"]
        assert float(panel.locator("legend").evaluate("node => parseFloat(getComputedStyle(node).fontSize)")) >= 20
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight + 1")
        page.keyboard.press("Escape")
        step(page, "predict")


def test_a_visitor_who_may_not_start_plays_the_recording(shared, make_page):  # noqa: F811
    if shared.mode != "classroom":
        pytest.skip("there one may start")
    page = make_page(newcomer=True)
    page.goto(shared.url)
    page.locator("#run-title", has_text="Short leash").wait_for()  # a class sees first what its host runs
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("link", name="Two runs").click()
    press(page, "Only look")
    expect(page.get_by_role("button", name="Play the recording")).to_be_visible()
    expect(page.get_by_role("button", name="Start the run")).to_have_count(0)
    press(page, "Play the recording")
    expect(step(page, "run-0")).to_contain_text("This is a recording")


def test_a_lesson_fits_a_phone(lesson):
    page = lesson("a-curve")
    page.set_viewport_size({"width": 390, "height": 844})
    for act in ("rises", "That is my prediction", "Play the recording"):
        page.locator(".lesson-step").get_by_role("button", name=act, exact=True).click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator(".lesson-verdict").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    panel, view = page.locator("#lesson-panel").bounding_box(), page.locator("#run-view").bounding_box()
    assert panel["y"] + panel["height"] <= view["y"]
    expect(page.locator("#run-title")).to_be_in_viewport()  # it came into sight when it began
    page.get_by_role("button", name="It has ended: what came of it").click()
    expect(page.locator("#lesson-step")).to_be_in_viewport()
    expect(page.locator("#lesson-step")).to_be_focused()
    page.get_by_role("button", name="Leave the lesson").click()
    page.locator(".course-lessons").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_board_stands_below_a_run_that_has_ended_and_moves_there(lesson):
    page = lesson("five-leashes")
    board = page.locator(".leash-board").filter(visible=True)
    expect(board).to_have_count(0)  # before the run it would give the answer away
    press(page, "Only look")
    press(page, "Play the recording")
    expect(board).to_have_count(1)
    before = board.locator(".board-sentence").inner_text()
    board.get_by_role("slider").focus()
    page.keyboard.press("ArrowLeft")
    expect(board.locator(".board-sentence")).not_to_have_text(before)
