"""The form of the Train page in a browser: presets, mistakes; on a phone a link, a check before a start, an upload."""

import re

from playwright.sync_api import expect

from playground.runs import history, launcher, trial
from playground.setup import catalog
from tests.ui.conftest import choose_preset, open_settings, visit
from tests.ui.test_browser import fill


def test_a_preset_is_chosen_changed_and_mended(page):
    notes, story, button = page.locator("#notes"), page.locator("#story"), page.locator("#start")
    choose_preset(page, "yes-man")
    fill(page, "kl.coef", "0.4")
    expect(notes).to_contain_text("1 setting differs from the preset")
    expect(notes).to_contain_text("0.05 → 0.4")
    taught = catalog.preset("yes-man").about.story
    # what is expected no longer holds
    expect(story).to_have_text(f"Model: pocket-2m. Method: PPO.Paid: {taught}Changed: leash 0.4.")
    page.locator("#field-kl-coef .back").click()
    expect(page.locator("#knob-kl-coef")).to_have_value("0.05")
    open_settings(page)
    expect(story.locator(".measured")).to_contain_text("seeds")
    fill(page, "kl.coef", "plenty")
    fill(page, "ppo.num_updates", "0")
    page.get_by_role("button", name="More training settings").click()
    fill(page, "ppo.minibatch_size", "20")
    expect(button).to_have_text("Fix 2 settings to start")
    for field, words in (("kl-coef", "'plenty'"), ("ppo-num_updates", "at least 1")):
        expect(page.locator(f"#field-{field} .field-problem")).to_contain_text(words)
    button.click()
    expect(page.locator("#knob-ppo-minibatch_size")).to_have_value("20")  # nothing is lost
    fill(page, "kl.coef", "0")
    fill(page, "ppo.num_updates", "12")
    expect(page.locator("#field-ppo-minibatch_size .field-problem")).to_contain_text("divide")
    fill(page, "ppo.minibatch_size", "16")
    expect(button).to_have_text("Start training")
    choose_preset(page, "kinder-reviews")


def test_on_a_phone_a_link_is_opened_a_run_checked_before_its_start_and_a_file_uploaded(site, make_page, tmp_path):
    page = visit(make_page(390, 844, forgive=["404"]), site, "?preset=no-leash&set=seed:3,kl.coef:0.5&run=nobody")
    expect(page.locator(".status .line")).to_contain_text("nobody")
    drawer = page.get_by_role("button", name="Set up a run")
    drawer.click()
    expect(page.locator("#notes")).to_contain_text("2 changes from a link")
    expect(page.locator("#knob-kl-coef")).to_have_value("0.5")
    open_settings(page)
    page.get_by_role("button", name="Check it before you start").press("Enter")
    panel = page.locator(".tryout")
    expect(page.locator("#start")).to_be_hidden()
    expect(panel.locator(".tryout-part[data-state='done']")).to_have_count(4)
    expect(panel.locator(".prompts .seen .special").first).to_have_text("<|im_start|>")
    expect(panel.locator(".answers tbody tr")).to_have_count(8)
    expect(panel.locator(".update .tryout-facts")).to_contain_text("for 40 updates")
    expect(page.locator("button.needs")).to_contain_text("(measured)")
    assert history.list_runs(site.outputs) == []
    assert not (site.outputs / launcher.TRIAL).exists()
    assert len(trial.timed(site.outputs)) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    panel.get_by_role("button", name="Close the check").click()
    expect(panel).to_be_hidden()
    drawer.click()
    note, chooser = page.locator(".prompts-note"), page.locator("#prompts-part input[type=file]")
    source = page.locator("#field-prompts-source-menu")
    huge, films = (tmp_path / f"{name}.csv" for name in ("huge", "films"))
    with open(huge, "wb") as file:
        file.truncate(1_000_000_000)
    sent = []
    page.on("request", lambda request: sent.append(request.url) if "/upload" in request.url else None)
    chooser.set_input_files(str(huge))
    expect(note).to_contain_text("huge.csv has 1,000 MB and at most 20 MB can be uploaded.")
    chooser.set_input_files({"name": "films.pdf", "mimeType": "application/pdf", "buffer": b"%PDF"})
    expect(note).to_contain_text("films.pdf must end in one of .txt, .csv")
    expect(note).to_contain_text("The prompts are still those of \u201cReviews\u201d.")
    assert sent == []
    films.write_text("id,prompt\n1,The film was\n2,My sister says\n")
    chooser.set_input_files(str(films))
    expect(note.locator("code").first).to_have_text("prompt")
    expect(source).to_have_value(re.compile(r"films\.csv$"))
    expect(page.locator("#field-prompts-column-menu")).to_have_value("prompt")
    expect(page.locator("#notes")).to_contain_text("Reviews \u2192 films.csv")
    (kept,) = (site.outputs / "uploads").iterdir()
    assert kept.read_bytes() == films.read_bytes()
