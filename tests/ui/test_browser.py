"""The page in a real browser, with a fake worker: what a person does and sees."""

import re

import pytest
from PIL import Image

from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.ui import fake_run
from tests.ui.conftest import choose_preset, go, open_section, open_settings, visit

pytest.importorskip("playwright.sync_api")
from playwright.sync_api import expect

SCORE = '[data-chart="score"] .stage'
SECTIONS = ("curves", "health", "texts", "frontier", "update", "export")


def fill(page, field, value):
    """Type into a knob and leave it, as a person does, who opens all settings for most of them."""
    if field != "kl.coef":
        open_settings(page)
    box = page.locator(f"#knob-{field.replace('.', '-')}")
    box.fill(value)
    box.press("Tab")


def start(page):
    """Start a run that is long enough to look at for as long as a busy machine needs."""
    fill(page, "ppo.num_updates", "1000")
    expect(page.locator("#notes")).to_contain_text("→ 1000")
    expect(page.locator("#start")).to_have_text("Start training")
    page.locator("#start").click()
    expect(page.locator(".state strong")).to_have_text(re.compile("starting|running"))


def updates_done(page):
    found = re.search(r"update (\d+) of", page.locator(".state .where").inner_text())
    return int(found.group(1)) if found else -1


def wait_for_update(page, at_least):
    page.wait_for_function(
        "n => Number(document.querySelector('.state .where')?.textContent.match(/update (\\d+) of/)?.[1] ?? -1) >= n",
        arg=at_least,
    )


def test_the_first_visit_plays_the_recorded_run_and_with_reduced_motion_shows_its_end(site, make_page):
    page = visit(make_page(reduced_motion="no-preference"), site)
    expect(page.locator(".state strong")).to_have_text("recorded run")
    wait_for_update(page, 3)
    first = updates_done(page)
    wait_for_update(page, first + 2)
    assert first < 40
    expect(page.locator(SCORE)).to_have_attribute("aria-label", re.compile(r"Score: .* at the start, now .* sd"))
    expect(page.locator(".texts-now tbody tr")).to_have_count(3)
    assert page.title() == "RLHF Playground"
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    expect(page.locator(".state .where")).to_contain_text("update 40 of 40")
    expect(page.get_by_label("Update to show")).to_be_visible()
    expect(page.locator(".status .line")).to_have_text(re.compile(r"^Now it is kind in \w+ of ten answers"))
    exact = open_section(page, "export").locator(".outcome-exact")
    expect(exact).to_contain_text("95 % interval")


def test_a_run_appears_live_in_every_tab_is_steered_changed_and_stopped(site, make_page):
    """From the form to the comparison, as a person goes, with a second browser that looks on."""
    page = visit(make_page(height=1000), site)
    open_settings(page)
    page.get_by_role("button", name="Name, seed and text (YAML)").click()
    page.get_by_label("Run name").fill("Third try")
    start(page)
    wait_for_update(page, 2)
    expect(page).to_have_title(re.compile(r"\d+/1000 Third try"))
    expect(page.locator("#run-title")).to_have_text("Third try")
    expect(page.locator("#start")).to_have_text("Add to the queue")
    expect(page.locator(SCORE)).to_have_attribute("aria-label", re.compile("now"))
    seen = updates_done(page)
    other = visit(make_page(390, 844), site)  # as on a phone, with the plain address
    wait_for_update(other, seen)
    change_settings(page, other)
    pause_step_and_resume(page)
    page.get_by_role("button", name="Stop", exact=True).click()
    for one in (page, other):
        expect(one.locator(".state strong")).to_have_text("stopped")
    expect(page.locator(".steer")).to_be_hidden()
    expect(page.locator("#field-kl-coef .knob-badge.now")).to_have_count(0)
    expect(page.locator(".edits li")).to_have_count(3)
    expect(page.locator("#start")).to_have_text("Start training")
    page.locator(".status").get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("#compare .outcome")).to_contain_text("95 % interval")


def change(page, field, value):
    """Set a live setting of the run in view."""
    box = page.locator(f"#knob-{field.replace('.', '-')}")
    box.fill(value)
    box.press("Enter")


def said(page, field):
    """What stands below a live setting of the form."""
    return page.locator(f"#field-{field.replace('.', '-')} .knob-line")


