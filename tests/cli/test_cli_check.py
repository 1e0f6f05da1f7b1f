"""`check`: what it says of a student's file, and that it survives one that exits, loops or floods."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from bench import exercise
from playground.cli import exercise_commands
from playground.config import local_only
from tests.cli.conftest import Run
from tests.support import PROJECT

EXAMPLE = (PROJECT / "examples" / "minimal_rlhf.py").read_text(encoding="utf-8")
EXERCISE = (PROJECT / "examples" / "exercise.py").read_text(encoding="utf-8")


def written(folder: Path, text: str, name: str = "mine.py") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_each_function_is_right_wrong_or_missing(run: Run, tmp_path: Path) -> None:
    start, end = EXAMPLE.index("@torch.no_grad()\ndef compute_kl"), EXAMPLE.index("def ppo_step")
    half = EXERCISE + EXAMPLE[start:end].replace("-settings.kl_coef * kl", "settings.kl_coef * kl")
    result = run("check", written(tmp_path, half))
    assert result.code == 1
    assert result.err == ""
    assert result.out.splitlines()[:4] == [
        "generate_with_logprobs: not written yet",
        "compute_kl: right",
        "compute_advantages: wrong",
        "    Case: two tokens, nothing but KL.",
    ]
    assert "    Hint: The KL has the wrong sign: drift costs, so r_t = -kl_coef * kl_t." in result.out
    assert "given  kl = [[0.4, -0.2]]" in result.out
    assert "expected  returns = [[-0.105, 0.1]]" in result.out
    assert result.last_line == "1 of 5 are right."


def test_a_notebook_is_checked_without_its_commands_and_its_cells_that_fail(run: Run, tmp_path: Path) -> None:
    head, functions, _ = exercise.pieces(EXAMPLE)
    cells = ["%matplotlib inline\n" + head, "!ls", "1 / 0", EXAMPLE[len(head) :]]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    result = run("check", written(tmp_path, nbformat.writes(notebook), "mine.ipynb"), "--json")
    assert result.code == 0
    assert result.data["right"] == 5
    assert functions.keys() == result.data["functions"].keys()
    assert result.data["left_out"] == ["ZeroDivisionError: division by zero, in line 1"]
    assert exercise_commands.FUNCTIONS == exercise.FUNCTIONS


def test_one_function_that_ends_the_process_prints_a_flood_or_loops_takes_no_other_with_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exercise_commands, "CHECK_SECONDS", 20.0)
    text = EXAMPLE.replace("    groups = [", "    while True: pass\n    groups = [")
    text = text.replace(
        "    mask, tokens = episodes.mask", "    import os; os._exit(0)\n    mask, tokens = episodes.mask"
    )
    text = text.replace("    mask, tokens, clip", "    print('x' * 10**7)\n    mask, tokens, clip")
    result = run("check", written(tmp_path, text), "--json")
    assert result.code == 1
    said = {name: found.get("error", found["verdict"]) for name, found in result.data["functions"].items()}
    assert said == {
        "generate_with_logprobs": "right",
        "compute_kl": "It ended its process, or wrote something other than an answer to its pipe, and was stopped.",
        "compute_advantages": "right",
        "ppo_step": "right",
        "train": "It took longer than 20 s and was stopped.",
    }


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("mine.txt", "", "is neither a .py nor an .ipynb file"),
        ("mine.ipynb", "{", "is not a notebook"),
        ("mine.ipynb", json.dumps({"cells": [1]}), "is not a notebook"),
        ("mine.py", "x = 1\n" * 200_000, "larger than 1 MB"),
        ("none.py", None, "No such file"),
    ],
)
def test_what_is_no_exercise_is_refused_in_a_sentence(
    run: Run, tmp_path: Path, name: str, text: str | None, said: str
) -> None:
    file = tmp_path / name if text is None else written(tmp_path, text, name)
    result = run("check", file)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""


def test_a_file_that_cannot_be_run_is_said_to_be_so(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exercise_commands, "LOAD_SECONDS", 5.0)
    for text, said in (
        ("import torch\n\nx = y\n", "NameError: name 'y' is not defined, in line 3"),
        ("while True: pass", "took longer than 5 s and was stopped"),
    ):
        result = run("check", written(tmp_path, text))
        assert result.code == 2
        assert said in result.err
        assert result.out == ""


def test_where_others_are_served_nothing_is_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(local_only.MODE, "classroom")
    result = run("check", PROJECT / "examples" / "exercise.py")
    assert result.code == 1
    assert "on your own machine only" in result.err
