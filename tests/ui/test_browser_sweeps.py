"""A sweep in a browser: described before it starts, and one row that opens."""

from tests.ui.conftest import go
from tests.ui.test_browser_keyboard import serious_faults

FORM = "The form as it stands: Kinder reviews"


def form(page):
    """The form of a new sweep, open."""
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
    assert name.get_attribute("aria-expanded") == "true"
    assert page.locator("tr.in-sweep").count() == 4
    name.focus()
    page.keyboard.press("Enter")
    panel.wait_for(state="hidden")
    assert page.locator("tr.in-sweep").count() == 0
    assert name.get_attribute("aria-expanded") == "false"
    assert name.evaluate("button => button === document.activeElement")
