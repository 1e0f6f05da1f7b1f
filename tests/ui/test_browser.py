"""The page in a real browser, with a fake worker: what a person does and sees."""

import re

from playwright.sync_api import expect

from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import go, of_module, open_settings, visit

SCORE = '[data-chart="score"] .stage'
SECTIONS = ("curves", "health", "texts", "frontier", "update", "export")


def fill(page, field, value):
    """Type into a knob and leave it, as a person does, who opens all settings for most of them."""
    if field != "kl.coef":
        open_settings(page)
    box = page.locator(f"#knob-{field.replace('.', '-')}")
    box.fill(value)
    box.press("Tab")


def updates_done(page):
    found = re.search(r"update (\d+) of", page.locator(".state .where").inner_text())
    return int(found.group(1)) if found else -1


def wait_for_update(page, at_least):
    page.wait_for_function(
        "n => Number(document.querySelector('.state .where')?.textContent.match(/update (\\d+) of/)?.[1] ?? -1) >= n",
        arg=at_least,
    )


def test_compare_filters_sorts_and_asks(site, page):
    fake_run.write_run(site.outputs, "done")
    of_module(page, "core/nav.js", "(m) => m.openRun('_recorded')")
    go(page, "compare", run="")
    expect(page.locator("#compare").get_by_label("Run", exact=True)).to_have_value("done")  # one's own run before it
    rows = page.locator("table.compare tbody tr")
    expect(rows).to_have_count(20)
    expect(page.locator("#compare .outcome")).to_contain_text("on 64 prompts")
    page.get_by_label("Filter by words").fill("review of the book")
    expect(rows.first).to_contain_text("book")
    shown = int(page.locator(".compare-view .bar .muted", has_text=" of 64").inner_text().split()[0])
    assert 0 < shown < 64
    page.get_by_label("Filter by words").fill("")
    page.get_by_role("button", name="Read blind").click()
    expect(page.locator("table.compare th.figure")).to_have_count(0)
    expect(page.locator("table.compare mark")).to_have_count(0)
    page.get_by_role("button", name="Reveal").click()
    box = page.locator("#ask-prompt textarea")
    page.locator("#examples .chip").nth(1).click()
    expect(box).to_have_value(fake_run.recorded("kinder-reviews", "samples")[0][1].prompt)
    page.get_by_role("button", name="Ask both").click()
    expect(page.locator("#answers tbody tr")).to_have_count(3)
    expect(page.locator("#answers")).to_contain_text("wonderful and number 2")
    page.locator("#ask-prompt textarea").fill("unanswerable")
    page.get_by_role("button", name="Ask both").click()
    expect(page.locator("#answers")).to_contain_text("longer than the model's context")
    go(page, "compare", run="_recorded")
    expect(page.locator("#examples")).to_contain_text("This recording comes without its weights")
    expect(box).to_be_hidden()  # there is nobody to ask


def test_a_run_started_on_the_page_is_live_in_another_window_changed_and_stopped(site, page, make_page):
    """From the form to the stop, as a person goes, with a second browser that looks on."""
    site.let_runs_reach(2)
    open_settings(page)
    page.get_by_role("button", name="Name, seed and text (YAML)").click()
    page.get_by_label("Run name").fill("Third try")
    expect(page.locator("#start")).to_have_text("Start training")
    page.locator("#start").click()
    wait_for_update(page, 2)
    expect(page).to_have_title("2/40 Third try")
    expect(page.locator("#run-title")).to_have_text("Third try")
    expect(page.locator("#start")).to_have_text("Add to the queue")
    expect(page.locator(SCORE)).to_have_attribute("aria-label", re.compile("now"))
    other = visit(make_page(390, 844), site)  # as on a phone, with the plain address
    wait_for_update(other, 2)
    change(page, "kl.coef", "0.6")
    expect(said(page, "kl.coef")).to_have_text("Set after update 2.")
    other.get_by_role("button", name="Set up a run").click()
    expect(other.locator("#knob-kl-coef")).to_have_value("0.6")
    expect(said(other, "kl.coef")).to_have_text("Set after update 2. Next run: 0.25.")
    change(other, "kl.coef", "0.1")
    expect(page.locator("#knob-kl-coef")).to_have_value("0.1")
    page.get_by_role("button", name="Stop", exact=True).click()
    for window in (page, other):
        expect(window.locator(".status .state strong")).to_have_text("stopped")
    expect(page.locator(".steer")).to_be_hidden()
    expect(page.locator("#field-kl-coef .knob-badge.now")).to_have_count(0)


def change(page, field, value):
    box = page.locator(f"#knob-{field.replace('.', '-')}")
    box.fill(value)
    box.press("Enter")


def said(page, field):
    """What stands below a live setting of the form."""
    return page.locator(f"#field-{field.replace('.', '-')} .knob-line")


