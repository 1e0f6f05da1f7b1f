"""`python -m playground try`: four parts, what it prints of each, and that one that fails does not end the others."""

from __future__ import annotations

import json

import pytest

from playground import cli
from playground.cli import try_command
from playground.errors import ServiceUnavailable
from playground.runs import trial
from playground.setup import catalog
from tests.ui.fake_server import FakeService

DONE = {"state": "done", "updates": 2, "seconds_per_update": 1.5, "seconds_before": 4.0, "seconds": [50.0, 90.0],
        "memory_gb": 0.61, "free_gb": 8.0, "device": "cpu", "verdict": "fits", "advice": "",
        "better": None}  # fmt: skip


@pytest.fixture
def run(monkeypatch, capsys, outputs):
    monkeypatch.setattr(try_command, "ModelService", FakeService)

    def command(*arguments, made=(DONE,)):
        def make(config, folder):
            yield {"state": "asking", "phase": "loading the model", "seconds": 1.0}
            yield from made

        monkeypatch.setattr(trial, "make", make)
        with pytest.raises(SystemExit) as leaving:
            cli.main(["try", "kinder-reviews", "--outputs", str(outputs), *arguments])
        captured = capsys.readouterr()
        return leaving.value.code, captured.out, captured.err

    return command


def test_four_parts_are_printed_in_order(run):
    code, out, err = run()
    assert code == 0 and "loading the model ..." in err
    places = [out.index(words) for words in ("1. Model", "2. Prompts", "3. Completions", "4. Trial update")]
    assert places == sorted(places)
    assert "Found: ships with the playground" in out and "<|im_start|>" in out
    assert out.count(" >>> ") == 8
    assert "1.5 s an update, 4 s before the first; about 50 s to 90 s for the run of 40 updates." in out
    assert "0.61 of 8 GB free on cpu at its fullest: fits." in out


def test_as_json_it_is_one_object_with_the_four_parts(run):
    code, out, _ = run("--json")
    told = json.loads(out)
    assert code == 0 and list(told) == ["model", "prompts", "answers", "update"]
    assert told["update"] == DONE and len(told["answers"]["samples"]) == 8
    code, out, _ = run("--json", "--no-update")
    assert code == 0 and json.loads(out)["update"] is None


def test_what_would_help_is_told_as_settings(run):
    base = catalog.preset("kinder-reviews")
    lora = base.model.adapter.model_copy(update={"kind": "lora"})
    better = base.model_copy(update={"model": base.model.model_copy(update={"adapter": lora})})
    failed = {"state": "failed", "message": "It ran out.", "advice": "Train with LoRA.", "better": better.model_dump()}
    code, out, _ = run(made=(failed,))
    assert code == 1 and "It ran out." in out and "Train with LoRA." in out
    assert "To take that: --set model.adapter.kind=lora" in out


def test_a_part_that_fails_is_a_sentence_and_the_others_go_on(run, monkeypatch):
    def broken(self, kind, question, timeout_seconds=0.0):
        raise ServiceUnavailable("The tokenizer cannot be used.")
        yield

    monkeypatch.setattr(FakeService, "ask", broken)
    code, out, _ = run("--set", "model.source=Qwen/Qwen3-0.6B")
    assert code == 1 and "HF_HUB_OFFLINE forbids" in out and out.count("The tokenizer cannot be used.") == 2
    assert "1.5 s an update" in out
