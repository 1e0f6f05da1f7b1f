"""A newcomer finds the lessons and gets through one: predicts, sees a run, and sees the prediction held against it. A
mystery run is found, named wrongly and then rightly. In the parts with a leash of their own a move of the slider moves
all that they show.

The lessons are those of tests/ui/lessons, whose runs the fake worker knows, or has as recordings.
"""

import re

import pytest
from playwright.sync_api import expect

from playground.config.faults import FAULTS
from playground.lessons import boards, mysteries
from playground.lessons.mysteries import MISTAKES
from playground.runs.folder.directory import RunDirectory
from tests.support import wait_until
from tests.ui.conftest import go, in_page, of_module, unfold
from tests.ui.test_browser_keyboard import tab_to

KEPT = "JSON.parse(localStorage.getItem('playground-lessons'))"


@pytest.fixture
def lesson(page):
    """Opens a lesson within the page that the module shares; what was answered is forgotten afterwards."""

    def begin(name):
        go(page, "train", lesson=name, run="")
        page.locator("[data-step=predict]").wait_for()
        return page

    yield begin
    if page.evaluate("document.body.dataset.lesson"):
        page.get_by_role("button", name="Leave the lesson").click()
    page.evaluate("localStorage.clear(); dispatchEvent(new StorageEvent('storage', { key: 'playground-lessons' }))")


def step(page, name):
    opened = page.locator(f"[data-step={name}]")
    opened.wait_for()
    return opened


def press(page, name):
    page.locator(".lesson-step").get_by_role("button", name=name).click()


def test_a_newcomer_lands_on_the_lessons_and_gets_through_one_by_keyboard_with_recordings(site, make_page):
    page = make_page(newcomer=True)
    page.goto(f"{site.url}?__theme=light")  # as on a Space
    expect(page).to_have_url(re.compile(r"tab=lessons$"))
    page.get_by_role("link", name="Lesson 1").wait_for()
    assert page.locator("#page-train").is_hidden()
    key = page.keyboard.press
    page.locator("details.course", has_text="Two runs").locator("summary").focus()
    key("Enter")
    page.get_by_role("link", name="Two runs").focus()
    key("Enter")
    expect(page.get_by_role("heading", name="Two runs")).to_be_focused()
    expect(page.locator("#run-title")).to_have_text("No run yet")
    assert page.locator("#preset").is_hidden()
    assert page.locator(".section-names").is_hidden()
    assert page.locator("[data-chart=kl]").is_hidden()
    assert page.locator(".counts").is_hidden()
    untrained = page.locator(".lesson-untrained")
    expect(untrained).to_contain_text(re.compile(r"Untrained: it is kind in \d+ of 64 answers"))
    expect(untrained.locator("li")).to_have_count(3)
    heading = page.locator("#lesson-step")
    tab_to(page, page.get_by_role("button", name="Answer them"))
    key("Enter")
    page.get_by_role("radio", name="No").check()
    press(page, "Keep my answers")
    expect(page.get_by_text("It takes score.")).to_have_count(0)  # what is right is said after the course
    tab_to(page, page.get_by_role("radio").first)
    key("Space")  # the wrong one
    tab_to(page, page.locator("#lesson-why"))
    page.keyboard.type("<b>Just so</b>")
    tab_to(page, page.get_by_role("button", name="That is my prediction"))
    key("Enter")
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
            expect(verdict).to_contain_text("Not what you predicted")
            expect(verdict).to_contain_text("You said so because <b>Just so</b>")
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
    tab_to(page, page.get_by_role("button", name="Hint"))
    for words in ("Hint: Look at the score.", "Hint: Compare the two runs.", "Answer: \u201cYes\u201d It costs score."):
        key("Enter")
        expect(page.locator(".lesson-hints li").last).to_have_text(words)
    expect(page.locator(".lesson-hints li").last).to_be_focused()  # there is no further one
    tab_to(page, page.get_by_role("radio").first)
    key("ArrowDown")
    tab_to(page, page.get_by_role("button", name="That is my answer"))
    key("Enter")
    expect(step(page, "transfer")).to_contain_text("It is not free.")
    expect(step(page, "transfer")).to_contain_text("Right is: Yes")
    tab_to(page, page.locator(".lesson-step .button.strong"))
    key("Enter")
    expect(step(page, "end")).to_contain_text("Not quite so, here. It costs score.")
    expect(step(page, "end")).to_contain_text("You have seen RLHF")
    press(page, "Answer them")
    page.get_by_role("radio", name="Yes").check()
    press(page, "Show the answers")
    expect(page.locator(".course-offer")).to_contain_text("before 0 of 1, after 1 of 1")
    kept = page.evaluate(KEPT)["two-runs"]
    assert (kept["at"], kept["done"][:2]) == ("end", "20")


