"""A sweep in a browser: told before it starts, one row that opens, stopped and taken up as one."""

from playground.runs.folder.directory import RunDirectory
from tests.ui.conftest import choose_preset, go
from tests.ui.test_browser_behaviours import serious
from tests.ui.test_browser_keyboard import AXE

FORM = "The form as it stands: Kinder reviews"


def form(page):
    """The form of a new sweep, open."""
    go(page, "runs")
    page.get_by_role("button", name="Sweep", exact=True).click()
    return page.get_by_role("region", name="New sweep")


def test_a_sweep_is_described_before_it_starts_and_opens_from_its_row(open_page):
    page, answer = open_page, form(open_page)
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
    panel.locator("[data-chart='sweep-score'] canvas").first.wait_for(state="attached")
    page.get_by_role("button", name="Sweep", exact=True).click()
    page.add_script_tag(path=AXE)
    assert serious(page) == [], "with the panel and the form open"
    answer.get_by_role("button", name="Cancel").click()

    name = page.locator("[data-key='toggle leash']")
    assert name.get_attribute("aria-expanded") == "true"
    assert page.locator("tr.in-sweep").count() == 2
    name.focus()
    page.keyboard.press("Enter")
    panel.wait_for(state="hidden")
    assert page.locator("tr.in-sweep").count() == 0
    assert name.get_attribute("aria-expanded") == "false"
    assert name.evaluate("button => button === document.activeElement")


def test_a_sweep_takes_the_form_as_it_stands_and_not_one_with_a_mistake(site, open_page):
    page = open_page
    updates, notes = page.locator("#knob-ppo-num_updates"), page.locator("#notes")
    page.get_by_role("button", name="All settings").click()
    updates.fill("3")
    updates.press("Tab")
    notes.get_by_text("1 setting differs").wait_for()
    answer = form(page)
    answer.locator("option", has_text=f"{FORM}, 1 change").wait_for(state="attached")
    answer.get_by_label("Values", exact=True).fill("0.2")
    answer.get_by_label("Second setting", exact=True).select_option("")
    answer.get_by_label("Seeds").fill("1")
    answer.get_by_label("Name").fill("changed")
    answer.get_by_text("1 run", exact=False).wait_for()
    answer.get_by_role("button", name="Start sweep").click()
    page.get_by_role("region", name="Sweep", exact=True).get_by_text("1 of 1 done", exact=True).wait_for()
    config = RunDirectory(site.outputs / "changed-1").config()
    assert (config.ppo.num_updates, config.kl.coef) == (3, 0.2)
    go(page, "train")
    updates.fill("-3")
    updates.press("Tab")
    notes.locator(".problems").wait_for()
    answer = form(page)
    answer.get_by_text("On the Train page, Updates: must be at least").wait_for()
    assert answer.get_by_role("button", name="Start sweep").get_attribute("aria-disabled") == "true"
    answer.get_by_label("What to vary").select_option("no-leash")  # which has nothing to do with it
    answer.get_by_text("1 run", exact=False).wait_for()
    answer.get_by_role("button", name="Cancel").click()
    go(page, "train")
    choose_preset(page, "no-leash")
    choose_preset(page, "kinder-reviews")
