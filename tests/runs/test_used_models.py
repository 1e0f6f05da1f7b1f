"""Models that runs have used are offered again: the newest first, each once, none that has gone."""

from __future__ import annotations

from pathlib import Path

from playground.runs.start import launcher, used_models
from tests.support import small_config, wait_until


def test_the_newest_comes_first_and_each_once(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    mine = str(tmp_path / "mine")
    for source in ("a/b", mine, "c/d", "a/b", "pocket-2m"):
        used_models.remember(tmp_path, source)
    assert used_models.names(tmp_path) == ["a/b", "c/d", mine]
    (tmp_path / "mine").rmdir()
    assert used_models.names(tmp_path) == ["a/b", "c/d"]
    for number in range(30):
        used_models.remember(tmp_path, f"a/{number}")
    assert len(used_models.names(tmp_path)) == used_models.MOST


def test_a_list_that_is_not_one_is_empty(tmp_path: Path) -> None:
    assert used_models.names(tmp_path) == []
    for text in ("{", '{"a": 1}', "[1, null]"):
        (tmp_path / used_models.FILE).write_text(text, encoding="utf-8")
        assert used_models.names(tmp_path) == []


def test_a_start_is_remembered(outputs: Path, fake_worker: None) -> None:
    run, _ = launcher.start(small_config(model={"source": "someone/tiny"}), outputs)
    assert used_models.names(outputs) == ["someone/tiny"]
    wait_until(lambda: run.status().ended)
