"""`python -m playground prompts`: what it asks the model service and what it prints of the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playground import cli
from playground.cli import previewing
from playground.errors import ServiceUnavailable
from playground.runs.model_service import ModelService

PREVIEW: dict[str, Any] = {
    "source": "mine.csv", "column": "line", "columns": ["id", "line"], "form": "chat", "system": None, "room": 96,
    "num_rows": 1200, "num_claims": 0, "separator": "", "goes_on": True, "num_training": 700, "num_evaluation": 64,
    "num_unneeded": 30, "held_out": True,
    "left_out": [{"reason": "empty", "count": 1, "rows": [{"row": 3, "text": ""}]}],
    "sentence": "Of 1,200 rows of prompts, 1 is empty; these are left out.",
    "lengths": {"min": 4, "median": 9, "p90": 20, "max": 31, "edges": [4, 18, 32], "counts": [600, 164]},
    "rows": [{"text": "two\nlines \x1b[31m", "cut": False, "tokens": 9, "held_out": True}],
    "seen": [[{"text": "<bos>", "special": True}, {"text": "two\nlines", "special": False}]],
}  # fmt: skip


@pytest.fixture
def run(monkeypatch, capsys):
    asked: list[dict[str, Any]] = []

    def ask(self, kind, question):
        asked.append({"kind": kind, **question})
        if question["config"]["prompts"]["column"] == "gone":
            raise ServiceUnavailable("prompts.column: mine.csv has no column `gone`; it has `id`, `line`.")
        yield PREVIEW

    monkeypatch.setattr(ModelService, "ask", ask)

    def command(*arguments):
        with pytest.raises(SystemExit) as leaving:
            cli.main(["prompts", *arguments])
        captured = capsys.readouterr()
        return leaving.value.code, captured.out, captured.err, asked

    return command


def test_the_prompts_of_a_preset_are_shown_with_changes_and_a_whole_path(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("id,line\n1,ab\n")
    code, out, _, asked = run("kinder-reviews", "--set", "prompts.source=mine.csv", "--set", "prompts.limit=700")
    assert code == 0 and asked[0]["kind"] == "prompts"
    assert (
        asked[0]["config"]["prompts"] | {"source": str(tmp_path / "mine.csv"), "limit": 700}
        == (asked[0]["config"]["prompts"])
    )
    assert "mine.csv: 1,200 rows, the first ones of more, column `line`." in out
    assert "700 prompts to train on, 64 fixed ones held out." in out and PREVIEW["sentence"] in out
    assert "Tokens: 4 to 31, median 9, 90 % at most 20; the model has room for 96." in out
    assert "fixed       9  two\\nlines" in out and "\x1b" not in out
    assert "What the model reads (chat prompts):" in out and "<bos>two\\nlines" in out


def test_json_is_the_answer_as_it_is(run):
    code, out, _, _ = run("kinder-reviews", "--json")
    assert code == 0 and json.loads(out) == PREVIEW


@pytest.mark.parametrize(
    ("override", "message", "exit_code"),
    [
        ("prompts.source=gone.csv", "prompts.source: There is no file gone.csv.", 2),
        ("prompts.source=typed", "prompts.typed: Type at least two different prompts", 2),
        ("prompts.column=gone", "prompts.column: mine.csv has no column `gone`", 2),
    ],
)
def test_what_is_wrong_is_one_sentence_on_stderr(run, override, message, exit_code):
    code, out, err, _ = run("kinder-reviews", "--set", override)
    assert code == exit_code and out == "" and message in err and "Traceback" not in err


def test_of_claims_it_says_what_the_prompts_are_made_of():
    first, *_ = previewing.summary({**PREVIEW, "source": "my-claims.csv", "num_claims": 40, "column": None})
    assert first == "my-claims.csv: 1,200 prompts made of 40 questions and their claims."


def test_too_few_to_hold_out_is_said():
    lines = previewing.summary({**PREVIEW, "held_out": False, "sentence": "", "num_unneeded": 0, "goes_on": False})
    told = (
        "700 prompts to train on; too few to hold some out, so 64 of them are the fixed prompts too. Add prompts, or "
        "set evaluation.num_prompts to 350 or fewer."
    )
    assert lines[1] == told and len(lines) == 3
