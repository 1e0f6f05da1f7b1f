"""Text of models, data and users never becomes markup: in a real browser, in exported cards, in a terminal."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from playground.cli import printing, terminal
from playground.exports import card
from playground.exports.report import Report
from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from tests.security import payloads
from tests.security.payloads import PAYLOADS
from tests.support import wait_until
from tests.ui.conftest import Site, browser, make_page, recorded  # noqa: F401

MARKUP = re.compile(r"<(?!/?(?:br|p)\b)[a-z/!]", re.IGNORECASE)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CLOSED = "button.section-name[aria-expanded=false]"
ASKED_FOR = (
    "[onerror],[onload],[ontoggle],[onfocus],[onbegin],iframe[srcdoc],a[href^=javascript],form[action^=javascript],"
    "object,base[href^=javascript],math"
)


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory, recorded):  # noqa: F811
    """A served page whose outputs folder is full of payloads."""
    outputs = tmp_path_factory.mktemp("payloads")
    payloads.write(outputs)
    served = Site(outputs, recorded)
    served.start()
    yield served
    served.stop()


@pytest.fixture
def page(make_page):  # noqa: F811
    page = make_page(forgive=["404", "Failed to load resource", "409"])
    page.add_init_script("window.alert = () => { window.hacked = 1; };")
    return page


def shown(page: Any) -> set[str]:
    """The payloads that stand on the page as they are."""
    text = page.evaluate("document.body.innerText")
    return {payload for payload in PAYLOADS if payload in text}


def visit(page: Any, site: Site, query: str, count: int) -> None:
    """Open a page that shows so many payloads, and all that opens on it."""
    page.goto(site.url + query)
    page.wait_for_selector(".top nav a[aria-current]")

    def opened() -> bool:
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        page.evaluate(f"for (const name of document.querySelectorAll('{CLOSED}')) name.click()")
        return len(shown(page)) >= count

    wait_until(opened)


def assert_inert(page: Any) -> None:
    """The flag is unset, no template is filled in, and nothing that a payload asks for is an element of the page."""
    assert page.evaluate("window.hacked") is None
    assert payloads.SHOWN not in page.evaluate("document.body.innerText")
    assert page.evaluate(f"[...document.querySelectorAll({ASKED_FOR!r})].map((item) => item.outerHTML)") == []


def test_hostile_texts_of_a_run_and_of_the_list_of_runs_are_shown_as_they_are(hostile_site, page):
    for query, count in (("?run=payloads-0", 40), ("?tab=runs", 5)):
        visit(page, hostile_site, query, count)
        assert_inert(page)


def test_a_model_card_holds_no_markup_outside_of_code(tmp_path, figure):
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


def test_a_terminal_gets_no_commands(tmp_path, capsys, figure):
    for payload in PAYLOADS:
        assert not CONTROL.search(terminal.plain(payload))
    for name in payloads.write(tmp_path):
        printing.print_run(RunDirectory.open(tmp_path / name), as_json=False)
    printing.print_runs(history.list_runs(tmp_path), tmp_path, as_json=False)
    answer = capsys.readouterr()
    assert not CONTROL.search(answer.out + answer.err)
    assert "script" in answer.out
    figure("payloads on a terminal", len(PAYLOADS), len(PAYLOADS))


def test_markup_of_the_terminal_library_is_not_read():
    console = Console(file=io.StringIO(), highlight=False, markup=False)
    console.print("[bold red]x[/]")
    assert console.file.getvalue() == "[bold red]x[/]\n"  # type: ignore[attr-defined]
    assert terminal.console()._markup is False
