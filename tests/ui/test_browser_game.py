"""A class plays the game: a reward is written on a phone, the host reads and trains them, what came of all is shown."""

from playwright.sync_api import expect

from tests.ui.test_browser_class import opened, press  # noqa: F401
from tests.ui.test_browser_keyboard import tab_to

REWARD, OTHER, RUDE = "words(completion)", "sentiment(completion)", 'count(completion, "rude")'


def hand_in(phone, reward):
    return phone.answer({"reward": reward}, 1)


def test_a_game_from_the_first_reward_to_the_best_hack(class_site, opened, make_page, person):  # noqa: F811
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