def started(site, page):
    """The settings of the run that one press has started, which then ends."""
    expect(page).to_have_url(re.compile(r"run=[a-z]"))
    site.let_runs_end()
    expect(page.locator(".status .state strong")).to_have_text("finished")
    return RunDirectory.open(site.outputs / page.url.rpartition("run=")[2]).config()


PLANTED = [RunDirectory.open(folder).config().planted[0] for folder in mysteries.recorded()]
NUMBER, FAULT = next((place, fault) for place, fault in enumerate(PLANTED, start=1) if fault == "no-clip")
RUN = f"_recorded-{mysteries.recorded()[NUMBER - 1].name}"
WRONG = "headless-critic"


@pytest.fixture
def forgotten(page):
    """What was answered is forgotten after the test."""
    yield
    if page.evaluate("document.body.classList.contains('mystery')"):
        page.get_by_role("button", name="Leave").click()
    page.evaluate("localStorage.clear(); dispatchEvent(new StorageEvent('storage', { key: 'playground-mysteries' }))")


def say(page, fault):
    page.get_by_role("radio", name=MISTAKES[fault].say).check()
    page.get_by_role("button", name="That is it").click()


@pytest.mark.usefixtures("forgotten")
def test_a_mystery_is_named_wrongly_and_then_rightly_by_keyboard_and_nothing_of_the_answer_is_asked_for_before(page):
    key, asked = page.keyboard.press, []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith(f"{RUN}/mystery") else None)
    go(page, "lessons")
    page.locator("details.mysteries").evaluate("(folded) => (folded.open = false)")
    page.locator("details.mysteries summary").focus()
    key("Enter")
    page.get_by_role("link", name=re.compile(rf"^Mystery run {NUMBER}\b")).focus()
    key("Enter")
    expect(page.get_by_role("heading", name="What is wrong here?")).to_be_focused()
    expect(page).to_have_url(re.compile(rf"mystery={NUMBER}$"))
    expect(page.locator("#run-title")).to_have_text("Mystery run")
    tab_to(page, page.get_by_role("radio").first)
    for _ in range(list(FAULTS).index(WRONG)):
        key("ArrowDown")
    tab_to(page, page.locator("#mystery-why"))
    page.keyboard.type("<b>It says so</b>")
    tab_to(page, page.get_by_role("button", name="That is it"))
    assert not asked
    key("Enter")
    verdict = page.get_by_role("region", name="Mystery run").locator(".lesson-verdict")
    expect(verdict).to_be_focused()
    expect(verdict).to_contain_text(MISTAKES[WRONG].shows)
    assert len(asked) == 1
    expect(page.locator(".mystery-panel")).not_to_contain_text(MISTAKES[FAULT].because)
    expect(page.get_by_role("radio", name=MISTAKES[WRONG].say)).to_be_disabled()
    page.reload()
    expect(page.get_by_role("radio", name=MISTAKES[WRONG].say)).to_be_disabled()
    expect(page.locator("#mystery-why")).to_have_value("<b>It says so</b>")
    say(page, FAULT)
    expect(verdict).to_contain_text("Found, after one other")
    expect(verdict).to_be_focused()
    expect(page.locator("#lesson-panel [role=status]")).to_contain_text("Found")
    expect(page.locator(".mystery-lines[data-kind=wrong] code")).to_have_text(list(MISTAKES[FAULT].wrong))
    expect(page.locator(".mystery-lines[data-kind=right] code")).to_have_text(list(MISTAKES[FAULT].right))
    kept = page.evaluate("JSON.parse(localStorage.getItem('playground-mysteries'))")[RUN]
    assert kept == {"tries": [WRONG], "why": "<b>It says so</b>", "end": "found", "named": FAULT}


