"""A class in a browser: a question in two rounds from phones, at the desk and in front, the second without a network;
a vote by taps and by keys; a game to the best hack; and a student who is taken along to where the host is."""

import re

import pytest
from playwright.sync_api import expect

from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import TOKEN, WAIT_MS
from tests.ui.test_browser_keyboard import tab_to

AWAY = ("Failed to load resource",)  # what the browser says while there is no server


@pytest.fixture
def opened(class_site, make_page):
    """The desk with a class that has just been opened, and its code."""
    desk = make_page(forgive=AWAY)
    desk.request.get(f"{class_site.url}host?token={TOKEN}", max_redirects=0)  # the page itself takes seconds to load
    desk.goto(f"{class_site.url}class/desk")
    last = desk.request.get(f"{class_site.url}class/front").json()
    press(desk, re.compile("^Open a (new )?class$"))
    if last["steps"] or last["joined"]:
        press(desk, "Delete it and open a new one")
    expect(desk.get_by_text("(0 joined)")).to_be_visible()
    expect(desk.locator(".class-code")).to_be_visible()
    return desk, desk.locator(".class-code").inner_text()


def press(desk, name, **options):
    desk.get_by_role("button", name=name, **options).click()


def test_two_rounds_of_a_question_the_second_answered_without_a_network(class_site, opened, make_page, person):
    desk, code = opened
    phone, screen = make_page(390, 844, forgive=AWAY), make_page(1024, 768, forgive=AWAY)
    other = person(class_site)
    assert other.ask("class/join", code=code) == {"error": ""}
    screen.goto(f"{class_site.url}class/screen")
    expect(screen.locator(".class-code")).to_have_text(code)
    phone.goto(f"{class_site.url}class?code={code}")
    expect(phone.locator("h1")).to_have_text("You are in")

    desk.locator("#desk-lesson").select_option("two-runs")
    press(desk, "Ask this question")
    tab_to(phone, phone.get_by_role("radio").first)
    phone.keyboard.press("Space")
    fate = phone.locator(".class-fate")
    expect(fate).to_have_text("Kept. You can change it until it is closed.")
    phone.locator("#class-reason").fill("<b>so</b>")
    tab_to(phone, phone.get_by_role("button", name="Ask for help"))
    phone.keyboard.press("Enter")
    other.step()  # who is in no lesson is here too
    expect(desk.locator("#desk-stuck")).to_have_text("Who is stuck: 1 of 2")
    expect(desk.locator(".desk-places")).to_have_text("!Number 2asks for help")
    phone.keyboard.press("Enter")
    expect(desk.locator(".desk-places")).to_have_count(0)
    assert other.answer({"choice": 1}) == {"error": ""}
    expect(screen.locator(".screen-count")).to_have_text("2 of 2 have answered")
    expect(screen.locator(".screen-do")).to_have_text("Answer on your phone, each for yourself.")
    expect(screen.locator(".screen-strip")).to_contain_text("Join: ")
    assert screen.locator(".tally").count() == 0  # a histogram before the talk pulls answers
    press(desk, "No more answers")
    expect(phone.locator(".class-parts")).to_contain_text("You said: \u201cThey stay as they were\u201d")
    assert other.answer({"choice": 0})["error"].startswith("This is closed")

    press(desk, "Ask again")
    expect(phone.locator(".class-parts")).to_contain_text("Once more.")
    phone.route("**/class/answer", lambda route: route.abort())
    phone.get_by_role("radio").nth(1).check()
    expect(fate).to_have_text("Kept on this phone. It is sent as soon as there is a network.")
    phone.unroute_all()
    expect(fate).to_have_text("Kept. You can change it until it is closed.")
    assert other.answer({"choice": 1}) == {"error": ""}

    press(desk, "No more answers")
    desk.locator("[data-key='twin 0']").click()
    press(desk, "Show the answers with what it says")
    expect(screen.locator(".screen-told")).to_have_text("Kind are 55 of 64.")
    assert screen.locator(".tally-count").all_inner_texts() == ["1 of 2", "0 of 2", "1 of 2", "2 of 2"]
    expect(phone.locator(".lesson-verdict")).to_contain_text("As you said")
    expect(phone.locator(".class-parts")).to_contain_text("Your reason: <b>so</b>")
    expect(phone.locator("li[data-right=true]")).to_contain_text("your answer")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(phone.get_by_role("link", name="Look at the run")).to_have_attribute("href", re.compile("run=_.*&follow=1"))


SETTLED = ".vote-pair[data-settled=true]"  # from then on the pair takes a vote


def test_a_vote_by_taps_and_keys_with_a_way_back_that_a_reload_keeps(site, make_page, person):
    fake_run.write_run(site.outputs, "voted-on")
    host = person(site)
    code = host.lead("open")["made"]
    host.lead("vote", what="blind", source="voted-on", each=3)
    step = host.read("class/front")["step"]["id"]
    phone = make_page(390, 800)
    phone.goto(f"{site.url}class?code={code}")
    count = phone.locator(".vote-count")
    expect(count).to_have_text("Pair 1 of 3", timeout=WAIT_MS)
    first = phone.locator(".vote-words").first.inner_text()
    phone.locator(".vote-text").first.dblclick()  # the second tap is not for the next pair
    expect(count).to_have_text("Pair 2 of 3")
    phone.locator(SETTLED).wait_for()
    phone.keyboard.press("b")
    expect(count).to_have_text("Pair 3 of 3")
    phone.keyboard.press("ArrowUp")
    expect(count).to_have_text("Pair 2 of 3")
    expect(phone.locator(".vote-text[aria-pressed=true] .vote-letter")).to_have_text("B")
    phone.get_by_role("button", name="The pair before").click()
    expect(phone.locator(".vote-words").first).to_have_text(first)
    for number in (2, 3):
        phone.locator(SETTLED).wait_for()
        phone.keyboard.press("t")
        expect(count).to_have_text(f"Pair {number} of 3")
    phone.locator(SETTLED).wait_for()
    phone.get_by_role("button", name="Both are as good").click()
    done = phone.get_by_text("You have voted on all 3 pairs.")
    done.wait_for()
    phone.wait_for_function("!Object.keys(JSON.parse(localStorage.getItem('playground-class-answers') ?? '{}')).length")
    phone.reload()
    done.wait_for(timeout=WAIT_MS)
    host.lead("show", step=step)
    phone.get_by_text(
        "Of your 3 votes 0 went to the text from after training and 0 to the one from before training; 3 to both."
    ).wait_for(timeout=WAIT_MS)
    assert host.read("class/front")["votes"]["live"][0].startswith("3 votes by 1 person on 3 of ")


