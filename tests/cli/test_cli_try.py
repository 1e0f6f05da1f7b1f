"""`python -m playground try`: four parts, what it prints of each, and that one that fails does not end the others."""

from __future__ import annotations

import pytest

from playground.cli import preflight_commands
from playground.errors import ServiceUnavailable
from playground.models import real_model
from playground.runs import trial
from playground.setup import catalog
from tests.ui.fake_server import FakeService

TIMES = {"seconds_per_update": 1.5, "seconds_before": 4.0, "seconds": [50.0, 90.0]}
MEMORY = {"memory_gb": 0.61, "free_gb": 8.0, "device": "cpu", "verdict": "fits", "advice": "", "better": None}
DONE = {"state": "done", "updates": 2, **TIMES, **MEMORY}


@pytest.fixture
def attempt(run, monkeypatch):
    monkeypatch.setattr(preflight_commands, "ModelService", FakeService)

    def command(*arguments, made=DONE):
        def make(config, folder):
            yield from ({"state": "asking", "phase": "loading the model", "seconds": 1.0}, made)

        monkeypatch.setattr(trial, "make", make)
        return run("try", "kinder-reviews", *arguments)

    return command


def test_four_parts_are_printed_in_order(attempt):
    result = attempt()
    assert result.code == 0
    assert "loading the model" in result.err
    places = [result.out.index(words) for words in ("1. Model", "2. Prompts", "3. Completions", "4. Trial update")]
    assert places == sorted(places)
    assert result.out.count(" >>> ") == 8
    for words in ("1.5 s an update, 4 s before", "50 s to 90 s", "0.61 of 8 GB free on cpu"):
        assert words in result.out


def test_what_would_help_is_told_as_settings(attempt):
    base = catalog.preset("kinder-reviews")
    lora = base.model.adapter.model_copy(update={"kind": "lora"})
    better = base.model_copy(update={"model": base.model.model_copy(update={"adapter": lora})})
    failed = {"state": "failed", "message": "It ran out.", "advice": "Train with LoRA.", "better": better.model_dump()}
    result = attempt(made=failed)
    assert result.code == 1
    assert "It ran out." in result.out
    assert "Train with LoRA." in result.out
    assert "--set model.adapter.kind=lora" in result.out


@pytest.mark.parametrize("output", ([], ["--json"]), ids=["text", "json"])
def test_a_model_that_has_to_be_got_first_is_said_once(run, monkeypatch, tmp_path, output):
    monkeypatch.setenv(real_model.FOLDER_VARIABLE, str(tmp_path / "none"))
    monkeypatch.setattr(preflight_commands, "ModelService", FakeService)
    result = run("try", "real-short-answers", *output)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("is not on this machine yet") == 1
    assert "`python -m playground real-model`" in result.err


def test_a_part_that_fails_is_a_sentence_and_the_others_go_on(attempt, monkeypatch):
    def broken(self, kind, question, timeout_seconds=0.0):
        raise ServiceUnavailable("The tokenizer cannot be used.")
        yield

    monkeypatch.setattr(FakeService, "ask", broken)
    result = attempt("--set", "model.source=Qwen/Qwen3-0.6B")
    assert result.code == 1
    assert "HF_HUB_OFFLINE" in result.out
    assert "1.5 s an update" in result.out
    assert result.out.count("The tokenizer cannot be used.") == 2
