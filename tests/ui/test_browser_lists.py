"""Runs, Rewards and sweeps as lists, forms and tabs, by mouse and by keyboard."""

import re

from playwright.sync_api import expect

from tests.ui import fake_run
from tests.ui.conftest import go
from tests.ui.test_browser import more
from tests.ui.test_browser_keyboard import serious_faults


def test_what_else_can_be_done_with_a_run_is_in_a_menu_that_the_keyboard_walks(site, page):
    fake_run.write_run(site.outputs, "menu")
    press = page.keyboard.press
    go(page, "runs")
    row = page.locator("tr[data-key='run menu']")
    expect(row.locator(".actions button").locator("visible=true")).to_have_text(["Open", "Compare", "More"])
    opens, menu = row.get_by_role("button", name="More"), row.get_by_role("menu")
    opens.focus()
    press("Enter")
    expect(menu).to_be_visible()
    items = menu.get_by_role("menuitem")
    expect(items.first).to_be_focused()
    expect(items.first).to_have_text("Put its settings into the form")
    press("ArrowUp")
    expect(items.last).to_be_focused()
    expect(items.last).to_have_text("Delete")
    press("Home")
    press("ArrowDown")
    expect(menu.get_by_role("menuitem", name="Rename")).to_be_focused()
    press("Escape")
    expect(menu).to_be_hidden()
    expect(opens).to_be_focused()
    press("Enter")
    expect(items.first).to_be_focused()
    press("Tab")  # on from the button
    expect(menu).to_be_hidden()
    opens.click()
    fake_run.write_run(site.outputs, "newer")  # the list is drawn anew, and the menu stays open
    expect(page.locator("tr[data-key='run newer']")).to_be_visible()
    expect(menu).to_be_visible()
    page.get_by_role("heading", name="Runs", level=2).click()
    expect(menu).to_be_hidden()
    with page.expect_download() as saved:
        more(row, "YAML").click()
    assert saved.value.suggested_filename.endswith(".yaml")
    more(row, "Rename").click()
    expect(page.get_by_role("dialog").get_by_label("Name")).to_be_visible()
    press("Escape")
    expect(opens).to_be_focused()


FORM = "The form as it stands: Kinder reviews"


def form(page):
    go(page, "runs")
    page.get_by_role("button", name="Sweep", exact=True).click()
    return page.get_by_role("region", name="New sweep")


def test_a_sweep_is_described_before_it_starts_and_opens_from_its_row(page):
    answer = form(page)
    answer.get_by_text("Leash (beta): 0.1, 0.25, 0.5; Seed: 0, 1, 2. 9 runs").wait_for()  # as it is offered
    assert answer.get_by_label("What to vary").locator("option:checked").inner_text() == FORM
    answer.get_by_label("Values", exact=True).fill("0.1, -3")
    answer.get_by_text("Leash (beta): must be at least 0").wait_for()
    assert answer.get_by_role("button", name="Start sweep").get_attribute("aria-disabled") == "true"
    answer.get_by_label("Values", exact=True).fill("0.1, 0.5")
    answer.get_by_label("Second setting", exact=True).select_option("ppo.num_updates")
    answer.get_by_label("Values of the second setting").fill("2")
    answer.get_by_label("Seeds").fill("1")
    answer.get_by_label("Name").fill("leash")
    answer.get_by_text("2 runs").wait_for()
    answer.get_by_role("button", name="Start sweep").click()

    panel = page.get_by_role("region", name="Sweep", exact=True)
    panel.get_by_text("2 of 2 done", exact=True).wait_for()
    assert "sweep=leash" in page.url
    assert answer.is_hidden()
    rows = panel.locator(".sweep-table tbody tr")
    panel.get_by_text("1 seed: no interval", exact=True).first.wait_for()
    assert [row.locator("td").nth(1).inner_text() for row in rows.all()] == ["0.1", "0.5"]
    assert rows.first.get_by_role("link").get_attribute("href").endswith("run=leash-1")
    panel.locator("[data-chart='sweep-score'] .curves path").first.wait_for(state="attached")
    panel.get_by_role("button", name="Take it away").click()
    menu = page.get_by_role("menuitem").filter(visible=True)
    assert [link.get_attribute("href").rpartition("/")[2] for link in menu.all()] == [
        f"{file}?sweep=leash" for file in ("runs.csv", "curves.csv", "charts.zip")
    ]
    page.keyboard.press("Escape")
    panel.get_by_role("button", name="Add seeds").click()
    page.get_by_label("Further seeds").fill("1")
    page.get_by_role("button", name="Add", exact=True).click()
    panel.get_by_text("4 of 4 done", exact=True).wait_for()
    assert rows.first.get_by_role("link").count() == 2
    page.get_by_role("button", name="Sweep", exact=True).click()
    assert serious_faults(page) == [], "with the panel and the form open"
    answer.get_by_role("button", name="Cancel").click()

    name = page.locator("[data-key='toggle leash']")
    assert (name.get_attribute("aria-expanded"), page.locator("tr.in-sweep").count()) == ("true", 4)
    name.focus()
    page.keyboard.press("Enter")
    panel.wait_for(state="hidden")
    assert (page.locator("tr.in-sweep").count(), name.get_attribute("aria-expanded")) == (0, "false")
    assert name.evaluate("button => button === document.activeElement")


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
