"""Devices are found without torch: what NVIDIA's tool prints, and the processor that is always there."""

import sys

import pytest

from playground.setup import devices
from playground.setup.devices import Device
from tests.support import data_beside, fields_of

TABLES = data_beside(__file__, "devices.yaml")
TABLE = "0, NVIDIA H200, 143771, 143000\n1, Tesla T4, 15360, [N/A]\nNo devices were found\n"
GPUS = [f"cuda:{number}" for number in range(4)]
FOUR = [*(Device(name, "A GPU", 80, 40 - number) for number, name in enumerate(GPUS)), Device("cpu", "Processor", 8, 4)]


@pytest.fixture
def four(monkeypatch):
    monkeypatch.setattr(devices, "available", lambda: FOUR)


def test_nvidias_tool_is_asked_and_auto_is_the_first_gpu(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f"#!{sys.executable}\nprint({TABLE!r})\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    devices._gpus.cache_clear()
    try:
        gpu, cpu = devices.available()[:2]
        assert (gpu.name, gpu.label, gpu.kind, cpu.name) == ("cuda:0", "NVIDIA H200", "cuda", "cpu")
        assert (gpu.total_bytes, gpu.free_bytes) == (143771 * 2**20, 143000 * 2**20)
        assert 0 < cpu.free_bytes <= cpu.total_bytes
        names = {"auto": gpu, "cuda": gpu, "cuda:0": gpu, "cuda:3": None}
        assert {name: devices.chosen(name) for name in names} == names
        monkeypatch.setenv("PATH", "")
        devices._gpus.cache_clear()
        assert devices.available()[0].kind == "cpu"
    finally:
        devices._gpus.cache_clear()


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(("device", "ranks", "members"), TABLES["members"])
def test_each_process_of_a_run_has_a_device(device, ranks, members):
    assert devices.members(device, ranks) == members


@pytest.mark.usefixtures("four")
@pytest.mark.parametrize(("device", "ranks", "field"), TABLES["refused"])
def test_devices_that_are_not_there_or_not_enough_are_refused(device, ranks, field):
    assert fields_of(devices.members, device, ranks) == [field]


@pytest.mark.parametrize(("named", "labels"), TABLES["visible"])
def test_only_the_gpus_that_this_process_may_see_count_by_its_own_numbers(named, labels):
    """Ray and Slurm give a run some of a machine's GPUs; for PyTorch these are cuda:0, cuda:1, ..."""
    gpus = [Device(f"cuda:{number}", label, 1, 1) for number, label in enumerate("abc")]
    visible = devices.visible(gpus, named)
    assert [gpu.label for gpu in visible] == list(labels)
    assert [gpu.name for gpu in visible] == GPUS[: len(labels)]


@pytest.mark.parametrize(("facts", "gains"), TABLES["gains"])
def test_bf16_is_for_processors_that_gain_by_it(facts, gains, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "CPU_FACTS", tmp_path / "cpuinfo")
    devices.CPU_FACTS.write_text(facts, encoding="utf-8")
    assert devices.processor_has_bf16.__wrapped__() == gains
