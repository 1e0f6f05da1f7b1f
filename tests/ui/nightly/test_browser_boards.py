"""The chalkboard on the page of the lessons, and other texts in the part with a leash."""

import pytest

from tests.ui.test_browser_boards import page  # noqa: F401


def test_other_texts_come_in_the_place_of_these(page):  # noqa: F811
    part = page.locator(".leash-board")
    shown = part.locator(".board-texts td.prompt").all_inner_texts()
    part.get_by_role("button", name="Another three").click()
    assert not {*shown} & {*part.locator(".board-texts td.prompt").all_inner_texts()}


def test_the_best_policy_of_the_chalkboard_moves_along_its_line(page):  # noqa: F811
    part, slider = page.locator(".chalkboard"), page.locator("#chalkboard-lessons-stop")
    slider.focus()
    page.keyboard.press("Home")
    low, words = part.locator("circle.here").get_attribute("cx"), part.locator(".board-sentence").inner_text()
    page.keyboard.press("End")
    assert float(part.locator("circle.here").get_attribute("cx")) < float(low)  # a short leash: near the start
    assert part.locator(".board-sentence").inner_text() != words
    bars = part.locator(".board-chance").first.locator("span")
    widths = [float(width.removesuffix("%")) for width in bars.evaluate_all("all => all.map((one) => one.style.width)")]
    assert widths[0] == pytest.approx(widths[1], rel=0.1)  # and hardly another policy