def change_settings(page, other):
    """Live settings are the run's: mistakes are said beside their field, changes marked in the charts for everybody."""
    page.get_by_role("button", name="More training settings").click()
    open_section(page, "curves")  # where the changes are told in words
    change(page, "kl.coef", "0.6")
    expect(said(page, "kl.coef")).to_have_text(re.compile(r"Set after update \d+"))
    change(page, "ppo.clip_range", "plenty")
    expect(said(page, "ppo.clip_range")).to_have_text("The run keeps 0.2.")
    expect(page.locator("#field-ppo-clip_range .field-problem")).to_contain_text("must be a number")
    expect(page.locator("#knob-ppo-clip_range")).to_have_value("plenty")  # nothing is lost, and nothing was sent
    change(page, "ppo.clip_range", "0.1")
    expect(said(page, "ppo.clip_range")).to_contain_text("Set after update")
    expect(page.locator(".edits li").first).to_contain_text(re.compile(r"update \d+: .*0.25 \u2192 0.6"))
    expect(page.locator(".edits li").last).to_contain_text(re.compile(r"update \d+: .*Clip range 0.2 \u2192 0.1"))
    for chart in ("score", "beta", "fit"):
        page.locator(f'[data-chart="{chart}"]').scroll_into_view_if_needed()  # small ones are drawn when they are seen
        expect(page.locator(f'[data-chart="{chart}"] .edit-mark')).to_have_count(2)
    other.get_by_role("button", name="Set up a run").click()
    expect(other.locator("#knob-kl-coef")).to_have_value("0.6")
    expect(said(other, "kl.coef")).to_have_text(re.compile(r"Set after update \d+. Next run: 0.25."))
    change(other, "kl.coef", "0.1")  # the last one counts and both see it
    expect(page.locator("#knob-kl-coef")).to_have_value("0.1")
    expect(said(page, "kl.coef")).to_contain_text("Next run: 0.6.")
    expect(page.locator(".edits li")).to_have_count(3)


def pause_step_and_resume(page):
    """Also after a reload, and with the space key."""
    page.get_by_role("button", name="Pause", exact=True).click()
    state = page.locator(".state strong")
    expect(state).to_have_text("paused")
    page.reload()
    expect(state).to_have_text("paused")
    expect(page).to_have_title(re.compile("\u2016 "))
    expect(page.locator('[data-chart="score"] .edit-mark')).to_have_count(3)
    before = updates_done(page)
    page.get_by_role("button", name="One step").click()
    wait_for_update(page, before + 1)
    expect(state).to_have_text("paused")
    expect(page.get_by_role("button", name="One step")).to_have_attribute("aria-disabled", "false")
    assert updates_done(page) == before + 1
    page.locator("h1").click()
    page.keyboard.press("Space")
    expect(state).to_have_text("running")
    wait_for_update(page, before + 3)


def test_compare_filters_sorts_and_asks(site, open_page):
    fake_run.write_run(site.outputs, "done")
    page = open_page
    go(page, "compare", run="done")
    rows = page.locator("table.compare tbody tr")
    expect(rows).to_have_count(20)
    expect(page.locator("#compare .outcome")).to_contain_text("on 64 prompts")
    page.get_by_label("Filter by words").fill("review of the book")
    expect(rows.first).to_contain_text("book")
    shown = int(page.locator(".compare-view .bar .muted", has_text=" of 64").inner_text().split()[0])
    assert 0 < shown < 64
    page.get_by_label("Filter by words").fill("")
    page.get_by_label("Sort").select_option("loss")
    expect(rows.first).not_to_contain_text("higher")
    page.get_by_role("button", name="Read blind").click()
    expect(page.locator("table.compare th.figure")).to_have_count(0)
    expect(page.locator("table.compare mark")).to_have_count(0)
    page.get_by_role("button", name="Reveal").click()
    box = page.locator("#ask-prompt textarea")
    page.locator("#examples .chip").nth(1).click()
    expect(box).to_have_value(fake_run.prompt(1))
    box.fill("The film was")
    page.get_by_role("button", name="Ask both").click()
    expect(page.locator("#answers tbody tr")).to_have_count(3)
    expect(page.locator("#answers")).to_contain_text("wonderful and number 2")
    page.locator("#ask-prompt textarea").fill("unanswerable")
    page.get_by_role("button", name="Ask both").click()
    expect(page.locator("#answers")).to_contain_text("longer than the model's context")
    go(page, "compare", run="_recorded")
    expect(page.locator("#examples")).to_contain_text("This recording comes without its weights")
    expect(box).to_be_hidden()  # there is nobody to ask


