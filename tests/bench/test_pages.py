"""Pages of docs/ that are written from figures: those in the repository, and made-up ones (figures.yaml) by hand."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from bench import diagnosis, leash_page, lessons_page, methods, real_page, results_page, speed, sycophancy
from bench import load_section as load
from bench import real_speed_section as real_speed
from playground.lessons import boards
from playground.lessons.loading import Lessons
from tests.bench import MADE_UP, recorded
from tests.nights import nightly
from tests.support import PROJECT


def page(name):
    return (PROJECT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def of_board(name, parts, write):
    """A page from what its part of the Lessons page is sent, and the machine that it names."""
    runs = [run for part in boards.data(name)[parts] for run in part["runs"]]
    (machine,) = re.findall(r"Measured on (.+?)\.(?: `|\n)", page(name))
    return write(runs, machine)


PAGES: dict[str, Callable[[], str]] = {
    "results": lambda: results_page.page(recorded("presets"), recorded("frontier")),
    "real": lambda: real_page.page(recorded("real")),
    "sycophancy": lambda: sycophancy.page(recorded("sycophancy"), [table() for table in sycophancy.TABLES]),
    "methods": lambda: methods.page(recorded("methods")),
    "performance": lambda: speed.page(recorded("speed")),
    "diagnosis": lambda: diagnosis.page(recorded("diagnosis"), page("diagnosis")),
    "leash": lambda: of_board("leash", "leashes", leash_page.leash_page),
    "chalkboard": lambda: of_board("chalkboard", "trained", leash_page.chalkboard_page),
    "lessons": lambda: lessons_page.page(Lessons().courses, lessons_page.Measured.read()),
}


@pytest.mark.parametrize("name", [*list(PAGES)[:-1], nightly("lessons")])
def test_a_page_in_the_repository_is_made_of_the_figures_beside_it(name):
    assert page(name) == PAGES[name]()


WRITERS: dict[str, Callable[[Any], str]] = {
    "load": load.section,
    "real_speed": real_speed.section,
    "real": real_page.page,
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_page_says_what_was_measured(name, monkeypatch):
    monkeypatch.setattr(real_page, "_title", lambda preset: preset)
    words = " ".join(WRITERS[name](MADE_UP[name]["figures"]).split())
    assert [line for line in MADE_UP[name]["says"] if line not in words] == []


NOTHING = {"load": load.NO_FIGURES, "real_speed": real_speed.NO_FIGURES, "real": "Nothing was measured"}


@pytest.mark.parametrize("name", WRITERS)
def test_a_page_without_figures_says_that_nothing_was_measured(name):
    assert NOTHING[name] in WRITERS[name]({"runs": []} if name == "real" else None)


@pytest.mark.parametrize("instead", ["", "{title}\n\nold\n\nmore\n\n"], ids=["missing", "old"])
@pytest.mark.parametrize("section", [load, real_speed])
def test_only_its_own_section_of_the_speed_page_is_written_anew(section, instead, tmp_path):
    figures = [recorded("real_speed")] if section is real_speed else []
    copy = tmp_path / "page.md"
    copy.write_text(page("performance").replace(f"{section.latest()}\n", instead.format(title=section.TITLE)))
    assert copy.read_text() != page("performance")
    for _ in range(2):
        section.put_into(copy, *figures)
        assert copy.read_text() == page("performance")


def test_a_processor_without_bf16_has_no_row_of_bf16():
    figures = MADE_UP["real_speed"]["figures"]
    updates = {kind: update for kind, update in figures["updates"].items() if kind != "bf16"}
    text = real_speed.section({**figures, "updates": updates})
    assert "| ours, LoRA, fp32 | 8.0 |" in text
    assert "bf16 |" not in text
    assert "GFLOP/s in bf16" not in text
