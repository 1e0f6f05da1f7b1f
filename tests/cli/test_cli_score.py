"""The command `score`, and what `show` tells of rewards, judges and score against KL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.cli import run_commands
from playground.runs.model_service import ModelService
from playground.setup import catalog
from tests.cli.conftest import Run
from tests.ui import fake_run

SCORE = ("score", "chatterbox", "--prompt", "The plot was", "--completion", "dull.")
SAMPLE = {"prompt": "Review of the film:", "completion": " The plot was dull.", "ended": True}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The questions that a service gets which answers at once."""
    found: list[dict[str, Any]] = []

    def ask(self: Any, kind: str, question: dict[str, Any], timeout_seconds: float) -> Iterator[dict[str, Any]]:
        found.append(question)
        drawn = bool(question["reference"])
        texts, reference = {"length": [6.0] * len(question["texts"])}, {"length": [2.0, 4.0] * drawn}
        yield {"phase": "drawing 2 samples", "done": 0, "of": 2}
        yield {"names": ["length"], "texts": texts, "reference": reference, "samples": [SAMPLE] * 2 * drawn}

    monkeypatch.setattr(ModelService, "ask", ask)
    return found


def test_score_tells_each_term_and_where_the_text_stands(run: Run, asked: list[dict[str, Any]]) -> None:
    (text,) = run(*SCORE, "--samples", "2", "--json").data["texts"]
    assert asked[0]["texts"] == [{"prompt": "The plot was", "completion": " dull."}]
    assert text["score"] == 3.0
    assert text["total"] == 6.0
    assert text["terms"] == {"length": {"weight": 1.0, "value": 6.0, "value_in_sd": 3.0, "adds": 3.0}}
    printed = run(*SCORE)
    assert printed.code == 0
    assert "drawing 2 samples" in printed.err
    assert re.search(r"length\s+1\s+6\.00\s+\+3\.00\s+\+3\.00", printed.out)
    plain = run(*SCORE, "--samples", "0", "--json").data
    assert asked[-1]["reference"] is None
    assert plain["unit"] == "points"
    assert plain["texts"][0]["score"] == 6.0


class Service:
    """The model service, made up."""

    def __init__(self, outputs: Path) -> None:
        pass

    def ask(self, kind: str, question: dict[str, Any], timeout_seconds: float) -> Iterator[dict[str, Any]]:
        yield from fake_run.frontier_samples(question)

    def close(self) -> None:
        pass


def test_what_was_possible_at_the_kl_is_told_once_texts_were_drawn(
    run: Run, outputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = fake_run.write_run(outputs, "one", catalog.preset("kinder-reviews"))
    monkeypatch.setattr(run_commands, "ModelService", Service)
    before = run("show", "one", "--json").data["frontier"]
    assert [look["update"] for look in before["looks"]] == sorted({item.update for item in made.samples()})
    assert (before["possible"], before["sentence"]) == (None, "")
    after = run("show", "one", "--frontier", "--json").data["frontier"]
    assert after["looks"] == before["looks"]
    assert [one["n"] for one in after["possible"]["best_of"]] == [1, 2, 4, 8, 16]
    assert " ".join(after["sentence"].split()) in " ".join(run("show", "one").out.split())
