"""More of the Train page in a browser: rewards, methods and prompts, what fits a model, what a reload and a link bring
back, the real model that is got where it is missed."""

import re
import shutil

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import choose_preset, open_settings, visit
from tests.ui.test_browser import fill

HOSTILE = "<img src=x onerror=window.hacked=1>{{value}}${window.hacked=1}<script>window.hacked=1</script>"
LEASH = "#knob-kl-coef"


def choose(page, field, value):
    """Pick or type a model or a prompt source, as a person does."""
    menu, box = page.locator(f"#field-{field}-menu"), page.locator(f"#field-{field} input")
    if menu.locator(f"option[value='{value}']").count():
        return menu.select_option(value)
    menu.select_option("Another\u2026")
    expect(box).to_be_focused()
    page.keyboard.type(value)
    page.keyboard.press("Enter")


def test_rewards_methods_and_sources_of_prompts(page):
    notes, rows = page.locator("#notes"), page.locator("#field-rewards .reward")
    open_settings(page)
    page.get_by_role("button", name="+ Add a reward").click()
    expect(rows).to_have_count(2)
    rows.nth(1).locator("select").first.select_option("keyword")
    expect(page.locator("#field-rewards .field-problem")).to_be_visible()  # words are still missing
    words = rows.nth(1).get_by_label("Words", exact=True)
    for box, value in ((words, "please, thank you"), (rows.nth(1).get_by_label("Weight"), "0.5")):
        box.fill(value)
        box.press("Tab")
    expect(notes).to_contain_text("0.5 x Keywords (words please, thank you)")
    rows.nth(1).get_by_role("button", name="Remove").click()
    expect(rows).to_have_count(1)
    method = page.locator("#field-method")
    method.get_by_text("RLOO", exact=True).click()
    for change in ("Method PPO → RLOO", "Samples per prompt 1 → 8", "Baseline value → leave_one_out"):
        expect(notes).to_contain_text(change)
    method.get_by_text("DPO", exact=True).click()
    expect(notes).to_contain_text("Samples per prompt 1 → 2")
    page.get_by_role("button", name="More training settings").click()
    unused = {name: page.locator(f"#field-{name} .field-unused") for name in ("ppo-clip_range", "dpo-labels")}
    expect(unused["ppo-clip_range"]).to_have_text("Unused by DPO.")
    expect(unused["dpo-labels"]).to_have_count(0)
    method.get_by_text("PPO", exact=True).click()
    expect(notes).to_contain_text("All settings as in the preset")
    expect(unused["ppo-clip_range"]).to_have_count(0)
    expect(unused["dpo-labels"]).to_have_text("Unused by PPO.")
    fields = {name: page.locator(f"#field-prompts-{name}") for name in ("typed", "subset", "column")}
    for source, names in (("a/b", ("subset", "column")), ("/tmp/a.csv", ("column",)), ("typed", ("typed",))):
        choose(page, "prompts-source", source)
        for name, field in fields.items():
            expect(field).to_be_visible(visible=name in names)
    expect(fields["typed"].locator(".field-problem")).to_be_visible()
    fields["typed"].locator("textarea").fill(f"{HOSTILE}\nMy sister says\n\nThe film was")
    fields["typed"].locator("textarea").blur()
    expect(page.locator("#start")).to_have_text("Start training")
    assert page.evaluate("window.hacked") is None