def test_runs_are_sorted_filtered_named_and_deleted(site, open_page):
    base = catalog.preset("kinder-reviews")
    for name, beta, age in (("tight", 1.0, 30.0), ("loose", 0.0, 20.0), ("middle", 0.5, 10.0)):
        config = base.model_copy(update={"kl": base.kl.model_copy(update={"coef": beta}), "seed": 88})
        fake_run.write_run(site.outputs, name, config, age_seconds=age)
    page = open_page
    go(page, "runs")
    page.get_by_label("Filter runs by words").fill("seed 88 beta")
    rows = page.locator("table.runs tbody tr")
    beta = rows.locator("td[data-label='Leash (beta)']")
    expect(beta).to_have_text(["0.5", "0", "1"])
    expect(rows.nth(1)).to_contain_text("Kinder reviews, changed: beta 0")
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
    page.get_by_label("Filter runs by words").fill("wild english")
    expect(rows).to_have_count(1)
    page.get_by_label("Filter runs by words").fill("")
    go(page, "train", run="loose")
    expect(page).to_have_title("\u2713 Gone wild")
    go(page, "runs")
    assert RunDirectory(site.outputs / "loose").label().name == "Gone wild"
    delete_after_confirmation(page, site, page.locator("table.runs tr", has_text="beta 0.5"))


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
    page.get_by_role("link", name="Train").click()
    choose_preset(page, "kinder-reviews")


HOSTILE = "<img src=x onerror=window.hacked=1>{{value}}${window.hacked=1}<script>window.hacked=1</script>"


def press_display(page, name, pressed):
    """Press a switch of the menu of the display, which closes again."""
    page.get_by_title("Colours and size of the text").click()
    switch = page.locator("#display-menu").get_by_role("button", name=name)
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", pressed)
    page.keyboard.press("Escape")
    expect(page.locator("#display-menu")).to_be_hidden()


# A busy browser is late with a paint when the next one is asked for: Bokeh never keeps its promise of the first one.
def test_nothing_scrolls_sideways_on_a_phone(site, make_page):
    fake_run.write_run(site.outputs, "wide")
    fake_run.write_run(site.outputs, "long-word").write_label("N" * 80, "n" * 300)
    page = visit(make_page(390, 844), site, "?run=wide")
    for key in SECTIONS:
        open_section(page, key)
    for place, body in (
        ({"tab": "train", "run": "wide"}, "#page-train table.pairs tbody tr"),
        ({"tab": "train", "run": "long-word"}, "#page-train table.pairs tbody tr"),
        ({"tab": "compare", "run": "wide"}, "#page-compare table.pairs tbody tr"),
        ({"tab": "rewards"}, "#bench-texts"),
        ({"tab": "rewards", "part": "train"}, ".reward-form"),
        ({"tab": "rewards", "part": "test"}, "#check-row"),
        ({"tab": "runs"}, "table.runs tbody tr"),
        ({"tab": "runs", "overlay": ["wide", "long-word"]}, ".legend li"),
    ):
        go(page, **place)
        expect(page.locator(body).locator("visible=true").first).to_be_visible()
        for pressed in ("true", "false"):
            press_display(page, "Larger text (projector)", pressed)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, (place, pressed)
    go(page, "train", run="wide")
    drawn = page.locator(".charts-small .canvas:has(*)")
    expect(page.locator(f"{SCORE} canvas").first).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    expect(drawn).to_have_count(page.locator(".charts-small .chart").locator("visible=true").count())
    assert len(set(Image.open(saved.value.path()).resize((300, 900)).convert("L").tobytes())) > 50


def test_curves_of_two_runs_are_overlaid_and_the_address_keeps_them(site, open_page):
    base = catalog.preset("kinder-reviews")
    for name, seed in (("left", 501), ("right", 502)):
        fake_run.write_run(site.outputs, name, base.model_copy(update={"seed": seed}))
    page = open_page
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
