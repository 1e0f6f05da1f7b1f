"""Where a run can be computed and how much memory is there, without loading torch: NVIDIA's own tool is asked for GPUs,
the operating system for the rest."""

from __future__ import annotations

import contextlib
import csv
import functools
import os
import platform
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import psutil

from playground.config.source_settings import SMALL_MODEL
from playground.errors import InvalidConfig, Problem

ASK_SECONDS = 4.0
KEEP_SECONDS = 5.0  # how long an answer of NVIDIA's tool is good; it takes a tenth of a second
MIB = 2**20
CPU_FACTS = Path("/proc/cpuinfo")
CGROUP = Path("/sys/fs/cgroup")  # version 2
NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")


@dataclass(frozen=True)
class Device:
    """One place to compute. `name` is what `device` in a configuration takes. Memory in bytes."""

    name: str
    label: str
    total_bytes: int
    free_bytes: int

    @property
    def kind(self) -> str:
        """cpu, cuda or mps."""
        return self.name.partition(":")[0]


class GpuCalls(NamedTuple):
    """A GPU that is there for one call at a time (ZeroGPU). `seconds`: the most that a call asks for; `factor`: how
    many seconds of a quota one of them counts."""

    device: Device
    seconds: int
    factor: float = 1.0


def on_zero_gpu() -> bool:
    """Whether this is a ZeroGPU Space, by what the hub sets there."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def available() -> list[Device]:
    """Every device of this machine, the one that `auto` takes first."""
    devices = visible([*_gpus(int(time.monotonic() / KEEP_SECONDS))], os.environ.get("CUDA_VISIBLE_DEVICES"))
    devices.append(Device("cpu", "Processor", *memory()))
    if sys.platform == "darwin" and platform.machine() == "arm64":
        devices.append(Device("mps", "Apple GPU", *memory()))
    return devices


def chosen(name: str) -> Device | None:
    """The device that a configuration means, of several the first; None where this machine does not have it."""
    devices = available()
    if name in ("auto", "all"):
        return devices[0]
    place = "cuda:0" if name == "cuda" else name.partition(",")[0]
    return next((device for device in devices if device.name == place), None)


def members(name: str, ranks: int = 1) -> list[str]:
    """The device of each process of a run on this machine, by rank. One rank also means: as many as devices are named.
    Raises: InvalidConfig, this machine does not have them, or they are not as many as the ranks."""
    names = [device.name for device in available()]
    gpus = [name for name in names if name.startswith("cuda")]
    kind, _, numbers = name.partition(":")
    if name == "all":
        named = gpus or ["cpu"] * ranks
    elif name == "auto" and gpus:
        named = gpus[:ranks]
    elif kind == "cuda":
        named = [f"cuda:{number}" for number in (numbers or "0").split(",")]
    elif name == "auto":
        named = ["cpu"] * ranks
    else:
        named = [name] * ranks
    if missing := next((missing_name for missing_name in named if missing_name not in names), None):
        raise InvalidConfig([Problem("device", f"{missing} is not here. Available: {', '.join(names)}.")])
    if ranks not in (1, len(named)) or len(set(named) - {"cpu"}) not in (0, len(named)):
        sentence = f"{ranks} processes need as many devices, and `device` gives them {', '.join(named)}"
        raise InvalidConfig([Problem("ranks", f"{sentence}. Set ranks to 1 for one process on each of these.")])
    return named


def computes_in_bf16(kind: str, parameters: int) -> bool:
    """Whether a model of so many parameters computes in bf16 by itself: on a GPU, and unless it is small on a processor
    that has it."""
    return kind == "cuda" or (kind == "cpu" and parameters >= SMALL_MODEL and processor_has_bf16())


@functools.cache
def processor_has_bf16() -> bool:
    """True where the processor gains by bf16: it has AMX, or AVX512_BF16 and is of AMD. Measured on a model of 135
    million weights: on an AMD EPYC three to four times as fast as fp32; on an Intel Xeon with AVX512_BF16 and without
    AMX an update took 1.7 times as long."""
    with contextlib.suppress(OSError):
        words = CPU_FACTS.read_text(encoding="utf-8").split()
        return "amx_bf16" in words or {"avx512_bf16", "AuthenticAMD"} <= {*words}
    return False


def available_cores() -> int:
    """Processor cores that this process may use; in a container often fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory() -> tuple[int, int]:
    """Total and free bytes of main memory; in a container, of its share."""
    memory_here = psutil.virtual_memory()
    total, free = int(memory_here.total), int(memory_here.available)
    try:
        limit = int((CGROUP / "memory.max").read_text(encoding="ascii"))
        used = int((CGROUP / "memory.current").read_text(encoding="ascii"))
        lines = (CGROUP / "memory.stat").read_text(encoding="ascii").splitlines()
        cache = next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
    except (OSError, ValueError):  # no container, or no limit ("max")
        return total, free
    return min(total, limit), min(free, max(0, limit - used + cache))


@functools.lru_cache(maxsize=2)
def _gpus(moment: int) -> tuple[Device, ...]:
    """What nvidia-smi says. `moment` makes an old answer a different question."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    query = "--query-gpu=index,name,memory.total,memory.free"
    command = [tool, query, "--format=csv,noheader,nounits"]
    try:
        table = subprocess.run(command, capture_output=True, text=True, timeout=ASK_SECONDS, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    rows = [row for row in csv.reader(table.splitlines(), skipinitialspace=True) if len(row) == 4]
    return tuple(
        Device(f"cuda:{number}", label[:60], int(total) * MIB, int(free) * MIB)
        for number, label, total, free in rows
        if number.isdigit() and total.isdigit() and free.isdigit()
    )


def visible(gpus: list[Device], named: str | None) -> list[Device]:
    """Those of a machine's GPUs that PyTorch sees, by its own numbers: Slurm, Ray and people name them in
    CUDA_VISIBLE_DEVICES. Of names that are no numbers only how many there are is known."""
    if named is None:
        return gpus
    words = [word.strip() for word in named.split(",")]
    if all(map(str.isdecimal, words)):
        by_number = {gpu.name.partition(":")[2]: gpu for gpu in gpus}
        chosen = [by_number[word] for word in words if word in by_number]
    elif words[0] in ("", "-1"):
        chosen = []
    else:
        chosen = gpus[: len(words)]
    return [replace(gpu, name=f"cuda:{number}") for number, gpu in enumerate(chosen)]


def machine_facts() -> str:
    """For example "cpu, 2 cores, 3.1 of 24 GB"."""
    memory = psutil.virtual_memory()
    used = (memory.total - memory.available) / 2**30
    total = memory.total / 2**30
    device = "cpu"
    if NVIDIA_GPUS.is_dir() and (gpus := len(list(NVIDIA_GPUS.glob("*")))):
        device = _counted(gpus, "gpu")
    return f"{device}, {_counted(available_cores(), 'core')}, {used:.1f} of {total:.0f} GB"


def _counted(number: int, what: str) -> str:
    if number == 1:
        return f"1 {what}"
    return f"{number} {what}s"
