"""The prompts on the Train page in a browser: typed, uploaded, too large, and looked at before a run."""

from __future__ import annotations

import re

import pytest

from tests.ui.conftest import visit
from tests.ui.test_browser import HOSTILE

expect = pytest.importorskip("playwright.sync_api").expect


def choose(page, source):
    """Pick or type a prompt source, as a person does."""
    box = page.locator("#field-prompts-source input")
    box.fill(source)
    box.press("Enter")


def test_the_form_shows_the_fields_of_the_chosen_kind_of_source(site, make_page):
    page = visit(make_page(), site)
    fields = {name: page.locator(f"#field-prompts-{name}") for name in ("typed", "subset", "split", "column")}

    def expect_only(*names):
        for name, field in fields.items():
            expect(field).to_be_visible(visible=name in names)

    for source, names in (
        ("Anthropic/hh-rlhf", ("subset", "split", "column")),
        ("/tmp/a.csv", ("column",)),
        ("typed", ("typed",)),
    ):
        choose(page, source)
        expect_only(*names)
    expect(page.locator("#start")).to_have_text("Fix 1 setting to start")
    expect(fields["typed"].locator(".field-problem")).to_contain_text("Type at least two different prompts")
    for ships in ("general/claims", "pocket/claims"):
        choose(page, ships)
        expect_only()
    expect(page.locator("#start")).to_have_text("Start training")


def test_a_look_at_typed_prompts_shows_them_as_text(site, make_page):
    page = visit(make_page(), site)
    expect(page.locator(".prompts-preview")).to_be_hidden()
    choose(page, "typed")
    page.get_by_role("button", name="Look at the prompts").click()
    expect(page.locator(".prompts-preview .problem")).to_contain_text("Type at least two different prompts")
    page.locator("#field-prompts-typed textarea").fill(f"{HOSTILE}\nMy sister says\n\nThe film was")
    page.locator("#field-prompts-typed textarea").blur()
    expect(page.locator("#start")).to_have_text("Start training")
    page.get_by_role("button", name="Look at the prompts").click()
    panel = page.locator(".prompts-preview")
    expect(panel.locator("tbody tr")).to_have_count(3)
    expect(panel.locator("tbody tr").first).to_contain_text("{{value}}${window.hacked=1}")
    expect(panel).to_contain_text("3 prompts to train on; too few to hold some out")
    expect(panel.locator(".reasons summary")).to_have_text("2 too long: more than 96 tokens")
    expect(panel.locator(".seen .special")).to_have_text(["<|im_start|>"] * 3)
    assert page.evaluate("window.hacked") is None
    panel.get_by_role("button", name="Close").click()
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Look at the prompts").click()
    expect(panel.locator("tbody tr")).to_have_count(3)


def test_an_upload_fills_source_and_column_and_a_huge_one_is_never_sent(site, make_page, tmp_path):
    page = visit(make_page(390, 844), site)
    page.get_by_role("button", name="Set up a run").click()
    note, chooser = page.locator(".prompts-note"), page.locator("#prompts-part input[type=file]")
    huge = tmp_path / "huge.csv"
    with open(huge, "wb") as file:
        file.truncate(1_000_000_000)
    sent = []
    page.on("request", lambda request: sent.append(request.url) if "/upload" in request.url else None)
    chooser.set_input_files(str(huge))
    expect(note).to_contain_text("huge.csv has 1,000 MB and at most 20 MB can be uploaded.")
    assert sent == []
    wrong = tmp_path / "wrong.csv"
    wrong.write_bytes("prompt\ncaf\u00e9\n".encode("latin-1"))
    chooser.set_input_files(str(wrong))
    expect(note).to_contain_text("wrong.csv is not UTF-8 text: line 2 has the byte 0xe9. Save it as UTF-8.")
    expect(page.locator("#field-prompts-source input")).to_have_value("Reviews")
    films = tmp_path / "films.csv"
    films.write_text("id,prompt\n1,The film was\n2,My sister says\n")
    chooser.set_input_files(str(films))
    expect(note).to_have_text("films.csv: 2 rows separated by commas; the prompts are read from the column prompt.")
    expect(note.locator("code")).to_have_text("prompt")
    expect(page.locator("#field-prompts-source input")).to_have_value(re.compile(r"films\.csv$"))
    expect(page.locator("#field-prompts-column input")).to_have_value("prompt")
    expect(page.locator("#notes")).to_contain_text("Reviews \u2192 films.csv")
    (kept,) = (site.outputs / "uploads").iterdir()
    assert kept.read_bytes() == films.read_bytes()
    page.get_by_role("button", name="Look at the prompts").click()
    expect(page.locator(".prompts-preview tbody tr")).to_have_count(1)
    expect(page.locator("#start")).to_be_hidden()  # the drawer makes room for the panel


@pytest.mark.thorough
def test_a_file_above_the_limit_is_refused_by_the_server_too(site, make_page):
    page = visit(make_page(forgive=["413"]), site)
    status = page.evaluate(
        """async (bytes) => {
            const form = new FormData();
            form.append("files", new Blob([new Uint8Array(bytes)]), "big.csv");
            return (await fetch("gradio_api/upload", { method: "POST", body: form })).status;
        }""",
        20_000_001,
    )
    assert status == 413
