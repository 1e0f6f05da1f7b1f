"""`python -m playground prompts`: what it asks the model service and what it prints of the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playground.errors import ServiceUnavailable
from playground.runs.model_service import ModelService

PREVIEW: dict[str, Any] = {
    **{"source": "mine.csv", "column": "line", "columns": ["id", "line"], "form": "chat", "system": None, "room": 96},
    **{"num_rows": 1200, "num_claims": 0, "separator": "", "goes_on": True, "num_training": 700, "num_evaluation": 64},
    **{"num_unneeded": 30, "held_out": True, "sentence": "Of 1,200 rows of prompts, 1 is empty; it is left out."},
    "left_out": [{"reason": "empty", "count": 1, "rows": [{"row": 3, "text": ""}]}],
    "lengths": {"min": 4, "median": 9, "p90": 20, "max": 31, "edges": [4, 18, 32], "counts": [600, 164]},
    "rows": [{"text": "two\nlines \x1b[31m", "cut": False, "tokens": 9, "held_out": True}],
    "seen": [[{"text": "<bos>", "special": True}, {"text": "two\nlines", "special": False}]],
}


@pytest.fixture
def asked(monkeypatch):
    """The questions that the service gets."""
    found: list[dict[str, Any]] = []

    def ask(self, kind, question):
        found.append({"kind": kind, **question})
        if question["config"]["prompts"]["column"] == "gone":
            raise ServiceUnavailable("prompts.column: mine.csv has no column `gone`; it has `id`, `line`.")
        yield PREVIEW

    monkeypatch.setattr(ModelService, "ask", ask)
    return found


def test_the_prompts_of_a_preset_are_shown_with_changes_and_a_whole_path(run, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("id,line\n1,ab\n")
    result = run("prompts", "kinder-reviews", "--set", "prompts.source=mine.csv", "--set", "prompts.limit=700")
    prompts = asked[0]["config"]["prompts"]
    assert (result.code, asked[0]["kind"]) == (0, "prompts")
    assert (prompts["source"], prompts["limit"]) == (str(tmp_path / "mine.csv"), 700)
    for words in (
        "1,200 rows",
        "column `line`",
        "700 prompts",
        "64 fixed",
        "4 to 31",
        "90 % at most 20",
        "room for 96",
    ):
        assert words in result.out
    assert PREVIEW["sentence"] in result.out
    assert "<bos>two\\nlines" in result.out
    assert "\x1b" not in result.out
    assert run("prompts", "kinder-reviews", "--json").data == PREVIEW


@pytest.mark.parametrize(
    ("override", "field"),
    [
        ("prompts.source=gone.csv", "prompts.source: "),
        ("prompts.source=typed", "prompts.typed: "),
        ("prompts.column=gone", "prompts.column: "),
    ],
)
def test_what_is_wrong_is_one_sentence_on_stderr(run, asked, override, field):
    result = run("prompts", "kinder-reviews", "--set", override)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(field)
