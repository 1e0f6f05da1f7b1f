"""`make bench-gpu` before there is a GPU: its cases run at toy size on the processor."""

import json
import subprocess
import sys

from bench.gpu_cases import CASES, FEW_TOKENS
from playground.runs.children import torch_environment
from tests.support import PROJECT

ABSENT = ("gradio", "trl", "datasets", "bitsandbytes", "peft", "pandas", "typer")
WITHOUT = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({ABSENT!r}))  # as if they were not installed
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_toy(folder, cases, *before):
    """Exit code, and the answer of each case."""
    results = folder / "gpu.json"
    command = [sys.executable, *before, "bench/gpu.py", "--toy", "--device", "cpu", "--json", str(results)]
    done = subprocess.run(
        [*command, "--cases", *cases], cwd=PROJECT, env=torch_environment(), capture_output=True, text=True, timeout=500
    )
    assert results.exists(), done.stderr[-3000:]
    return done.returncode, json.loads(results.read_text(encoding="utf-8"))["cases"]


def test_the_cases_run_at_toy_size(tmp_path):
    code, answers = run_toy(tmp_path, list(CASES))
    assert {name: case.get("why") for name, case in answers.items()} == dict.fromkeys(CASES)
    assert code == 0
    assert answers["memory runs out"]["next_run"] == "finished"
    measured = answers["0.5B"]["bf16"]
    assert measured["completion_length"] == 6
    assert 0 < measured["rollout_share"] < 1
    assert measured["peak_gb"] > 0
    assert measured["estimated_gb"] > 0
    assert measured["times_floor"] > 1


def test_what_is_not_installed_and_what_fails_is_written_down_and_the_next_case_goes_on(tmp_path):
    """Without all that only some cases need, the default preset goes through the real worker."""
    bits = f"nf4, {FEW_TOKENS} tokens"
    cases = ["0.5B", "preset", "0.5B, TRL", bits, "devices"]
    code, answers = run_toy(tmp_path, cases, "-c", WITHOUT)
    outcomes = [answers[name]["outcome"] for name in cases]
    assert outcomes == ["failed", "ok", "skipped", "skipped", "ok"], answers
    assert answers["0.5B"]["why"].startswith("ModelNotFound: There is no model"), "nothing has made it yet"
    assert "trl" in answers["0.5B, TRL"]["why"]
    assert "peft" in answers[bits]["why"]
    assert answers["preset"]["updates"] == 1
    assert "typer" in answers["devices"]["doctor"]
    assert code == 1
