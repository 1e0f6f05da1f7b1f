"""The figures of docs/reliability.md: collected from the tests that record them, printed as a table, written if asked.

A test records one with the fixture `figure`. Loaded by tests/conftest.py; `make reliability` passes --write-figures.
"""

from pathlib import Path

PROPERTY = "figure"  # as the fixture of that name records it
# by where the test is
TITLES = {"tests/faults/": "Runs survive", "tests/security/": "Safe with strangers", "tests/ui/": "Runs survive"}
_found = {}  # title -> what was tried -> each record of it: tried, survived, measured


def pytest_addoption(parser):
    parser.addoption("--write-figures", metavar="FILE", help="put the tables of figures into this document")


def pytest_runtest_logreport(report):
    """Properties travel with the report, so this sees those of every process."""
    if report.when == "call":
        title = next((title for place, title in TITLES.items() if report.nodeid.startswith(place)), "Elsewhere")
        for name, value in report.user_properties:
            if name == PROPERTY:
                what, *record = value
                _found.setdefault(title, {}).setdefault(what, []).append(tuple(record))


def pytest_terminal_summary(terminalreporter, config):
    lines = []
    for title, figures in sorted(_found.items()):
        terminalreporter.section(f"{title}: survived / tried")
        lines += [f"### {title}", "", "| What was tried | Survived/tried |", "|---|---|"]
        for what, records in sorted(figures.items(), key=lambda item: item[0].casefold()):
            tried, survived = (sum(record[place] for record in records) for place in (0, 1))
            measured = "; ".join(filter(None, (record[2] for record in records)))
            words = f"{what} ({measured})" if measured else what
            terminalreporter.write_line(f"{survived:>7} / {tried:<7} {words}")
            lines.append(f"| {words} | {survived}/{tried} |")
        lines.append("")
    if lines and (path := config.getoption("--write-figures")):
        before, begin, rest = Path(path).read_text(encoding="utf-8").partition("<!-- figures -->\n")
        _, end, after = rest.partition("<!-- end of figures -->")
        assert end, f"{path} has no section for figures"
        Path(path).write_text("".join((before, begin, "\n".join(lines), "\n", end, after)), encoding="utf-8")
