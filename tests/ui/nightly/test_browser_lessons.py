# ruff: noqa: F811 - pytest finds the fixtures by these names
"""More of the lessons in a browser: the list and the page that is handed in, shapes, the ways to Train and back, a
presentation, a phone. Mystery runs: giving up, one that is trained."""

import json
import re
import shutil

import pytest
from playwright.sync_api import expect

from playground.lessons.mysteries import MISTAKES
from tests.ui.conftest import go, of_module, unfold, visit
from tests.ui.test_browser_lessons import FAULT, KEPT, NUMBER, forgotten, lesson, press, started, step  # noqa: F401


def test_a_link_leads_a_newcomer_where_it_says_and_who_has_been_on_train_begins_there(site, make_page):
    page = make_page(newcomer=True)
    page.goto(f"{site.url}?lesson=two-runs&embed=1")  # in a frame of another page it is alone
    expect(page.get_by_role("heading", name="Two runs")).to_be_visible()
    expect(page.get_by_role("navigation").filter(visible=True)).to_have_count(0)
    expect(page.locator(".course-offer")).to_have_count(0)
    way = page.get_by_role("link", name="Open in the playground")
    expect(way).to_have_attribute("href", "?lesson=two-runs")
    page.goto(f"{site.url}?lesson=two-runs&embed=1&lang=es")
    expect(page.locator("#lesson-step")).to_have_text("¿Qué esperas?")
    press(page, "Solo mirar")
    expect(page.locator("#lesson-step")).to_have_text("Ahora pruébalo")
    page.goto(f"{site.url}?run=_recorded")
    page.locator("#run-title", has_text="Kinder reviews").wait_for()
    page.goto(site.url)
    expect(page.locator("#page-train")).to_be_visible()


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
    expect(page.locator("[data-key=lesson]")).to_have_text("Go on with: Two runs")
    page.evaluate("""localStorage.setItem('playground-courses', '{"with-questions":{"before":[0],"after":[1]}}');
        dispatchEvent(new StorageEvent('storage', { key: 'playground-courses' }))""")
    more = page.get_by_role("checkbox", name="With my answers to the questions before and after a course")
    texts = []
    unfold(page, "[data-key=hand-in]")
    for _ in range(2):
        with page.expect_download() as saving:
            page.get_by_role("button", name="Save my answers as a page").click()
        texts.append(saving.value.path().read_text(encoding="utf-8"))
        more.check()
    without, text = texts
    assert "before 0 of 1, after 1 of 1" not in without
    assert "before 0 of 1, after 1 of 1" in text
    assert "They become kind" in text
    assert "Kind are 55 of 64." in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text


def test_at_its_end_a_lesson_trains_what_one_likes(site, make_page):
    page = make_page()
    told = {"held": 0, "words": "", "said": ["Kind."], "explained": [], "outside": [], "beliefs": [], "curve": []}
    runs = [{"id": "_recorded", "recorded": True, "told": told}] * 2
    done = {"at": "end", "prediction": {"choice": 0}, "runs": runs, "tries": [], "transfer": 1, "done": "2026-01-01"}
    page.add_init_script(f"localStorage['playground-lessons'] ??= '{json.dumps({'two-runs': done})}'")
    visit(page, site, "?lesson=two-runs")
    words = page.get_by_label("Now reward what you like")
    words.press_sequentially("xyzzy, friend")
    expect(page.locator(".lesson-ways-on [role=status]")).to_contain_text("It never writes “xyzzy”")
    words.press("Enter")
    config = started(site, page)
    assert config.rewards[0].words == config.behaviours[0].measure.words == ("xyzzy", "friend")


def test_what_breaks_a_lesson_is_tried_and_a_run_that_was_deleted_is_run_again(site, make_page):
    page = visit(make_page(forgive=["404", "409"]), site, "?lesson=a-curve")
    press(page, "Only look")
    press(page, "Start the run")
    step(page, "run-0").get_by_role("button", name="Why is that?").click()
    press(page, "Now try it yourself")
    page.locator(".lesson-knobs .knob-field").fill("3")
    page.locator(".lesson-knobs .knob-field").press("Enter")
    site.let_runs_reach(1)
    press(page, "Start the run")
    expect(page.locator(".status .state strong")).to_have_text("running")
    expect(page.locator("[data-key=ghost]")).to_have_text("The grey line is the lesson's first run.")
    page.locator(".status").get_by_role("button", name="Stop").click()
    expect(step(page, "break").locator(".lesson-verdict")).to_contain_text("Not yet")
    press(page, "Hint")
    expect(step(page, "break").get_by_text("Hint: Looser.")).to_be_focused()
    kept = page.evaluate(KEPT)
    assert kept["a-curve"]["tries"][0]["values"] == {"kl.coef": 3}
    shutil.rmtree(site.outputs / kept["a-curve"]["runs"][0]["id"])
    del kept["a-curve"]["runs"][0]["told"]
    kept["a-curve"].update(at="run-0", tries=[])
    page.evaluate("kept => localStorage.setItem('playground-lessons', kept)", json.dumps(kept))
    page.goto(f"{site.url}?lesson=a-curve")
    expect(step(page, "run-0")).to_contain_text("deleted")
    press(page, "Run it again")
    expect(page.get_by_role("button", name="Play the recording")).to_be_visible()
    site.let_runs_end()