def test_what_fits_a_model_a_reload_and_a_copied_link(site, page):
    needs, fit, notes = page.locator("#needs"), page.locator(".needs-fit"), page.locator("#notes")
    open_settings(page)
    rate, model = page.locator("#knob-ppo-learning_rate"), page.locator("#field-model-source-menu")
    expect(needs.locator("button.needs")).to_contain_text("Fits")
    expect(fit).to_be_hidden()
    needs.locator("button.needs").click()
    dialog = page.get_by_role("dialog", name="What it needs")
    expect(dialog.locator("dt")).to_contain_text(["Policy", "Value head", "Reference", "Rollout"])
    expect(dialog.locator(".needs-size.larger").first).to_have_text(re.compile(r"^\d{2,3} GB$"))  # of seven billion
    dialog.get_by_role("button", name="Close").click()
    choose(page, "model-source", "TinyLlama/TinyLlama-1.1B-Chat-v1.0")
    expect(notes).to_contain_text("HF_HUB_OFFLINE")
    expect(needs).not_to_contain_text("Fits")  # a model that cannot be had
    fill(page, "ppo.learning_rate", "0.05")
    choose(page, "model-source", "pocket-3m")
    expect(notes).to_contain_text("Did you mean pocket-")
    choose(page, "model-source", "pocket-1m")
    expect(fit).to_contain_text("1 setting does not suit pocket-1m")
    fit.get_by_role("button", name="Use what fits this model").click()
    expect(rate).to_have_value("2e-4")
    expect(notes).to_contain_text("1 setting differs from the preset")
    page.get_by_role("button", name="More training settings").click()
    expect(page.locator("#knob-ppo-minibatch_size")).to_have_value("16")  # in a group that is opened for the first time
    fit.get_by_role("button", name="Undo").press("Enter")
    expect(rate).to_have_value("0.05")
    expect(notes).to_contain_text("2 settings differ from the preset")
    page.reload()
    expect(notes).to_contain_text("Your 2 changes came back")
    expect(model).to_have_value("pocket-1m")
    notes.get_by_role("button", name="Undo").press("Enter")
    expect(notes).to_contain_text("All settings as in the preset.")
    expect(rate).to_have_value("2e-4")
    fill(page, "kl.coef", "0.5")
    expect(notes).to_contain_text("1 setting differs")
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    notes.get_by_role("button", name="Copy link to these settings").click()
    expect(notes).to_contain_text("Link copied.")
    assert page.evaluate("window.copied") == f"{site.url}?preset=kinder-reviews&set=kl.coef:0.5,seed:0"


@pytest.fixture
def models(site):
    """The folder of models that are got: empty, and gone afterwards."""
    site.models.mkdir()
    yield site.models
    shutil.rmtree(site.models)


def test_without_a_recording_none_of_another_is_shown_and_the_real_model_is_got_where_it_is_missed(
    site, make_page, models
):
    page = visit(make_page(), site, "?preset=real-yes-man")
    title, line, state = (page.locator(f".status {part}") for part in ("h1", ".line", ".state strong"))
    part, beside, start = page.locator("#real-model-start"), page.locator("#real-model-list"), page.locator("#start")
    missing = "There is no recording of this experiment yet."
    expect(title).to_have_text("Yes-man, real")
    expect(line).to_have_text(f"{missing} Get SmolLM2 135M, then press Start. Its curves and texts appear here.")
    expect(page.locator(".run-view")).to_have_attribute("data-run", "")
    choose_preset(page, "kinder-reviews")
    expect(title).to_have_text("Kinder reviews")
    expect(line).not_to_contain_text("no recording")
    expect(part.get_by_role("button")).to_have_count(0)
    choose_preset(page, "real-short-answers")
    expect(title).to_have_text("Short answers")
    expect(state).to_have_count(0)
    expect(line).to_contain_text(f"{missing} Get SmolLM2 135M")
    expect(part).to_contain_text("Needs SmolLM2 135M: 92 MB")
    expect(start).to_be_hidden()
    expect(page.locator("#needs .needs-short")).to_have_count(0)  # of a model that is not here nothing is claimed
    expect(page.locator(".problems")).to_have_count(0)
    part.get_by_role("button", name="Get SmolLM2 135M").click()
    bar = part.get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", "23")
    expect(bar).to_have_attribute("aria-valuemax", "92")
    part.get_by_role("button", name="Stop").click()
    expect(part).to_contain_text("Stopped; nothing was kept.")
    choose_preset(page, "yes-man")
    expect(line).to_contain_text(f"{missing} Press Start.")
    open_settings(page)
    expect(beside).to_contain_text("dequantised from 4 bits")
    expect(beside).to_contain_text("92 MB to download, 269 MB on disk, licence Apache-2.0.")
    beside.get_by_role("button", name="Get SmolLM2 135M").click()
    expect(beside.get_by_role("button", name="Stop")).to_be_visible()
    (models / "go-on").touch()
    expect(beside).to_contain_text("SmolLM2 135M is here, and chosen.")
    expect(page.get_by_role("button", name="Use what fits this model")).to_be_visible()
    expect(page.locator("#needs")).to_contain_text("settings do not suit SmolLM2 135M Instruct")
    beside.get_by_role("button", name="Its first experiment").click()
    expect(page.locator("#preset select")).to_have_value("real-short-answers")
    expect(start).to_have_text("Start training")
    expect(start).to_be_visible()
    expect(part.get_by_role("button")).to_have_count(0)
