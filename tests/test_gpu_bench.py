"""`make bench-gpu` before there is a GPU: its cases run at toy size on the processor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import gpu_section
from bench.gpu_cases import CASES, FEW_TOKENS
from playground.runs.children import torch_environment
from tests.support import PROJECT

ABSENT = ("gradio", "trl", "datasets", "bitsandbytes", "peft", "pandas", "typer")
WITHOUT = f"""
import runpy, sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in {ABSENT!r} else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_toy(folder: Path, cases: list[str], *before: str) -> tuple[int, dict[str, Any]]:
    """Exit code, and what was found by case."""
    results = folder / "gpu.json"
    command = [sys.executable, *before, "bench/gpu.py", "--toy", "--device", "cpu", "--json", str(results)]
    done = subprocess.run(
        [*command, "--cases", *cases], cwd=PROJECT, env=torch_environment(), capture_output=True, text=True, timeout=500
    )
    assert results.exists(), done.stderr[-3000:]
    return done.returncode, json.loads(results.read_text(encoding="utf-8"))["cases"]


@pytest.mark.nightly
def test_the_cases_run_at_toy_size(tmp_path: Path) -> None:
    code, found = run_toy(tmp_path, list(CASES))
    assert {name: case.get("why") for name, case in found.items()} == dict.fromkeys(CASES)
    assert code == 0
    assert found["memory runs out"]["next_run"] == "finished"
    measured = found["0.5B"]["bf16"]
    assert measured["completion_length"] == 6
    assert 0 < measured["rollout_share"] < 1
    assert measured["peak_gb"] > 0
    assert measured["estimated_gb"] > 0
    assert measured["times_floor"] > 1


def test_what_is_not_installed_and_what_fails_is_written_down_and_the_next_case_goes_on(tmp_path: Path) -> None:
    """Without all that only some cases need, the default preset goes through the real worker."""
    bits = f"nf4, {FEW_TOKENS} tokens"
    cases = ["0.5B", "preset", "0.5B, TRL", bits, "devices"]
    code, found = run_toy(tmp_path, cases, "-c", WITHOUT)
    outcomes = [found[name]["outcome"] for name in cases]
    assert outcomes == ["failed", "ok", "skipped", "skipped", "ok"], found
    assert found["0.5B"]["why"].startswith("ModelNotFound: There is no model"), "nothing has made it yet"
    assert "trl" in found["0.5B, TRL"]["why"]
    assert "peft" in found[bits]["why"]
    assert found["preset"]["updates"] == 1
    assert "typer" in found["devices"]["doctor"]
    assert code == 1


def test_the_documentation_ends_with_the_latest_figures(tmp_path: Path) -> None:
    assert (PROJECT / "docs" / "performance.md").read_text(encoding="utf-8").endswith("\n\n" + gpu_section.latest())
    page = tmp_path / "performance.md"
    page.write_text(f"# Speed\n\nSome.\n\n{gpu_section.TITLE}\n\nOld.\n", encoding="utf-8")
    gpu_section.put_into(page)
    assert page.read_text(encoding="utf-8") == "# Speed\n\nSome.\n\n" + gpu_section.latest()


def test_figures_and_failures_are_on_the_page() -> None:
    slower = {"episodes_per_second": 12.34, "seconds_per_update": 12.0, "rollout_share": 0.4, "peak_gb": 28.0}
    measured = {**slower, "seconds_per_update": 5.0, "peak_gb": 7.0, "estimated_gb": 8.0, "times_floor": 3.0}
    ok = {"outcome": "ok", "seconds_of_case": 9.0}
    machine = {"date": "2026-01-01", "commit": "abc", "device": "A card", "memory_gb": 80.0}
    cases = {
        "0.5B": {**ok, "bf16": measured, "fp32": measured},
        "0.5B, TRL": {**ok, "fp32": slower},
        "nf4": {"outcome": "skipped", "why": "no bitsandbytes"},
        "devices": {"outcome": "failed", "why": "the page says otherwise"},
        "pause, stop, resume": {**ok, "bit_identical": True},
    }
    versions = {"torch": "2", "transformers": "5", "trl": "not installed"}
    page = gpu_section.section({"machine": {**machine, **versions}, "cases": cases})
    for words in (
        "| 0.5B, bf16 | 12.3 | 5.00 | 40% | 7.0 | 8.0 | 3.0x |",
        "| 0.5B, TRL, fp32 | 12.3 | 12.00 | 40% | 28.0 |  |  |",
        "**2.40x** as fast as TRL and takes **0.25x**",
        "- **nf4**: skipped: no bitsandbytes",
        "- **devices**: failed: the page says otherwise",
        "- **pause, stop, resume**: bit_identical yes.",
        "A card, 80.0 GB",
    ):
        assert words in page
    assert gpu_section.NO_FIGURES not in page
    assert gpu_section.NO_FIGURES in gpu_section.section(None)
