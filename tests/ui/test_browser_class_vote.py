"""A person votes on a phone, by taps and by keys, goes back, reloads, and sees what came of it."""

from playwright.sync_api import expect

from tests.ui import fake_run
from tests.ui.conftest import WAIT_MS

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
