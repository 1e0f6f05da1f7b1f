"""What the watch knows of a checkpoint that is being written; how it ends runs is tried in tests/faults."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playground.training.models import checkpoint_files
from playground.training.models.language_model import Critic
from playground.training.process import watch
from playground.training.process.watch import CHECKPOINT_PAUSE_SECONDS, CHECKPOINT_SECONDS
from tests.training import tiny


def test_a_checkpoint_that_does_not_get_on_is_waited_for_no_longer_than_a_pause(tmp_path: Path) -> None:
    seen = watch._Checkpoint(tmp_path)
    assert not seen.goes_on(0, 0, saving=False), "there is none"
    work = tmp_path / f".tmp-update-000001-{os.getpid()}"
    work.mkdir()
    (work / "model.safetensors").write_bytes(b"1")
    assert seen.goes_on(10, 0, saving=False)
    assert not seen.goes_on(10 + CHECKPOINT_PAUSE_SECONDS, 0, saving=True)
    (work / "model.safetensors").write_bytes(b"12")
    assert seen.goes_on(50, 0, saving=True)


def test_what_an_earlier_process_left_is_not_taken_for_one_that_is_all_written(tmp_path: Path) -> None:
    left = tmp_path / f".tmp-update-000001-{os.getpid() + 1}"
    left.mkdir()
    (left / "trainer.json").write_text("{}")
    seen = watch._Checkpoint(tmp_path)
    seen.goes_on(0, 0, saving=False)
    assert not seen.goes_on(CHECKPOINT_PAUSE_SECONDS, 0, saving=False)


def test_a_checkpoint_that_is_all_written_is_waited_for_until_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked in each step of the real writing, as after a long time without growth."""
    seen, told = watch._Checkpoint(tmp_path), []

    def watched(name: str) -> None:
        original = getattr(checkpoint_files, name)

        def asking(*arguments: Any) -> Any:
            seen.goes_on(0, 0, saving=True)
            long = seen.goes_on(CHECKPOINT_SECONDS - 1, 0, saving=True)
            told.append((name, arguments[0].name if name == "_bring_to_disk" else "", long))
            assert not seen.goes_on(CHECKPOINT_SECONDS, 0, saving=True), "two minutes at the most"
            return original(*arguments)

        monkeypatch.setattr(checkpoint_files, name, asking)

    for name in ("_save_tensors", "_bring_to_disk", "listed"):
        watched(name)
    model = tiny.model()
    checkpoint_files.save(tmp_path, 1, model, Critic(model), tiny.tokens(), {})
    in_the_end = told.pop()
    assert in_the_end[:2] == ("_bring_to_disk", tmp_path.name), "it has its name by now"
    assert {(name, long) for name, _, long in told} == {
        ("_save_tensors", False), ("_bring_to_disk", True), ("listed", True)
    }  # fmt: skip


def test_a_folder_that_gets_its_name_while_it_is_looked_into_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / ".tmp-update-000001-1"
    (work / "inner").mkdir(parents=True)
    scandir = os.scandir

    def renamed_first(path: Any) -> Iterator[os.DirEntry[str]]:
        if Path(path) == work:
            work.rename(tmp_path / "update-000001")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", renamed_first)
    watch._Checkpoint(tmp_path).goes_on(0, 0, saving=True)
    assert (tmp_path / "update-000001").is_dir()
