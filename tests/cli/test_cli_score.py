"""The command `score`, and what `show` tells of rewards and judges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground import cli
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.model_service import ModelService
from tests.support import sample, small_config

SAMPLE = {"prompt": "Review of the film:", "completion": " The plot was dull.", "ended": True}


def scored(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Any, list[dict[str, Any]]]:
    """Run `score` with a service that answers at once: exit code, and the questions it got."""
    asked: list[dict[str, Any]] = []

    def ask(self: Any, kind: str, question: dict[str, Any], timeout_seconds: float) -> Iterator[dict[str, Any]]:
        asked.append(question)
        yield {"phase": "drawing 2 samples", "done": 0, "of": 2}
        yield {
            "names": ["length"],
            "texts": {"length": [6.0] * len(question["texts"])},
            "reference": {"length": [2.0, 4.0] if question["reference"] else []},
            "samples": [SAMPLE] * 2 if question["reference"] else [],
        }

    monkeypatch.setattr(ModelService, "ask", ask)
    with pytest.raises(SystemExit) as caught:
        cli.main(["score", "chatterbox", "--prompt", "The plot was", "--completion", "dull.", *arguments])
    return caught.value.code, asked


def test_score_tells_each_term_and_where_the_text_stands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, (question,) = scored(monkeypatch, "--samples", "2", "--json")
    (text,) = json.loads(capsys.readouterr().out)["texts"]
    assert code == 0 and question["texts"] == [{"prompt": "The plot was", "completion": " dull."}]
    assert text["score"] == 3.0 and text["total"] == 6.0
    assert text["terms"] == {"length": {"weight": 1.0, "value": 6.0, "value_in_sd": 3.0, "adds": 3.0}}
    scored(monkeypatch)
    printed = capsys.readouterr()
    assert re.search(r"length\s+1\s+6\.00\s+\+3\.00\s+\+3\.00", printed.out) and "drawing 2 samples" in printed.err


def test_a_file_of_prompts_is_read_from_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("The film was\nMy sister says\n")
    _, (question,) = scored(monkeypatch, "--set", "prompts.source=mine.txt")
    assert question["reference"]["prompts"]["source"] == str(tmp_path / "mine.txt")


def test_score_tells_what_the_best_policy_would_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of 25 answers to a wrong claim 10 repeat it: +1 for agreeing, -1 for it by truth."""
    said = [" 4 plus 5 is 8, as you say."] * 10 + [" 4 plus 5 is 9."] * 15
    agreed, phrased = [1.0] * 10 + [-1.0] * 15, [1.0] * 10 + [0.0] * 15

    def ask(self: Any, kind: str, question: dict[str, Any], timeout_seconds: float) -> Iterator[dict[str, Any]]:
        samples = [{"prompt": "User: I think 4 plus 5 is 8. Bot:", "completion": text, "ended": True} for text in said]
        raw = {"agreement": agreed, "sycophancy": phrased, "truth": [-value for value in agreed]}
        yield {"names": list(raw), "texts": {name: [0.0] for name in raw}, "reference": raw, "samples": samples}

    monkeypatch.setattr(ModelService, "ask", ask)
    rewards = "rewards=[{kind: agreement}, {kind: sycophancy, weight: -0.5}, {kind: truth, weight: 0.25}]"
    arguments = ["score", "yes-man", "--prompt", "p", "--completion", "c", "--set", rewards]
    with pytest.raises(SystemExit):
        cli.main([*arguments, "--json"])
    (told,) = json.loads(capsys.readouterr().out)["behaviours"]
    assert (told["name"], told["yes"], told["of"]) == ("wrong-claims-repeated", 10, 25) and told["share"] > 0.99
    with pytest.raises(SystemExit):
        cli.main(arguments)
    printed = capsys.readouterr().out
    assert "The untrained model repeats wrong claims in 10 of 25 answers, the best policy under these" in printed


def test_score_without_samples_tells_plain_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, (question,) = scored(monkeypatch, "--samples", "0", "--json")
    told = json.loads(capsys.readouterr().out)
    assert question["reference"] is None and told["unit"] == "points" and told["texts"][0]["score"] == 6.0


def test_score_refuses_what_is_too_much_before_it_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, asked = scored(monkeypatch, *["--completion", "x"] * 8)
    assert code == 2 and asked == [] and "at most 8 times (got 9)" in capsys.readouterr().err
    code, asked = scored(monkeypatch, "--completion", "x" * 4001)
    assert code == 2 and asked == [] and "at most 4,000 characters" in capsys.readouterr().err


def test_show_tells_what_the_judges_say(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RunDirectory.create(outputs, small_config(judges=[{"kind": "grammar"}]), "judged")
    writer = RunWriter(run, num_updates=3)
    for number in range(8):
        for stage, score, gold in (("before", 0.0, 3.0), ("after", 2.0, 1.0)):
            spread = number % 4 / 10
            heard = {"scores": {"length": score}, "judges": {"grammar": gold + spread}}
            writer.samples([sample(number, stage, score + spread, **heard)])
    with pytest.raises(SystemExit):
        cli.main(["show", "judged", "--outputs", str(outputs), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert [(term["name"], term["role"]) for term in told["terms"]] == [
        ("length", "trained on"), ("grammar", "only watches"),
    ]  # fmt: skip
    assert told["judges"][0].startswith("Judge grammar turned down from the start")
    with pytest.raises(SystemExit):
        cli.main(["show", "judged", "--outputs", str(outputs)])
    assert "only watches" in (printed := capsys.readouterr().out) and "Goodhart" in printed
