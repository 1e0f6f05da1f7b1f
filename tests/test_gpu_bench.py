"""`make bench-gpu` before there is a GPU: its cases run at toy size on the processor."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench import gpu_section
from playground.runs.children import torch_environment
from tests.support import PROJECT


def test_cases_run_at_toy_size_and_one_that_fails_is_written_down(tmp_path: Path) -> None:
    results, cases = tmp_path / "gpu.json", ["decode", "preset", "devices"]
    command = [sys.executable, "bench/gpu.py", "--toy", "--device", "cpu", "--json", str(results), "--cases", *cases]
    done = subprocess.run(command, cwd=PROJECT, env=torch_environment(), capture_output=True, text=True, timeout=500)
    assert results.exists(), done.stderr[-3000:]
    found = json.loads(results.read_text(encoding="utf-8"))["cases"]
    assert [found[name]["outcome"] for name in cases] == ["failed", "ok", "ok"], found
    assert found["decode"]["why"].startswith("ModelNotFound: The folder"), "nothing has made it yet"
    assert found["preset"]["updates"] == 1 and done.returncode == 1


def test_the_documentation_ends_with_the_latest_figures(tmp_path: Path) -> None:
    assert (PROJECT / "docs" / "performance.md").read_text(encoding="utf-8").endswith("\n\n" + gpu_section.latest())
    page = tmp_path / "performance.md"
    page.write_text(f"# Speed\n\nSome.\n\n{gpu_section.TITLE}\n\nOld.\n", encoding="utf-8")
    gpu_section.put_into(page)
    assert page.read_text(encoding="utf-8") == "# Speed\n\nSome.\n\n" + gpu_section.latest()
