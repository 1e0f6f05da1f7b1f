"""A sweep in a browser: told before it starts, one row that opens, stopped and taken up as one."""

from tests.ui import fake_run
from tests.ui.conftest import go
from tests.ui.test_browser_behaviours import serious
from tests.ui.test_browser_keyboard import AXE


def form(page):
    """The form of a new sweep, open."""
    go(page, "runs")
    page.get_by_role("button", name="Sweep", exact=True).click()
    return page.get_by_role("region", name="New sweep")


def test_a_sweep_is_described_before_it_starts_and_opens_from_its_row(open_page):
    page, answer = open_page, form(open_page)
    answer.get_by_text("Leash (beta): 0.1, 0.25, 0.5; Seed: 0, 1, 2. 9 runs").wait_for()  # as it is offered
    answer.get_by_label("Setting", exact=True).select_option("kl.controller")
    values = answer.get_by_label("Values", exact=True)
    assert (values.input_value(), values.get_attribute("placeholder")) == ("", "fixed, adaptive, ziegler")
    answer.get_by_label("Setting", exact=True).select_option("kl.horizon")
    values.fill("10, 100")
    answer.get_by_text("has no effect here").wait_for()
    answer.get_by_label("Setting", exact=True).select_option("kl.coef")
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
    assert "sweep=leash" in page.url and answer.is_hidden()
    rows = panel.locator(".sweep-table tbody tr")
    panel.get_by_text("1 seed: no interval", exact=True).first.wait_for()
    assert [row.locator("td").nth(1).inner_text() for row in rows.all()] == ["0.1", "0.5"]
    assert rows.first.get_by_role("link").get_attribute("href").endswith("run=leash-1")
    panel.locator("[data-chart='sweep-score'] canvas").first.wait_for(state="attached")
    rows.nth(0).get_by_role("checkbox").click()
    panel.locator("[data-key='setting 1'] .letter", has_text="A").wait_for()
    rows.nth(1).get_by_role("checkbox").click()  # the last one: it stays drawn, and says so
    page.wait_for_function("() => document.querySelectorAll('.sweep-table input')[1].checked")
    page.get_by_role("button", name="Sweep", exact=True).click()
    page.add_script_tag(path=AXE)
    assert serious(page) == [], "with the panel and the form open"
    answer.get_by_role("button", name="Cancel").click()

    name = page.locator("[data-key='toggle leash']")
    assert name.get_attribute("aria-expanded") == "true" and page.locator("tr.in-sweep").count() == 2
    name.focus()
    page.keyboard.press("Enter")
    panel.wait_for(state="hidden")
    assert page.locator("tr.in-sweep").count() == 0 and name.get_attribute("aria-expanded") == "false"
    assert name.evaluate("button => button === document.activeElement")


def test_all_runs_of_a_sweep_are_stopped_and_resumed_by_one_press_each(open_page):
    page, asked = open_page, form(open_page)
    asked.get_by_label("Values", exact=True).fill("0.1, 0.5")
    asked.get_by_label("Second setting", exact=True).select_option("ppo.num_updates")
    asked.get_by_label("Values of the second setting").fill("400")
    asked.get_by_label("Seeds").fill("1")
    asked.get_by_label("Name").fill("long")
    asked.get_by_text("2 runs").wait_for()
    page.keyboard.press("Enter")
    row = page.locator("[data-key='sweep long']")
    row.get_by_text("0 of 2 done, 1 running, 1 waiting").wait_for()
    row.get_by_role("button", name="Stop all").click()
    row.get_by_text("2 of 2 done; 2 stopped").wait_for()
    panel = page.get_by_role("region", name="Sweep", exact=True)
    panel.get_by_text("2 of 2 done; 2 stopped").wait_for()
    beside = page.context.new_page()
    beside.goto(page.url)
    beside.locator("[data-key='sweep long']").get_by_role("button", name="Resume all").click()
    panel.get_by_text("running, 1 waiting").wait_for()  # it was resumed in another window
    beside.close()
    assert row.get_by_role("button", name="Delete all").count() == 0, "while it goes on"
    row.get_by_role("button", name="Stop all").click()
    row.get_by_text("2 of 2 done; 2 stopped").wait_for()


def test_a_whole_sweep_is_deleted_once_that_is_confirmed(open_page, site):
    page = open_page
    fake_run.write_sweep(site.outputs, "done", {"kl.coef": [0.1, 0.5]}, finished=2)
    go(page, "runs", sweep="done")
    panel, dialog = page.get_by_role("region", name="Sweep", exact=True), page.get_by_role("dialog")
    panel.get_by_role("button", name="Delete all").click()
    dialog.get_by_text("2 runs.").wait_for()
    assert "They move to the bin" in dialog.inner_text()
    dialog.get_by_role("button", name="Keep it").click()
    assert (site.outputs / "done-1").exists()
    panel.get_by_role("button", name="Delete all").click()
    dialog.get_by_role("button", name="Delete").click()
    panel.wait_for(state="hidden")
    page.locator("[data-key='sweep done']").wait_for(state="detached")
    page.wait_for_function("() => document.activeElement.matches('.name :is(a, button), .sweep-button')")
    assert not list(site.outputs.glob("done-*")) and "sweep=" not in page.url


def test_who_deletes_a_run_of_an_open_sweep_stays_there_and_the_panel_follows(open_page, site):
    page = open_page
    fake_run.write_sweep(site.outputs, "two", {"kl.coef": [0.1, 0.5]}, finished=2)
    fake_run.write_sweep(site.outputs, "other", {"kl.coef": [0.1, 0.5]}, finished=2)
    go(page, "runs", sweep="two")
    panel, dialog = page.get_by_role("region", name="Sweep", exact=True), page.get_by_role("dialog")
    panel.get_by_role("link", name="two-1").wait_for()
    page.locator("[data-key='delete two-1']").focus()
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Delete").click()
    panel.get_by_text("two-1: not there").wait_for()
    panel.get_by_text("2 of 2 done; 1 deleted").wait_for()
    assert page.evaluate("document.activeElement.dataset.key") == "open two-2"
    panel.get_by_role("button", name="Close").click()
    assert page.evaluate("document.activeElement.dataset.key") == "toggle two"


def test_which_settings_are_drawn_can_be_chosen_and_deleted_runs_break_nothing(open_page, site):
    page = open_page
    fake_run.write_sweep(site.outputs, "wide", {"kl.coef": [0.1 * step for step in range(1, 8)]}, finished=7)
    go(page, "runs", sweep="wide")
    panel = page.get_by_role("region", name="Sweep", exact=True)
    ticks = panel.get_by_role("checkbox")
    panel.get_by_text("At most 6 settings are drawn at a time").wait_for()
    assert [tick.is_checked() for tick in ticks.all()] == [True] * 6 + [False] and ticks.nth(6).is_disabled()
    ticks.nth(0).click()
    page.wait_for_function("() => !document.querySelectorAll('.sweep-table input')[6].disabled")
    ticks.nth(6).click()
    panel.locator("[data-key='setting 6'] .letter", has_text="F").wait_for()
    assert not ticks.nth(0).is_checked()
    (site.outputs / "wide-3").rename(site.outputs / ".gone")
    page.reload()
    panel.get_by_text("not there").wait_for()
    panel.get_by_text("7 of 7 done; 1 deleted").wait_for()
