"""A run from within, in a browser, by keyboard: a point of any curve opens the texts of its update, an answer token by
token, one update in slow motion, asked what if; and what was possible at its distance."""

import re

import pytest
from playwright.sync_api import expect

from playground.runs.folder.directory import RunDirectory
from tests.ui import fake_run
from tests.ui.conftest import go, open_section
from tests.ui.fake_trace import CLIPPED, write_trace
from tests.ui.test_browser_keyboard import assert_seen, serious_faults, tab_to

WINDOW = "dialog.rollout[open]"


@pytest.fixture(scope="module")
def runs(site):
    """Two runs that kept texts of their updates, the first also answers token by token; one from before that; and one
    with a trace."""
    for seed, name in enumerate(("kept", "other", "before"), start=701):
        config = fake_run.settings("Kinder reviews").model_copy(update={"seed": seed})
        run = fake_run.write_run(site.outputs, name, config)
    run.rollouts_path.unlink()
    fake_run.write_tokens(RunDirectory(site.outputs / "kept"))
    write_trace(fake_run.write_run(site.outputs, "traced"), 12, samples_per_prompt=2)
    return site


def stage_of(page, chart="score"):
    """Where a curve is drawn, and can be pointed at."""
    stage = page.locator(f'[data-chart="{chart}"] .stage')
    stage.scroll_into_view_if_needed()
    expect(stage).to_have_attribute("data-drawn", "yes")
    return stage


def open_last(page):
    """Open the last update of the run in view, by keyboard. (A point that was read before is read still.)"""
    stage_of(page).focus()
    page.keyboard.press("End")
    page.keyboard.press("Enter")


def point_at(page, stage, share):
    """Move the mouse over a curve; returns the update whose point is read there."""
    box = stage.bounding_box()
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    return int(stage.get_attribute("aria-valuenow"))


def press_mouse(page):
    page.mouse.down()
    page.mouse.up()


def title(page, update, name="Kinder reviews"):
    expect(page.locator(WINDOW)).to_have_accessible_name(f"Update {update} of {name}")


def kept_of(site, update, run="kept"):
    """What was kept of the texts of an update."""
    return next(record for record in RunDirectory(site.outputs / run).rollouts() if record.update == update)


def close(page):
    page.keyboard.press("Escape")
    expect(page.locator(WINDOW)).to_have_count(0)


def test_from_a_curve_to_its_highest_scores_and_to_other_updates_by_keyboard_alone(runs, page):
    press = page.keyboard.press
    go(page, "train", run="kept")
    stage = stage_of(page)
    stage.focus()
    press("End")
    press("PageDown")
    expect(stage).to_have_attribute("aria-valuetext", re.compile(r"^update 30: [\d.]+ sd$"))
    expect(page.locator('[data-chart="kl"] .cross')).to_have_css("visibility", "visible")  # the others follow
    press("Enter")
    window = page.locator(WINDOW)
    title(page, 30)
    expect(window.locator("h2")).to_be_focused()
    kept = kept_of(runs, 30)
    top, answers = kept.texts[0], sum(kept.histogram.counts)
    mean = RunDirectory(runs.outputs / "kept").metrics()[29].score_mean
    expect(window.locator(".rollout-told")).to_contain_text(re.compile(rf"^{answers} answers, .* mean \{mean:+.2f}\.$"))
    bars, texts = window.locator(".rollout-bar"), window.locator(".rollout-texts li")
    expect(bars).to_have_count(sum(count > 0 for count in kept.histogram.counts))
    expect(texts).to_have_count(len(kept.texts))
    stops = tab_to(page, bars.last)  # one stop for all bars, at the top one
    press("Home")
    expect(bars.first).to_be_focused()
    press("ArrowRight")
    expect(bars.nth(1)).to_be_focused()
    press("End")
    press("Enter")
    expect(bars.last).to_have_attribute("aria-pressed", "true")
    in_top = [text for text in kept.texts if text.bin == top.bin]
    expect(texts).to_have_count(len(in_top))
    expect(texts.first).to_contain_text(top.completion.strip())
    expect(texts.first).to_contain_text(f"score +{top.score:.2f} sd")
    expect(texts.first.locator(".tag")).to_have_text("best")
    expect(window.locator(".rollout-foot [role=status]")).to_contain_text("in this bin (+")
    press("n")  # the top bin stays chosen
    title(page, 31)
    expect(texts.first).to_contain_text(kept_of(runs, 31).texts[0].completion.strip())
    expect(bars.last).to_have_attribute("aria-pressed", "true")
    stops += tab_to(page, window.get_by_role("button", name="All bins"))
    press("Enter")
    expect(texts).to_have_count(len(kept_of(runs, 31).texts))
    press("ArrowLeft")
    title(page, 30)
    stops += tab_to(page, window.get_by_role("searchbox"))
    wanted = kept.texts[1].completion.split()[-1]
    page.keyboard.type(wanted.upper())
    with_it = [text for text in kept.texts if wanted.lower() in f"{text.prompt} {text.completion}".lower()]
    expect(texts).to_have_count(len(with_it))
    press("ControlOrMeta+A")
    press("Delete")
    stops += tab_to(page, window.get_by_role("region", name="Texts of this update"))
    assert_seen(stops)
    close(page)
    expect(stage).to_be_focused()
    press("ArrowRight")  # from where one was
    expect(stage).to_have_attribute("aria-valuenow", "31")


