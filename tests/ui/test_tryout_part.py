"""The check before a start, as the page shows it: each part with its result, or one sentence in the page's words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidConfig, Problem, RunBusy, ServiceUnavailable
from playground.runs import trial
from playground.setup import catalog
from playground.ui.train import tryout_part
from tests.support import small_config
from tests.ui.fake_server import FakeService


def looked(part: str, outputs: Path, read: Any = small_config, service: Any = None) -> list[dict[str, Any]]:
    return list(tryout_part.looked_at(part, read, outputs, service or FakeService()))


def test_each_part_answers(tmp_path):
    first, last = looked("model", tmp_path)
    assert first["state"] == "asking" and (last["part"], last["state"]) == ("model", "done")
    assert dict(last["found"]["facts"])["Found"]
    assert looked("prompts", tmp_path)[-1]["found"]["form"] == "chat"
    config = small_config(rewards=[{"kind": "length", "target": 9}], judges=[{"kind": "grammar"}])
    *asking, last = looked("answers", tmp_path, lambda: config)
    assert {item["state"] for item in asking} == {"asking"} and asking[1]["phase"] == "loading the model"
    assert [item["label"] for item in last["found"]["rewards"]] == ["Length (target 9)", "Grammar"]
    assert len(last["found"]["samples"]) == len(last["found"]["rewards"][0]["values"]) == 8
    assert len(looked("nonsense", tmp_path)) == 1


def test_what_goes_wrong_is_one_sentence_with_the_pages_words(tmp_path):
    def refuse():
        raise InvalidConfig([Problem("model.source", "There is no such model.")])

    (only,) = looked("model", tmp_path, refuse)
    assert (only["state"], only["message"]) == ("error", "Model: There is no such model.")

    class Broken(FakeService):
        def ask(self, kind, question, timeout_seconds=0.0):
            raise ServiceUnavailable("prompts.column: a.csv has no column `x`.")
            yield

    assert looked("prompts", tmp_path, service=Broken())[-1]["message"] == "Column: a.csv has no column `x`."
    assert looked("answers", tmp_path, service=Broken())[-1]["state"] == "error"


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_trial_that_is_short_of_memory_comes_with_what_would_help(tmp_path, monkeypatch, state):
    base = catalog.preset("kinder-reviews")
    lora = base.model.adapter.model_copy(update={"kind": "lora"})
    better = base.model_copy(update={"model": base.model.model_copy(update={"adapter": lora})})

    def make(config, outputs):
        yield {"state": "asking", "phase": "loading the model", "seconds": 2.0}
        message = {"message": "Too little."} if state == "failed" else {}
        yield {"state": state, **message, "advice": "", "better": better.model_dump(mode="json")}

    monkeypatch.setattr(trial, "make", make)
    first, last = tryout_part.tried(lambda: base, tmp_path)
    assert (first["part"], first["seconds"]) == ("update", 2.0)
    change = last["found"]["change"] if state == "done" else last["change"]
    assert last["state"] == ("done" if state == "done" else "error")
    assert change["values"] == {"model.adapter.kind": "lora"} and change["differences"][0]["label"] == "Adapter"


def test_a_trial_that_cannot_be_made_now_says_why(tmp_path, monkeypatch):
    def busy(config, outputs):
        raise RunBusy("A run trains.")
        yield

    monkeypatch.setattr(trial, "make", busy)
    (only,) = tryout_part.tried(small_config, tmp_path)
    assert (only["part"], only["state"], only["message"]) == ("update", "error", "A run trains.")
