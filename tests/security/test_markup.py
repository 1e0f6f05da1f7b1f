"""Text of models, data and users never becomes markup: in a real browser, in exported cards, in a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from playground.cli import printing, terminal
from playground.exports import card
from playground.exports.report import Report
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from tests.figures import Figure
from tests.security import payloads
from tests.security.payloads import PAYLOADS, SHORT
from tests.ui.conftest import WAIT_MS, Site, browser, make_page, recorded  # noqa: F401

MARKUP = re.compile(r"<(?!/?(?:br|p)\b)[a-z/!]", re.IGNORECASE)


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory: pytest.TempPathFactory, recorded: Path) -> Any:  # noqa: F811
    """A served page whose outputs folder is full of payloads."""
    outputs = tmp_path_factory.mktemp("payloads")
    payloads.write(outputs)
    served = Site(outputs, recorded)
    served.start()
    yield served
    served.stop()


VISITS = """
    ?run=payloads-0 | ?run=payloads-1 | ?tab=compare&run=payloads-0 | ?tab=rewards | ?tab=rewards&part=train
    | ?tab=rewards&part=test | ?tab=runs | ?tab=runs&overlay=payloads-0,payloads-1,payloads-2 | ?preset=run:payloads-0
    | ?tab=compare&run=<img src=x onerror=window.hacked=1> | ?run=${91*93-2}{{91*93-2}}
    | ?preset=<script>window.hacked=1</script>
"""
CLOSED = "button.section-name[aria-expanded=false]"
ASKED_FOR = (
    "[onerror],[onload],[ontoggle],[onfocus],[onbegin],iframe[srcdoc],a[href^=javascript],form[action^=javascript],"
    "object,base[href^=javascript],math"
)


@pytest.mark.nightly
def test_payloads_are_inert_on_every_page(hostile_site: Site, make_page: Any, figure: Figure) -> None:  # noqa: F811
    """Each page is visited and all that opens is opened: the flag stays unset, the texts are shown as they are."""
    expect = pytest.importorskip("playwright.sync_api").expect
    page = make_page(forgive=["404", "Failed to load resource", "409"])
    page.add_init_script("window.dialogs = 0; window.alert = () => { window.hacked = 1; };")
    shown: dict[str, str] = {}
    visits = [query.strip() for query in VISITS.split("|")]
    for query in visits:
        page.goto(hostile_site.url + query)
        page.wait_for_selector(".top nav a[aria-current]")
        page.wait_for_timeout(1500)  # nothing says when everything that a page draws by itself is drawn
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        page.evaluate(f"for (const name of document.querySelectorAll('{CLOSED}')) name.click()")
        if query.startswith("?preset=run:"):
            page.locator(".all-settings-switch").click()
            page.get_by_role("button", name="Name, seed and text (YAML)").click()
            expect(page.locator("#field-name textarea, #field-name input").first).to_have_value(SHORT[0])
            page.get_by_role("button", name="Check it before you start").press("Enter")
            page.get_by_role("button", name="Read them: ").click()
            expect(page.locator(".tryout-part.prompts .seen").first).to_be_visible()
        if query == "?tab=rewards&part=train":
            page.get_by_text("judge", exact=True).first.wait_for()
        page.wait_for_timeout(700)
        shown[query] = page.evaluate("document.body.innerText")
        assert page.evaluate("window.hacked") is None, query
        # nothing that a payload asks for is an element of the page
        made = page.evaluate(f"[...document.querySelectorAll({ASKED_FOR!r})].map((item) => item.outerHTML)")
        assert made == [], query
    everything = "\n".join(shown.values())
    literal = [item for item in PAYLOADS if item.isprintable() and item in everything]
    assert len(literal) >= 30, sorted(set(PAYLOADS) - set(literal))
    assert payloads.SHOWN not in everything
    count = len(PAYLOADS) * len(visits)
    figure("markup and template payloads shown as text in the browser (payloads x pages)", count, count)


def test_a_model_card_holds_no_markup_outside_of_code(tmp_path: Path, figure: Figure) -> None:
    (first, *_) = payloads.write(tmp_path)
    written = card.Written("merged", 3, 1000, "fp32")
    answer = card.text(Report.of(RunDirectory.open(tmp_path / first)), written)
    words = re.sub(r"^(`{3,})text\n.*?\n\1$", "", answer, flags=re.DOTALL | re.MULTILINE)
    words = re.sub(r"`[^`\n]*`", "", words)
    bad = [line for line in words.splitlines() if MARKUP.search(re.sub(r"\\.", "", line))]
    assert bad == []
    assert "](javascript" not in re.sub(r"\\.", "", words)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", answer)
    figure("payloads in a model card", len(PAYLOADS), len(PAYLOADS) - len(bad))


def test_a_terminal_gets_no_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], figure: Figure) -> None:
    control = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
    for item in PAYLOADS:
        assert not control.search(terminal.plain(item))
    for name in payloads.write(tmp_path):
        printing.print_run(RunDirectory.open(tmp_path / name), as_json=False)
    printing.print_runs(history.list_runs(tmp_path), tmp_path, as_json=False)
    answer = capsys.readouterr()
    assert not control.search(answer.out + answer.err)
    assert "script" in answer.out
    figure("payloads on a terminal", len(PAYLOADS), len(PAYLOADS))


def test_markup_of_the_terminal_library_is_not_read() -> None:
    console = Console(file=io.StringIO(), highlight=False, markup=False)
    console.print("[bold red]x[/]")
    assert console.file.getvalue() == "[bold red]x[/]\n"  # type: ignore[attr-defined]
    assert terminal.console()._markup is False
