"""What `make diagnosis` has measured: planted faults raise their own alerts on three seeds, healthy presets none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import diagnosis
from playground.config.faults import FAULTS

FOUND = json.loads(diagnosis.FIGURES.read_text())
RAISED_ON_PURPOSE = {  # what the unhealthy presets are there to show
    "no-leash": {"kl-runaway", "strange-texts"},
    "chatterbox": {"length"},
}


def rows(name: str) -> list[dict[str, Any]]:
    found = [row for row in FOUND["runs"] if row["run"] == name]
    assert [row["seed"] for row in found] == [0, 1, 2]
    return found


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_raises_its_own_alert_within_40_updates(fault: str) -> None:
    assert all(0 < (row["since"] or 99) <= 40 for row in rows(fault))


@pytest.mark.parametrize("preset", diagnosis.HEALTHY)
def test_a_healthy_preset_raises_no_red_alert(preset: str) -> None:
    for row in rows(preset):
        if preset in RAISED_ON_PURPOSE:
            assert RAISED_ON_PURPOSE[preset] <= {*row["red"]}
        else:
            assert not row["red"]
            assert row["amber"] in ([], ["flat"])[: 1 + (preset == "short-leash")]


@pytest.mark.parametrize("run", diagnosis.REMEDIED)
def test_a_remedy_that_the_alert_offers_ends_it(run: str) -> None:
    red: dict[str, list[int | None]] = {}
    for row in FOUND["remedies"]:
        if row["run"] == run:
            assert row["lamp"] == diagnosis.REMEDIED[run]
            red.setdefault(row["remedy"], []).append(row["red"])
    assert [None, None, None] in red.values()


def test_the_page_tells_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "page.md"
    text = diagnosis.PAGE.read_text()
    copy.write_text(text)
    monkeypatch.setattr(diagnosis, "PAGE", copy)
    diagnosis.write(FOUND)
    assert copy.read_text() == text