def test_what_was_possible_is_measured_when_asked_for(site, page):
    fake_run.write_run(site.outputs, "measured", fake_run.settings("measured"))
    go(page, "train", run="measured")
    part = open_section(page, "frontier").locator("section.frontier")
    part.scroll_into_view_if_needed()
    stage, measure = part.locator('[data-chart="frontier"] .stage'), part.get_by_role("button", name="Measure it")
    expect(stage).to_have_attribute("aria-label", re.compile(r"in sd: this run \+[\d.]+, slope of leash"))
    measure.click()
    expect(part.locator(".frontier-told")).to_have_text(re.compile(r"^At [\d.]+ nats the run scores .* possible there"))
    expect(stage).to_have_attribute("aria-label", re.compile(r"this run .*possible \+[\d.]+, best of n \+"))
    expect(measure).to_be_hidden()
    part.get_by_text("Numbers").click()
    rows = part.locator("tbody tr")
    expect(rows.first).to_contain_text("before training")
    for words in ("best of 16", "best policy at beta 0.25"):
        expect(rows.filter(has_text=words).first).to_be_visible()


def test_an_answer_opens_as_tokens_with_their_figures_and_over_the_looks_of_the_run_by_keyboard(runs, page):
    go(page, "train", run="kept")
    expect(page.locator(".status .state strong")).to_have_text("finished")  # the recording has gone
    row = open_section(page, "texts").locator("table.pairs tbody tr").nth(1)
    button = row.get_by_role("button", name="Tokens, after update 40")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Tokens, after update 40")
    tokens = dialog.get_by_role("listbox", name="Tokens of this answer").get_by_role("option")
    kept = RunDirectory(runs.outputs / "kept").token_figures(1)[-1]
    expect(tokens).to_have_count(len(kept.pieces))
    expect(tokens.first).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(tokens.nth(1)).to_be_focused()
    expect(tokens.nth(1)).to_have_attribute("aria-selected", "true")
    expect(tokens.nth(1)).to_have_class("token below")  # made up as less likely than before
    assert "KL of the token: \u2212" in tokens.nth(1).get_attribute("title")
    expect(dialog.get_by_role("heading", name="Token 2:")).to_be_visible()
    rows = dialog.locator(".token-chosen tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("likely0.100.30+0.20")
    expect(rows.last).to_contain_text("<i>rare</i>0.200.05")
    expect(rows.nth(1)).to_contain_text("drawn")
    total = f"{sum(kept.kl):.3g}"
    expect(dialog).to_contain_text(f"{len(kept.pieces)} tokens add up to a KL of {total} nats")
    expect(row).to_contain_text(total)
    dialog.get_by_label("Colour by").select_option(label="Value")
    expect(dialog.locator(".token-legend")).to_contain_text("\u22120.30+0.30 sd")
    dialog.get_by_role("button", name="As a table").click()
    table = dialog.get_by_role("region", name="All figures of all tokens")
    expect(table.get_by_role("columnheader")).to_have_count(9)
    expect(table.locator("tbody tr").first).to_contain_text("+0.30")
    dialog.get_by_role("button", name="As text").click()
    assert serious_faults(page) == []
    dialog.get_by_label("Evaluation of the run").fill("0")
    expect(dialog.locator(".at")).to_have_text("before training")
    page.set_viewport_size({"width": 390, "height": 800})
    wide = (
        "[document.documentElement, document.querySelector('dialog')].map((box) => box.scrollWidth > box.clientWidth)"
    )
    assert page.evaluate(wide) == [False, False]
    page.set_viewport_size({"width": 1440, "height": 600})
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


def test_an_update_is_walked_through_by_keyboard_and_asked_what_if(runs, page):
    press = page.keyboard.press
    go(page, "train", run="traced")
    panel = page.locator(".slow-motion")
    words, formula = panel.locator("[aria-live] .slow-words"), panel.locator("[aria-live] .slow-formula")
    tokens = panel.locator(".token-row .token")
    name = page.locator("[data-section=update]")
    expect(name).to_have_attribute("aria-expanded", "false")
    expect(panel).to_be_hidden()
    name.focus()
    press("Enter")
    expect(panel.locator(".chart-bar").first).to_contain_text("recorded: update 12")
    expect(tokens).to_have_count(6)
    expect(panel.locator(".slow-prompt").first).to_have_text("<bos>Review: <i>film</i>")  # text, never markup
    expect(tokens.nth(3)).to_contain_text("·<b>lovely</b>")
    assert panel.locator("b, i").count() == 0
    stops = tab_to(page, panel.get_by_role("button", name="Next"))
    for title in ("1 Write", "2 Score", "3 Leash", "4 Value", "5 Advantage", "6 Clip", "7 Step"):
        expect(panel.locator("[aria-current=step]")).to_have_text(title)
        expect(panel.locator(".slow-code code").first).not_to_be_empty()
        expect(panel.locator(".slow-minimal summary")).to_contain_text("of examples/minimal_rlhf.py")
        press("Enter")
    expect(panel.get_by_role("button", name="Next")).to_have_attribute("aria-disabled", "true")
    panel.get_by_role("button", name="6 Clip").focus()
    press("Enter")
    expect(panel.locator(".clip-words")).to_contain_text(f"{CLIPPED} of 10 tokens have no gradient")
    expect(panel.locator(".clip-words")).to_contain_text("40 %. Over all 2 steps of this update it is 20 %")
    expect(panel.locator(".clip-counts tbody tr").first).to_contain_text("132 (no gradient)")
    expect(tokens.nth(2)).to_have_attribute("aria-pressed", "true")  # the first that is clipped
    expect(formula).to_contain_text("−min(1.50 · 0.83, 1.20 · 0.83) = −min(1.24, 0.99) = −0.99")
    stops += tab_to(page, tokens.nth(2))
    press("End")
    expect(tokens.nth(5)).to_be_focused()
    press("ArrowLeft")
    expect(tokens.nth(4)).to_have_attribute("aria-pressed", "true")
    expect(words).to_contain_text("as likely as when it was written")
    stops += tab_to(page, panel.get_by_role("slider", name="Epoch of the picture"))
    press("Home")
    expect(panel.locator(".clip-words")).to_contain_text("0 of 10 tokens have no gradient")
    stops += tab_to(page, panel.locator(".what-if summary"))
    press("Enter")
    stops += tab_to(page, panel.locator("#what-if-kl_coef"))
    press("ControlOrMeta+A")
    page.keyboard.type("2")
    press("Enter")
    expect(panel.locator(".what-if-mark")).to_have_text("What if: Leash (beta) 0.25 → 2")
    panel.get_by_role("button", name="3 Leash").focus()
    press("Enter")
    expect(formula).to_contain_text("−2 · 0.30 = −0.60")
    assert serious_faults(page) == []
    panel.get_by_role("button", name="Back to what was recorded").focus()
    press("Enter")
    expect(panel.locator(".what-if-mark")).to_be_hidden()
    expect(formula).to_contain_text("−0.25 · 0.30 = −0.075")
    stops += compare_formulas(page, panel)
    assert_seen(stops)
    panel.get_by_label("Episode").select_option(label="2: the lowest score (−1)")
    expect(tokens).to_have_count(4)


def compare_formulas(page, panel):
    """The two texts of the prompt, scored 2 and -1, under each formula, by keyboard; the stops of the Tab key."""
    rows, box = panel.locator(".formula-row"), panel.locator(".formula-box")
    names = ["REINFORCE", "PPO (this run)", "GRPO", "Dr. GRPO", "DAPO", "GSPO"]
    assert rows.locator(".formula-name").all_inner_texts() == names
    expect(panel.locator(".formulas .slow-words").first).to_contain_text("mean score +0.50 sd, spread (sd) 1.50 sd")
    stops = tab_to(page, rows.nth(3).locator("button"))
    page.keyboard.press("Enter")
    group = panel.locator(".formula-group tbody tr")
    for place, advantage in enumerate(("+1.50", "−1.50")):  # 2 and -1, less their mean
        expect(group.nth(place).locator(".figure").nth(1)).to_have_text(advantage)
    expect(box.locator(".slow-formula p").last).to_have_text("push = 0.016 · 1.05 · 1.50 = +0.025")  # 1 / (2 * 32)
    stops += tab_to(page, rows.nth(4).locator("[role=option]").first)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(rows.nth(1).locator("[role=option]").nth(2)).to_have_attribute("aria-selected", "true")
    for row, cut in (("PPO", True), ("REINFORCE", False), ("GSPO", False)):  # a ratio of 1.5; of the text it is 1.01
        of_row = rows.filter(has_text=re.compile(rf"^{row}")).locator("[role=option]").nth(2)
        assert ("stopped by the clip" in of_row.get_attribute("aria-label")) == cut
    stops += tab_to(page, box.locator("[data-symbol=clip]").first)
    expect(box.locator("tr.now")).to_contain_text("0.20 below, 0.28 above")
    expect(box.locator("tr.now")).to_contain_text("no push")
    return stops
