"""What surrounds the form: uploads, what a run needs, what the pickers offer, the check before a start."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from playground.config import yaml_io
from playground.errors import InvalidConfig, Problem, ServiceUnavailable
from playground.runs import trial
from playground.setup import catalog, checks
from playground.ui.auth import uploads
from playground.ui.train import form_parts
from tests.support import small_config
from tests.ui.fake_server import FakeService


def write(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def readable(source: str) -> bool:
    config = yaml_io.from_dict({"rewards": [{"kind": "length"}], "prompts": {"source": source}})
    return checks.prompts_problem(config.prompts) is None


def test_an_upload_is_kept_once_under_a_plain_name_and_can_be_read(tmp_path):
    outputs = tmp_path / "outputs"
    kept = uploads.keep(write(tmp_path, "my <b>films.csv", "id,prompt\n1,ab\n2,cd\n"), outputs)
    again = uploads.keep(write(tmp_path, "my <b>films.csv", "id,prompt\n1,ab\n2,cd\n"), outputs)
    assert kept == again
    assert [path.name for path in (outputs / "uploads").iterdir()] == [kept.path.name]
    assert kept.path.name.endswith("-my-b-films.csv")
    assert kept.path.is_absolute()
    assert (kept.columns, kept.column) == (("id", "prompt"), "prompt")
    assert kept.sentence.startswith("my <b>films.csv: 2 rows")
    assert "`prompt`" in kept.sentence
    assert readable(str(kept.path))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("../../etc/passwd.txt", "etc-passwd.txt"),
        ("\u6620\u753b.jsonl.gz", "prompts.jsonl.gz"),
        ("x" * 300 + ".TXT", "x" * 60 + ".txt"),
    ],
)
def test_names_are_made_safe(name, expected):
    assert uploads.safe_name(name) == expected


BOMB = gzip.compress(b'{"prompt": "%s"}\n' % (b"a" * 500_000) * 41, mtime=0)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", "", "a.csv is empty."),
        ("a.exe", "x", "a.exe must be one of .txt, .csv, .tsv, .jsonl"),
        ("a.csv", "prompt\ncaf\u00e9".encode("latin-1"), "is not UTF-8 text"),
        ("a.jsonl.gz", BOMB, "more than 20 MB when unpacked"),
    ],
)
def test_an_upload_that_cannot_be_used_is_not_kept_and_the_form_stays(tmp_path, name, data, message):
    note, chosen = form_parts.taken(str(write(tmp_path, name, data)), tmp_path / "outputs")
    assert message in note["problem"]
    assert chosen == {}
    assert not (tmp_path / "outputs" / "uploads").exists()


def test_an_upload_fills_source_and_column_and_of_claims_no_column_is_read(tmp_path):
    _, chosen = form_parts.taken(str(write(tmp_path, "a.csv", "x,text\n1,ab\n")), tmp_path)
    source, column = chosen["prompts.source"], chosen["prompts.column"]
    assert (tmp_path / source.value).is_file()
    assert ("a.csv", source.value) in source.choices
    assert column.value == "text"
    assert [choice[1] for choice in column.choices] == ["x", "text"]
    rows = "question,right,wrong\n" + "".join(f"Which {n}?,a,b\n" for n in range(10))
    note, chosen = form_parts.taken(str(write(tmp_path, "mine.csv", rows)), tmp_path)
    assert chosen["prompts.column"].value == ""
    assert "claims" in note["sentence"]
    assert readable(str(tmp_path / chosen["prompts.source"].value))


def test_the_panel_gets_the_estimate_or_the_reason_why_there_is_none(tmp_path, monkeypatch):
    """A model that cannot be had is never said to fit, also one of which all measures are known."""
    config, suggested = small_config(), catalog.preset("tinyllama-1.1b-chat")
    assert form_parts.needs(config, config, tmp_path)["problem"] == ""
    assert "cuda:77" in form_parts.needs(small_config(device="cuda:77"), config, tmp_path)["problem"]
    found = form_parts.needs(suggested, suggested, tmp_path)
    assert "HF_HUB_OFFLINE forbids" in found["problem"]
    assert "verdict" not in found
    monkeypatch.setattr(checks, "require_in_reach", lambda config, outputs: None)  # as if the hub could be asked
    found = form_parts.needs(suggested, suggested, tmp_path)
    assert found["problem"] == ""
    assert found["download"]["source"] == "TinyLlama/TinyLlama-1.1B-Chat-v1.0"


def test_a_chosen_model_is_offered_what_fits_it_and_the_presets_own_is_not(tmp_path):
    base = catalog.preset("kinder-reviews")
    smaller = base.model_copy(update={"model": base.model.model_copy(update={"source": "pocket-1m"})})
    assert form_parts.needs(smaller, base, tmp_path)["fit"] is None  # it fits
    off = smaller.model_copy(update={"ppo": base.ppo.model_copy(update={"learning_rate": 0.05})})
    found = form_parts.needs(off, base, tmp_path)
    assert found["model"] == "pocket-1m"
    assert found["fit"]["values"] == {"ppo.learning_rate": 2e-4}
    assert [(item["label"], item["after"]) for item in found["fit"]["differences"]] == [("Learning rate", "0.0002")]
    assert form_parts.needs(off, off, tmp_path)["fit"] is None


def checked(part: str, outputs: Path, read: Any = small_config, service: Any = None) -> list[dict[str, Any]]:
    return list(form_parts.checked_part(part, read, outputs, service or FakeService()))


def test_each_part_of_the_check_answers(tmp_path):
    first, last = checked("model", tmp_path)
    assert first["state"] == "asking"
    assert (last["part"], last["state"]) == ("model", "done")
    assert checked("prompts", tmp_path)[-1]["found"]["form"] == "chat"
    config = small_config(rewards=[{"kind": "length", "target": 9}], judges=[{"kind": "grammar"}])
    *_, last = checked("answers", tmp_path, lambda: config)
    assert [item["label"] for item in last["found"]["rewards"]] == ["Length (target 9)", "Grammar"]
    assert len(last["found"]["samples"]) == len(last["found"]["rewards"][0]["values"]) == 8


def test_what_goes_wrong_is_one_sentence_with_the_pages_words(tmp_path):
    def refuse():
        raise InvalidConfig([Problem("model.source", "There is no such model.")])

    class Broken(FakeService):
        def ask(self, kind, question, timeout_seconds=0.0):
            raise ServiceUnavailable("prompts.column: a.csv has no column `x`.")
            yield

    (only,) = checked("model", tmp_path, refuse)
    assert (only["state"], only["message"]) == ("error", "Model: There is no such model.")
    assert checked("prompts", tmp_path, service=Broken())[-1]["message"] == "Column: a.csv has no column `x`."


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
    *_, asking, last = checked("update", tmp_path, lambda: base)
    change = last["found"]["change"] if state == "done" else last["change"]
    assert asking["seconds"] == 2.0
    assert last["state"] == ("done" if state == "done" else "error")
    assert change["values"] == {"model.adapter.kind": "lora"}
    assert change["differences"][0]["label"] == "Adapter"
