"""What `make bench-load` writes into docs/performance.md."""

import json

import pytest

from bench import load_section

CASE = {"bytes": 890_123.0, "requests": 147, "usable_seconds": 1.24, "busy": 0.104, "kinds": {"fonts": 149_000}}
HOW = {"seconds": 25.0, "rounds": 3, "slower": 4, "latency_ms": 60, "mbit": 10}
MACHINE = {"date": "2026-11-26", "commit": "abc1234", "processor": "A processor", "cores": 2, "load": 0.42}
REPORT = {
    "machine": {**MACHINE, "browser": "156"},
    "how": HOW,
    "cases": {"cold": CASE, "warm": {**CASE, "bytes": 55_000}, "slow cold": CASE, "slow warm": CASE},
}


def test_the_section_tells_machine_date_and_each_case():
    text = load_section.section(REPORT)
    assert "(2026-11-26, commit abc1234): A processor, 2 cores, Chromium 156." in text
    assert "While it measured, 0.4 processes wanted a core" in " ".join(text.split())
    assert "| cold | 890 | 147 | 1.2 | 10% |" in text
    assert "| warm | 55 | 147 | 1.2 | 10% |" in text
    assert "Of a cold load: fonts 149 kB." in text
    assert load_section.NO_FIGURES in load_section.section(None)


@pytest.mark.parametrize("before", ["# Speed\n\n", f"# Speed\n\n{load_section.TITLE}\n\nold figures\n\nmore\n\n"])
def test_only_its_own_section_of_the_page_is_written_anew(before, tmp_path, monkeypatch):
    page, results, rest = tmp_path / "page.md", tmp_path / "load.json", f"{load_section.NEXT}\n\nfigures of a GPU\n"
    results.write_text(json.dumps(REPORT))
    monkeypatch.setattr(load_section, "RESULTS", results)
    page.write_text(before + rest)
    for _ in range(2):
        load_section.put_into(page)
        assert page.read_text() == f"# Speed\n\n{load_section.section(REPORT)}\n{rest}"