DATA = boards.data("leash")
DRAWN = in_page("drawn")


@pytest.fixture
def boards_open(page):
    go(page, "lessons")
    for folded in (".board-more", "[data-key=chalkboard]"):
        unfold(page, folded)
    for board in ("leash", "chalkboard"):
        page.locator(f"#{board}-lessons-stop").wait_for()


@pytest.mark.usefixtures("boards_open")
def test_one_key_moves_curves_point_counts_and_texts_of_the_leash(page):
    part, slider = page.locator(".leash-board"), page.locator("#leash-lessons-stop")
    was = [stop["beta"] for stop in DATA["leashes"]].index(DATA["beta"])
    before = part.evaluate(DRAWN)
    slider.focus()
    page.keyboard.press("ArrowLeft")
    after = part.evaluate(DRAWN)
    assert not [name for name, shown in before.items() if after[name] == shown]
    shorter = DATA["leashes"][was - 1]
    spoken = re.compile(rf"^{shorter['beta']:g}, (holds|goes far): score \+")
    expect(slider).to_have_attribute("aria-valuetext", spoken)
    assert after["sentence"].startswith(f"With a leash of {shorter['beta']:g} the gain in score was +")
    expect(part.get_by_role("status")).to_have_text(after["sentence"])
    page.keyboard.press("Home")  # no leash at all: on a scale of its own
    assert part.evaluate(DRAWN)["sentence"].startswith("Without a leash")
    assert part.evaluate(DRAWN)["slope"] == []  # where the best model would stop is not known there
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("barely moves"))


def test_the_leash_is_drawn_before_gradio_has_started_and_goes_on_as_it_was(site, make_page):
    page = make_page(newcomer=True)
    held = []
    page.route("**/assets/index-*.js", lambda route: held.append(route))
    page.goto(site.url, wait_until="commit")
    slider = page.locator("#leash-lessons-stop")
    slider.focus()
    page.keyboard.press("End")
    wait_until(lambda: page.evaluate("1") and held)  # Gradio is asked to start, behind it
    assert page.locator(".first-light").count() == 1
    own = page.get_by_role("button", name="Another three")
    expect(own).to_have_css("padding", "4px 9px")  # by our sheet, then and after Gradio's own
    for route in held:
        route.continue_()
    page.locator("details.course").first.wait_for()
    assert page.locator(".first-light").count() == 0
    expect(own).to_have_css("padding", "4px 9px")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("barely moves"))
    expect(slider).to_be_focused()


@pytest.mark.usefixtures("boards_open")
def test_the_model_of_a_leash_is_asked_and_one_is_trained_with_that_leash_at_one_press(site, page):
    slider = page.locator("#leash-lessons-stop")
    slider.focus()
    page.keyboard.press("Home")
    page.get_by_role("button", name="Let it write at leash 0").click()
    page.get_by_label("What it is a review of").select_option("Review of the cafe:")
    expect(page.get_by_label("Begin a review")).to_have_value("The bread was")
    page.keyboard.press("Enter")
    answers = page.locator(".doors-ask td .output")
    expect(answers).to_have_count(3)  # the prompt first
    train = page.get_by_role("button", name="Train at leash")
    of_module(page, "core/form.js", "(m) => (m.runSeconds.value = [240, 420])")  # once a run was made here
    expect(train).to_have_text("Train at leash 0: about 4 to 7 min")
    train.click()
    assert started(site, page).kl.coef == 0
