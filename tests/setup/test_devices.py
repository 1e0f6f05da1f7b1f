"""Devices are found without torch: what NVIDIA's tool prints, and the processor that is always there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from playground.errors import InvalidConfig
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


FOUR = [*(devices.Device(f"cuda:{n}", "A GPU", 80, 40 - n) for n in range(4)), devices.Device("cpu", "Processor", 8, 4)]


@pytest.mark.parametrize(
    ("device", "ranks", "members"),
    [
        ("auto", 1, ["cuda:0"]), ("auto", 3, ["cuda:0", "cuda:1", "cuda:2"]),
        ("all", 1, [f"cuda:{n}" for n in range(4)]),
        ("all", 4, [f"cuda:{n}" for n in range(4)]), ("cuda:1,3", 1, ["cuda:1", "cuda:3"]), ("cuda", 1, ["cuda:0"]),
        ("cuda:1,3", 2, ["cuda:1", "cuda:3"]), ("cpu", 1, ["cpu"]), ("cpu", 3, ["cpu"] * 3),
    ],
)  # fmt: skip
def test_each_process_of_a_run_has_a_device(
    monkeypatch: pytest.MonkeyPatch, device: str, ranks: int, members: list[str]
) -> None:
    monkeypatch.setattr(devices, "available", lambda: FOUR)
    assert devices.members(device, ranks) == members


@pytest.mark.parametrize(
    ("device", "ranks", "told"),
    [
        ("auto", 5, "ranks: 5 processes need as many devices, and `device` gives them cuda:0, cuda:1, cuda:2, cuda:3"),
        ("all", 2, "ranks: 2 processes"), ("cuda:1", 2, "ranks: 2 processes"), ("cuda:1,1", 2, "ranks"),
        ("cuda:0,7", 1, "device: There is no cuda:7 here. There is: cuda:0, cuda:1, cuda:2, cuda:3, cpu."),
        ("mps", 1, "device: There is no mps"),
    ],
)  # fmt: skip
def test_devices_that_are_not_there_or_not_enough_are_refused(
    monkeypatch: pytest.MonkeyPatch, device: str, ranks: int, told: str
) -> None:
    monkeypatch.setattr(devices, "available", lambda: FOUR)
    with pytest.raises(InvalidConfig) as refused:
        devices.members(device, ranks)
    assert str(refused.value).startswith(told)


def test_without_a_gpu_all_and_auto_are_processes_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "available", lambda: FOUR[-1:])
    assert devices.members("all", 2) == devices.members("auto", 2) == ["cpu", "cpu"]
    assert devices.members("all") == ["cpu"]


@pytest.mark.parametrize(
    ("named", "labels"),
    [(None, ["a", "b", "c"]), ("2,0", ["c", "a"]), ("1", ["b"]), ("", []), ("-1", []), ("GPU-1f,GPU-2e", ["a", "b"]),
     ("0,7", ["a"])],
)  # fmt: skip
def test_only_the_gpus_that_this_process_may_see_count_by_its_own_numbers(named: str | None, labels: list[str]) -> None:
    """Ray and Slurm give a run some of a machine's GPUs; for PyTorch these are cuda:0, cuda:1, ..."""
    gpus = [devices.Device(f"cuda:{number}", label, 1, 1) for number, label in enumerate("abc")]
    found = devices.visible(gpus, named)
    assert [gpu.label for gpu in found] == labels
    assert [gpu.name for gpu in found] == [f"cuda:{number}" for number in range(len(labels))]