def test_runs_are_sorted_filtered_named_and_deleted(site, page):
    base = catalog.preset("kinder-reviews")
    for name, beta, age in (("tight", 1.0, 30.0), ("loose", 0.0, 20.0), ("middle", 0.5, 10.0)):
        config = base.model_copy(update={"kl": base.kl.model_copy(update={"coef": beta}), "seed": 88})
        fake_run.write_run(site.outputs, name, config, age_seconds=age)
    go(page, "runs")
    page.get_by_label("Filter runs by words").fill("seed 88 leash")
    rows = page.locator("table.runs tbody tr")
    beta = rows.locator("td[data-label='Leash (beta)']")
    expect(beta).to_have_text(["0.5", "0", "1"])
    expect(rows.nth(1)).to_contain_text("Kinder reviews, changed: leash 0")
    head = page.get_by_role("columnheader", name="Leash (beta)")
    head.locator(".sort").click()
    expect(beta).to_have_text(["0", "0.5", "1"])
    expect(head).to_have_attribute("aria-sort", "ascending")
    counts = page.locator("table.runs td.counts[data-label='is kind']")
    expect(counts).to_have_text([re.compile(r"\d+ \u2192 \d+of 64 \(up\)\d+ to \d+ %")] * 3)
    more(rows.first, "Rename").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Gone wild")
    dialog.get_by_label("Note").fill("<b>watch</b> the English")
    dialog.get_by_label("Note").press("Enter")
    expect(rows.first.locator(".run-name")).to_have_text("Gone wild")
    expect(rows.first.locator(".run-note")).to_have_text("<b>watch</b> the English")
    page.get_by_label("Filter runs by words").fill("")
    go(page, "train", run="loose")
    expect(page).to_have_title("\u2713 Gone wild")
    go(page, "runs")
    assert RunDirectory(site.outputs / "loose").label().name == "Gone wild"
    delete_after_confirmation(page, site, page.locator("table.runs tr", has_text="leash 0.5"))


def more(row, name):
    """What can be done with a run, from the menu of its row."""
    row.get_by_role("button", name="More").click()
    return row.get_by_role("menuitem", name=name)


def delete_after_confirmation(page, site, row):
    """A run goes into the bin; its settings can be used first."""
    more(row, "Delete").click()
    page.get_by_role("button", name="Keep it").click()
    assert (site.outputs / "middle").exists()
    more(row, "Put its settings into the form").click()
    expect(page.locator("#knob-kl-coef")).to_have_value("0.5")
    page.get_by_role("link", name="Runs").click()
    more(row, "Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(row).to_have_count(0)
    assert not (site.outputs / "middle").exists()
    assert list((site.outputs / history.BIN).glob("middle-*"))


def test_curves_of_two_runs_are_overlaid_and_the_address_keeps_them(site, page):
    base = catalog.preset("kinder-reviews")
    for name, seed in (("left", 501), ("right", 502)):
        fake_run.write_run(site.outputs, name, base.model_copy(update={"seed": seed}))
    go(page, "runs")
    button = page.get_by_role("button", name="Overlay curves")
    expect(button).to_be_disabled()
    for seed in (501, 502):
        page.locator("table.runs tr", has_text=f"seed {seed}").get_by_role("checkbox").check()
    button.click()
    expect(page.locator(".legend li")).to_contain_text(["seed 501", "seed 502"])
    assert "overlay=left,right" in page.url
    page.reload()
    expect(page.locator(".overlay .stage")).to_have_count(7)
    expect(page.locator('[data-chart="overlay-frontier"] .stage')).to_have_attribute(
        "aria-label", re.compile(r"Score on the fixed prompts, in sd: A \+[\d.]+, B \+[\d.]+$")
    )
    expect(page.locator(".overlay-methods tbody tr", has_text="Method")).to_have_text(re.compile("PPO.*PPO"))
    stage = page.locator('[data-chart="overlay-score"] .stage')
    expect(stage).to_have_attribute("aria-label", re.compile("A, Kinder reviews: .* now .*; B, Kinder reviews"))
    stage.scroll_into_view_if_needed()  # it is drawn when it is seen
    expect(stage.locator(".line-name")).to_have_text([re.compile("A$"), re.compile("B$")])
    expect(page.locator(".overlay-settings tbody tr")).to_have_text(re.compile("Seed.*501.*502"))
    expect(page.locator("table.runs .tick input:checked")).to_have_count(2)
    page.get_by_role("button", name="Compare their texts").click()
    expect(page.locator("#compare .outcome")).to_contain_text("against the other run on 64 prompts")
    assert "run=right" in page.url
    assert "with=left" in page.url
    heads = page.locator("table.compare thead th")
    expect(heads).to_contain_text(
        ["Prompt", "Kinder reviews (the other)", "Kinder reviews", "Score", "Distance (KL)", "Tokens"]
    )
    expect(page.locator("table.compare tbody tr")).to_have_count(20)
    page.get_by_label("Against", exact=True).select_option("")
    expect(heads.nth(1)).to_have_text("Before")
    assert "with=" not in page.url
    go(page, "runs", overlay=["left", "right"])
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".overlay")).to_be_hidden()
