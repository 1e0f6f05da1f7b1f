"""The figures of docs/reliability.md: collected from the tests that record them, printed as a table, written if asked.

A test records one with the fixture `figure`. Loaded by tests/conftest.py; `make reliability` passes --write-figures.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

Figure = Callable[..., None]  # the fixture: (what was tried, tried, survived, measured = "")
PROPERTY = "figure"  # as the fixture of that name records it
TITLES = {"tests/faults/": "Runs survive", "tests/security/": "Safe with strangers"}  # by where the test is


class _Figure(NamedTuple):
    tried: int = 0
    survived: int = 0
    measured: str = ""


_found: dict[str, dict[str, _Figure]] = {}  # title -> what was tried -> how it went


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-figures", metavar="FILE", help="put the tables of figures into this document")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Properties travel with the report, so this sees those of every process."""
    if report.when == "call":
        title = next((title for place, title in TITLES.items() if report.nodeid.startswith(place)), "Elsewhere")
        for name, value in report.user_properties:
            if name == PROPERTY:
                what, tried, survived, measured = value  # type: ignore[misc]
                figures = _found.setdefault(title, {})
                before = figures.get(what, _Figure())  # a parametrised test records a part of its figure each time
                answer = "; ".join(filter(None, (before.measured, measured)))
                figures[what] = _Figure(before.tried + tried, before.survived + survived, answer)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines: list[str] = []
    for title, figures in sorted(_found.items()):
        terminalreporter.section(f"{title}: tried / survived")
        lines += [f"### {title}", "", "| What was tried | Tried | Survived | Measured |", "|---|---|---|---|"]
        for what, (tried, survived, measured) in sorted(figures.items(), key=lambda item: item[0].casefold()):
            terminalreporter.write_line(f"{tried:>7} / {survived:<7} {what}{f' ({measured})' if measured else ''}")
            lines.append(f"| {what} | {tried} | {survived} | {measured} |")
        lines.append("")
    if lines and (path := config.getoption("--write-figures")):
        replace_section(Path(path), "figures", "\n".join(lines))


def replace_section(path: Path, name: str, text: str) -> None:
    """Put `text` between the marks <!-- name --> and <!-- end of name --> of a document."""
    document = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    changed, count = pattern.subn(lambda match: f"{match[1]}{text}\n{match[2]}", document)
    assert count == 1, f"{path} has {count} sections named {name}"
    path.write_text(changed, encoding="utf-8")
