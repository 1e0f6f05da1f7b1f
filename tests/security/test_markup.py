"""Text of models, data and users never becomes markup: in a real browser, in exported cards, in a terminal."""

import re

import pytest
from playwright.sync_api import expect

from playground.analysis.run_figures import ListedRun
from playground.analysis.run_report import RunReport
from playground.cli import printing, terminal
from playground.exports import card
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from tests.nights import cases
from tests.security import payloads, table
from tests.security.payloads import PAYLOADS, SHORT
from tests.support import wait_until
from tests.ui.conftest import browser, make_page, recorded, serving  # noqa: F401

MARKUP = re.compile(r"<(?!/?(?:br|p)\b)[a-z/!]", re.IGNORECASE)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
VISITS = table("visits")  # by day one page, at night all
CLOSED = "button.section-name[aria-expanded=false]"
FIELDS = "[...document.querySelectorAll('textarea, input')].map((field) => field.value).join('\\n')"
ASKED_FOR = (
    "[onerror],[onload],[ontoggle],[onfocus],[onbegin],iframe[srcdoc],a[href^=javascript],form[action^=javascript],"
    "object,base[href^=javascript],math"
)


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory, recorded):  # noqa: F811
    """A served page whose outputs folder is full of payloads."""
    outputs = tmp_path_factory.mktemp("payloads")
    payloads.write(outputs)
    with serving(outputs, recorded) as served:
        yield served


@pytest.fixture
def page(make_page):  # noqa: F811
    page = make_page(forgive=["404", "Failed to load resource", "409"])
    page.add_init_script("window.alert = () => { window.hacked = 1; };")
    return page


def fill_in(page):
    """Look at what the form holds, and at the prompts that it reads."""
    page.locator(".all-settings-switch").click()
    page.get_by_role("button", name="Name, seed and text (YAML)").click()
    expect(page.locator("#field-name textarea, #field-name input").first).to_have_value(SHORT[0])
    page.get_by_role("button", name="Check it before you start").press("Enter")
    page.get_by_role("button", name="Read them").click()  # once it was said that there is no such model
    expect(page.locator(".tryout-part.prompts .seen").first).to_be_visible()


@pytest.mark.parametrize("query", cases(VISITS, always=["?run=payloads-0"]))
def test_hostile_texts_are_shown_as_they_are_and_do_nothing(query, hostile_site, page, figure):
    """The flag stays unset, no template is filled in, and nothing that a payload asks for is an element of the page."""
    page.goto(hostile_site.url + query)
    page.wait_for_selector(".top nav a[aria-current]")

    def all_is_shown():
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        page.evaluate(f"for (const name of document.querySelectorAll('{CLOSED}')) name.click()")
        text = page.evaluate("document.body.innerText") + page.evaluate(FIELDS)
        return sum(payload in text for payload in PAYLOADS) >= VISITS[query]

    if query.startswith("?preset=run:"):
        fill_in(page)
    wait_until(all_is_shown)
    assert page.evaluate("window.hacked") is None
    assert payloads.SHOWN not in page.evaluate("document.body.innerText")
    assert page.evaluate(f"[...document.querySelectorAll({ASKED_FOR!r})].map((item) => item.outerHTML)") == []
    figure("markup and template payloads shown as text in the browser (payloads x pages)", len(PAYLOADS), len(PAYLOADS))


def test_a_model_card_holds_no_markup_outside_of_code(tmp_path, figure):
    (first, *_) = payloads.write(tmp_path)
    written = card.Written("merged", 3, 1000, "fp32")
    answer = card.text(RunReport.of(RunDirectory.open(tmp_path / first)), written)
    words = re.sub(r"^(`{3,})text\n.*?\n\1$", "", answer, flags=re.DOTALL | re.MULTILINE)
    words = re.sub(r"`[^`\n]*`", "", words)
    bad = [line for line in words.splitlines() if MARKUP.search(re.sub(r"\\.", "", line))]
    assert bad == []
    assert "](javascript" not in re.sub(r"\\.", "", words)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", answer)
    figure("payloads in a model card", len(PAYLOADS), len(PAYLOADS) - len(bad))


def test_a_terminal_gets_no_commands(tmp_path, capsys, figure):
    for payload in PAYLOADS:
        assert not CONTROL.search(terminal.plain(payload))
    for name in payloads.write(tmp_path):
        printing.print_run(RunDirectory.open(tmp_path / name), as_json=False)
    printing.print_runs(history.newest_first(tmp_path, ListedRun.of), tmp_path, as_json=False)
    answer = capsys.readouterr()
    assert not CONTROL.search(answer.out + answer.err)
    assert "script" in answer.out
    figure("payloads on a terminal", len(PAYLOADS), len(PAYLOADS))