REWARD, OTHER, RUDE = "words(completion)", "sentiment(completion)", 'count(completion, "rude")'


def hand_in(phone, reward):
    return phone.answer({"reward": reward}, 1)


def test_a_game_from_the_first_reward_to_the_best_hack(class_site, opened, make_page, person):
    desk, code = opened
    conflict = ("Failed to load resource",)  # what the browser says of a refused reward
    phone, screen = make_page(390, 844, forgive=conflict), make_page(1024, 768)
    others = [person(class_site), person(class_site)]
    for other in others:
        other.ask("class/join", code=code)
    phone.goto(f"{class_site.url}class?code={code}")
    screen.goto(f"{class_site.url}class/screen")
    desk.locator("[data-key='offer game'] summary").click()
    press(desk, "Begin the game")

    tab_to(phone, phone.get_by_label("Your reward for a completion"))
    phone.keyboard.type(REWARD[:-1])
    expect(phone.locator("#game-line")).to_contain_text("A bracket is missing")
    phone.keyboard.type(")")
    expect(phone.locator("#game-line")).to_have_text("This can be paid. Hand it in.")
    tab_to(phone, phone.get_by_role("button", name="Hand it in"))
    phone.keyboard.press("Enter")
    expect(phone.locator("#game-line")).to_have_text("")
    expect(phone.locator(".class-fate")).to_have_text("Kept. You can change it until it is closed.")
    assert [hand_in(one, reward)["error"] for one, reward in zip(others, (OTHER, RUDE), strict=True)] == ["", ""]
    assert "the judges of this game" in hand_in(others[0], "quality(prompt, completion)")["error"]
    expect(screen.locator("#class")).to_contain_text("3 people have handed one in.")

    press(desk, f"Leave out: {RUDE}")
    press(desk, "Close: no more rewards")
    press(desk, "Train 2 rewards")
    expect(phone.locator(".class-parts")).to_contain_text("Yours is game 2.")
    assert others[1].step()["game"]["mine"] is None
    expect(desk.locator("[data-key=words]")).to_contain_text("2 of 2 done")
    assert REWARD not in screen.locator("#class").inner_text()
    press(desk, "Show in front")
    expect(screen.locator(".game-table tbody tr")).to_have_count(2)
    expect(phone.get_by_role("heading", name="Yours: game 2")).to_be_visible()
    assert RUDE not in screen.locator("#class").inner_text()
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")

    press(desk, "Delete the runs")
    press(desk, "Delete them")
    expect(desk.locator("[data-key=words]")).to_have_text("The runs of this game are deleted.")
    expect(screen.locator(".game-table tbody tr")).to_have_count(2)


@pytest.fixture(scope="module")
def shared(class_site):
    fake_run.write_run(class_site.outputs, "first", catalog.preset("short-leash"), age_seconds=600)
    fake_run.write_run(class_site.outputs, "second")
    return class_site


@pytest.fixture
def lead(shared, person):
    return person(shared, TOKEN).lead


def viewed(run):
    return f".run-view[data-run='{run}']"


def test_a_student_is_taken_along_leaves_and_comes_back(shared, lead, make_page):
    page, code = make_page(), lead("open")["made"]
    page.request.post(f"{shared.url}class/join", data={"code": code})
    lead("location", query="run=first", update=None, text=None)
    page.goto(f"{shared.url}?tab=runs&follow=1")  # who comes late is where the host is
    page.locator(viewed("first")).wait_for()
    lead("location", query="tab=compare&run=second")
    page.wait_for_url("**/?tab=compare&run=second&follow=1")
    lead("ask", ask="Which way?", options=["Up", "Down"])
    bar = page.get_by_role("region", name="The class")
    assert bar.get_by_role("link", name="A question is open: answer").get_attribute("href") == f"{shared.url}class"
    page.get_by_role("link", name="Runs", exact=True).click()
    bar.get_by_text("You look around.").wait_for()
    lead("location", query="run=first", update=None, text=None)
    bar.get_by_role("button", name="Back to the host").click()
    page.locator(viewed("first")).wait_for()
    assert page.url == f"{shared.url}?run=first&follow=1"
    bar.get_by_role("button", name="Look around").press("Enter")
    bar.get_by_role("button", name="Back to the host").wait_for()
    lead("free", free=False)
    bar.get_by_text("You follow the host.").wait_for()
    assert bar.get_by_role("button").all_inner_texts() == ["! Ask for help"]  # no way to leave
    page.get_by_role("link", name="Runs", exact=True).click()
    page.wait_for_url("**/?run=first&follow=1")
    lead("location", query="run=_recorded", update=None, text=None, played=3)
    page.locator(viewed("_recorded")).wait_for()
    page.get_by_label("Update to show").and_(page.locator("[aria-valuetext='after update 3']")).wait_for()
    lead("end")
    bar.get_by_text("The class has ended.").wait_for()
