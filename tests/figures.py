"""The figures of docs/reliability.md: collected from the tests that record them, printed as a table, written if asked.

A test records one with the fixture `figure`. Loaded by tests/conftest.py; `make reliability` passes --write-figures.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROPERTY = "figure"  # as the fixture of that name records it
_found: dict[str, tuple[int, int]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-figures", metavar="FILE", help="put the table of figures into this document")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Properties travel with the report, so this sees those of every process."""
    if report.when == "call":
        for name, value in report.user_properties:
            if name == PROPERTY:
                what, tried, survived = value  # type: ignore[misc]
                before = _found.get(what, (0, 0))  # a parametrised test records a part of its figure each time
                _found[what] = (before[0] + tried, before[1] + survived)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not _found:
        return
    terminalreporter.section("tried / survived")
    for what, (tried, survived) in sorted(_found.items()):
        terminalreporter.write_line(f"{tried:>7} / {survived:<7} {what}")
    if path := config.getoption("--write-figures"):
        lines = ["| What was tried | Tried | Survived |", "|---|---|---|"]
        lines += [f"| {what} | {tried} | {survived} |" for what, (tried, survived) in sorted(_found.items())]
        replace_section(Path(path), "figures", "\n".join(lines))


def replace_section(path: Path, name: str, text: str) -> None:
    """Put `text` between the marks <!-- name --> and <!-- end of name --> of a document."""
    document = path.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    changed, count = pattern.subn(lambda match: f"{match[1]}{text}\n{match[2]}", document)
    assert count == 1, f"{path} has {count} sections named {name}"
    path.write_text(changed, encoding="utf-8")
