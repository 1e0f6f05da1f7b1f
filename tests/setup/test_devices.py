"""Devices are found without torch: what NVIDIA's tool prints, and the processor that is always there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from playground.setup import devices

TABLE = "0, NVIDIA H200, 143771, 143000\n1, Tesla T4, 15360, [N/A]\nNo devices were found\n"


def test_the_table_of_nvidias_tool_is_read_and_what_is_not_a_gpu_left_out() -> None:
    (found,) = devices.parsed(TABLE)
    assert (found.name, found.label, found.kind) == ("cuda:0", "NVIDIA H200", "cuda")
    assert (found.total_bytes, found.free_bytes) == (143771 * 2**20, 143000 * 2**20)


def test_auto_is_the_first_gpu_and_names_mean_what_they_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!{sys.executable}\nprint({TABLE!r})\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    devices._gpus.cache_clear()
    try:
        assert [item.name for item in devices.available()][:2] == ["cuda:0", "cpu"]
        names = {
            name: getattr(devices.chosen(name), "name", None) for name in ("auto", "cuda", "cuda:0", "cpu", "cuda:3")
        }
        assert names == {"auto": "cuda:0", "cuda": "cuda:0", "cuda:0": "cuda:0", "cpu": "cpu", "cuda:3": None}
    finally:
        devices._gpus.cache_clear()


def test_a_machine_without_that_tool_has_a_processor_with_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    devices._gpus.cache_clear()
    cpu = devices.chosen("cpu")
    assert cpu is not None and 0 < cpu.free_bytes <= cpu.total_bytes
    devices._gpus.cache_clear()
