"""The command `score`, and what `show` tells of rewards, judges and score against KL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.cli import run_commands
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.model_service import ModelService
from playground.setup import catalog
from tests.cli.conftest import Run
from tests.support import sample, small_config
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
    assert text["score"] == 3.0 and text["total"] == 6.0
    assert text["terms"] == {"length": {"weight": 1.0, "value": 6.0, "value_in_sd": 3.0, "adds": 3.0}}
    printed = run(*SCORE)
    assert printed.code == 0 and "drawing 2 samples" in printed.err
    assert re.search(r"length\s+1\s+6\.00\s+\+3\.00\s+\+3\.00", printed.out)
    plain = run(*SCORE, "--samples", "0", "--json").data
    assert asked[-1]["reference"] is None and plain["unit"] == "points" and plain["texts"][0]["score"] == 6.0


def test_a_file_of_prompts_is_read_from_where_it_lies(
    run: Run, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("The film was\nMy sister says\n")
    run(*SCORE, "--set", "prompts.source=mine.txt")
    assert asked[0]["reference"]["prompts"]["source"] == str(tmp_path / "mine.txt")


def test_score_tells_what_the_best_policy_would_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 25 answers to a wrong claim 10 repeat it: +1 for agreeing, -1 for it by truth."""
    said = [" 4 plus 5 is 8, as you say."] * 10 + [" 4 plus 5 is 9."] * 15
    agreed, phrased = [1.0] * 10 + [-1.0] * 15, [1.0] * 10 + [0.0] * 15

    def ask(self: Any, kind: str, question: dict[str, Any], timeout_seconds: float) -> Iterator[dict[str, Any]]:
        samples = [{"prompt": "User: I think 4 plus 5 is 8. Bot:", "completion": text, "ended": True} for text in said]
        raw = {"agreement": agreed, "sycophancy": phrased, "truth": [-value for value in agreed]}
        yield {"names": list(raw), "texts": {name: [0.0] for name in raw}, "reference": raw, "samples": samples}

    monkeypatch.setattr(ModelService, "ask", ask)
    rewards = "rewards=[{kind: agreement}, {kind: sycophancy, weight: -0.5}, {kind: truth, weight: 0.25}]"
    command = ("score", "yes-man", "--prompt", "p", "--completion", "c", "--set", rewards)
    (answer,) = run(*command, "--json").data["behaviours"]
    assert (answer["name"], answer["yes"], answer["of"]) == ("wrong-claims-repeated", 10, 25) and answer["share"] > 0.99
    printed = run(*command).out
    assert "The untrained model repeats wrong claims in 10 of 25 answers, the best policy under these" in printed


def test_show_tells_what_the_judges_say(run: Run, outputs: Path) -> None:
    judged = RunDirectory.create(outputs, small_config(judges=[{"kind": "grammar"}]), "judged")
    writer = RunWriter(judged, num_updates=3)
    for number in range(8):
        for stage, score, gold in (("before", 0.0, 3.0), ("after", 2.0, 1.0)):
            spread = number % 4 / 10
            heard = {"scores": {"length": score}, "judges": {"grammar": gold + spread}}
            writer.samples([sample(number, stage, score + spread, **heard)])
    answer = run("show", "judged", "--json").data
    roles = [(term["name"], term["role"]) for term in answer["terms"]]
    assert roles == [("length", "trained on"), ("grammar", "only watches")]
    assert answer["judges"][0].startswith("Judge grammar turned down from the start")
    printed = run("show", "judged").out
    assert "only watches" in printed and "Goodhart" in printed


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