def test_train_keeps_the_run_of_a_lesson_in_view_and_a_bar_leads_back_until_the_lesson_is_left(lesson):
    page = lesson("two-runs")
    press(page, "Only look")
    press(page, "Play the recording")
    page.locator(".lesson-verdict").wait_for()
    cut = "nodes => nodes.filter(node => node.scrollHeight > node.clientHeight + 1).length"
    assert page.locator(".texts-now-pairs .output").evaluate_all(cut) == 0, "in a lesson texts are whole"
    page.get_by_role("button", name="Open in Train").click()
    expect(page.locator("#preset select")).to_have_value("no-leash")
    expect(page.locator("#run-title")).to_have_text("No leash")
    expect(page.locator(".section-names")).to_be_visible()
    bar = page.get_by_role("navigation", name="Open lesson")
    expect(bar).to_contain_text("Lesson: Two runs")
    go(page, "compare")
    bar.get_by_role("button", name="Back to the lesson").click()
    step(page, "run-0")
    expect(bar).to_be_hidden()
    page.get_by_role("button", name="Open in Train").click()
    bar.get_by_role("button", name="Leave the lesson").click()
    expect(bar).to_be_hidden()
    go(page, "train", lesson="two-runs")
    step(page, "run-0")


def test_on_a_phone_what_comes_next_in_a_lesson_comes_into_sight(lesson):
    page = lesson("a-curve")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("radio", name="It rises", exact=True).check()
    for act in ("That is my prediction", "Play the recording"):
        page.locator(".lesson-step").get_by_role("button", name=act, exact=True).click()
    page.locator(".lesson-verdict").wait_for()
    panel, view = page.locator("#lesson-panel").bounding_box(), page.locator("#run-view").bounding_box()
    assert panel["y"] + panel["height"] <= view["y"]
    expect(page.locator("#run-title")).to_be_in_viewport()  # it came into sight when it began
    page.get_by_role("button", name="It has ended: what came of it").click()
    expect(page.locator("#lesson-step")).to_be_in_viewport()
    expect(page.locator("#lesson-step")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def into(page, name):
    of_module(page, "lessons/courses.js", "(m, name) => m.openLesson(name, 'mystery')", name)


def begin(page):
    into(page, str(NUMBER))
    page.locator(".mystery-panel h2", has_text="What is wrong here?").wait_for()
    page.locator("#run-title", has_text="Mystery run").wait_for()


@pytest.mark.usefixtures("forgotten")
def test_who_gives_up_is_shown_it_and_the_page_of_answers_says_so(page):
    begin(page)
    page.get_by_role("button", name="Show me").click()
    verdict = page.get_by_role("region", name="Mystery run").locator(".lesson-verdict")
    expect(verdict).to_contain_text(MISTAKES[FAULT].say)
    page.get_by_role("button", name="Leave").click()
    go(page, "lessons")
    unfold(page, ".mysteries")
    card = page.get_by_role("link", name=re.compile(rf"^Mystery run {NUMBER}\b"))
    expect(card).to_contain_text("shown")
    unfold(page, "[data-key=hand-in]")
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save my answers as a page").click()
    text = saving.value.path().read_text(encoding="utf-8")
    assert f"Mystery run {NUMBER}" in text
    assert MISTAKES[FAULT].say in text
    assert "no, it was shown" in text


def test_a_new_one_is_trained_and_then_run_without_its_mistake(site, make_page):
    page = visit(make_page(), site, "?tab=lessons")
    unfold(page, ".mysteries")
    page.get_by_role("button", name="Train a new one").click()
    page.get_by_role("heading", name="What is wrong here?").wait_for()
    expect(page).to_have_url(re.compile(r"mystery=mystery-run-\d"))
    expect(page.locator("#run-title")).to_have_text("Mystery run")
    expect(page.locator("[data-section=health]")).to_contain_text("checks off")
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("button", name="Run it without the mistake").click()
    expect(page.locator("#run-title")).to_have_text("Mystery run, without its mistake")
    expect(page.locator("#controls #preset")).to_be_visible()
