"""The script for TRL starts as exported, trains, and leaves a model."""

import ast
import subprocess
import sys

import pytest

from playground import exports
from playground.runs.folder.records import ScoreScale
from tests.exports.test_scripts import small
from tests.support import PROJECT


@pytest.mark.parametrize("scale", [None, ScoreScale(mean=0.25, sd=2.5)])
def test_the_script_for_trl_starts_as_exported_and_leaves_a_model(tmp_path, scale):
    script, folder = tmp_path / "run_trl.py", tmp_path / "model"
    script.write_text(exports.trl_script(small(), scale), encoding="utf-8")
    command = [sys.executable, str(script), str(folder)]
    answer = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=600)
    assert answer.returncode == 0, answer.stderr
    logs = [ast.literal_eval(line) for line in answer.stdout.splitlines() if line.startswith("{")]
    assert [log["episode"] for log in logs] == [4, 8]
    assert all(float(log["loss/value_avg"]) > 0 for log in logs)
    assert (folder / "model.safetensors").is_file()
    assert (folder / "tokenizer.json").is_file()
    assert ("Scale(mean=0.25, sd=2.5, clip=None)" in answer.stdout) == (scale is not None)
