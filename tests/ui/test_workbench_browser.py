"""The reward workbench in a browser."""

import re

from playwright.sync_api import expect

from tests.ui.conftest import go


def set_weight(page, number, value):
    """Of one of the rewards of the workbench."""
    box = page.locator("#bench-rewards input.weight").nth(number)
    box.fill(value)
    box.press("Tab")


def choose(page, place, number, kind):
    """Another kind for one of the rewards; returns its row."""
    row = page.locator(f"{place} .reward").nth(number)
    row.locator("select").first.select_option(kind)
    return row


def test_texts_are_scored_and_a_changed_weight_changes_the_ranking_at_once(page):
    go(page, "rewards")
    expect(page.locator("#bench-result .outcome")).to_have_text("B wins by 2.71 sd, through Sentiment (+2.71).")
    expect(page.locator("#bench-rewards .reward")).to_have_count(1)  # that of the form
    page.locator("#bench-rewards").get_by_role("button", name="+ Add a reward").click()
    row = choose(page, "#bench-rewards", 1, "repetition")
    set_weight(page, 1, "-5")
    expect(row.locator("select").first).to_have_value("repetition")
    page.locator("#bench-text-b textarea").fill("<b>wonderful</b> wonderful wonderful wonderful.")
    page.locator("#bench-score").click()
    expect(page.locator("#bench-result .outcome")).to_contain_text("B wins by")
    expect(page.locator(".bench-terms tbody tr")).to_have_count(2)
    expect(page.locator(".bench-outlooks")).to_contain_text("The untrained model is kind in")
    ranks = page.locator(".bench-ranks").first.locator("tbody tr")
    expect(ranks).to_have_count(5)
    first = ranks.first.locator(".text").inner_text()

    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/gradio_api/" in request.url else None)
    set_weight(page, 0, "-1")
    expect(ranks.first.locator(".text")).not_to_have_text(first)
    expect(page.locator("#bench-result .outcome")).to_contain_text("A wins by")
    expect(page.locator(".bench-moved")).to_contain_text(re.compile(r"\d+ of 24 texts changed their rank"))
    assert {url.rpartition("/gradio_api/")[2] for url in asked} <= {"component_server/"}  # no model was asked

    page.locator("#bench-rewards").get_by_role("button", name="+ Add a reward").click()
    expect(page.locator(".bench-missing")).to_contain_text("Not measured yet: length")
    page.get_by_role("button", name="Copy from Train").click()
