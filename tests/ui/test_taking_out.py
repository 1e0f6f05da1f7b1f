"""Saving from the page: where it may write, and what it says."""

from __future__ import annotations

import pytest

from playground.errors import ServiceUnavailable
from playground.exports import saving
from playground.exports.card import Written
from playground.ui.auth.access import Access, Action
from playground.ui.train import outcome_part
from tests.ui import fake_run


@pytest.fixture
def asked(monkeypatch):
    """What `saving.save` was asked, without weights."""
    calls = []

    def save(run, service, kind, target, *, replace):
        calls.append((run.id, kind, target, replace))
        return saving.Saved(target, Written(kind, 40, 10, "fp32"), 8_300_000)

    monkeypatch.setattr(saving, "save", save)
    return calls


def saver(outputs, service=True):
    """The server function, as it is registered."""
    return Access().guard_all(Action.SAVE, outcome_part.functions(outputs, service))[0]


def test_it_writes_below_the_outputs_folder_and_says_how_to_load(tmp_path, asked):
    fake_run.write_run(tmp_path, "one")
    save_model = saver(tmp_path)
    answer = save_model({"run": "one", "as": "merged"})
    folder = tmp_path / "saved" / "one-merged"
    assert asked == [("one", "merged", folder, True)]
    assert answer["error"] == "" and answer["folder"] == str(folder)
    assert "Saved after update 40, 8.3 MB." in answer["sentence"] and "from_pretrained" in answer["sentence"]
    assert save_model({"run": "one", "as": "adapter"})["folder"] == str(tmp_path / "saved" / "one-adapter")


def test_only_runs_of_this_folder_are_saved(tmp_path, asked):
    fake_run.write_run(tmp_path, "one")
    save_model = saver(tmp_path)
    for run in ("../one", "nobody", "_recorded", None, 7, "/etc"):
        assert save_model({"run": run, "as": "merged"})["error"] and asked == []
    assert save_model("one")["error"] and asked == []


def test_on_a_server_for_others_it_is_refused_with_the_command(tmp_path, asked):
    fake_run.write_run(tmp_path, "one")
    save_model = saver(tmp_path, None)
    assert "python -m playground save" in save_model({"run": "one"})["error"] and asked == []


def test_what_goes_wrong_is_one_sentence(tmp_path, monkeypatch):
    fake_run.write_run(tmp_path, "one")

    def save(*_, **__):
        raise ServiceUnavailable("The process ended.")

    monkeypatch.setattr(saving, "save", save)
    save_model = saver(tmp_path)
    assert save_model({"run": "one"}) == {"error": "The process ended."}
