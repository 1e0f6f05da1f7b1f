"""What the machine is, in a few words for the header. Asks the operating system; never loads torch to find a GPU."""

from __future__ import annotations

from pathlib import Path

import psutil

from playground.setup.devices import available_cores

NVIDIA_GPUS = Path("/proc/driver/nvidia/gpus")


def facts() -> str:
    """For example "cpu, 2 cores, 3.1 of 24 GB"."""
    memory = psutil.virtual_memory()
    cores = available_cores()
    used, total = (memory.total - memory.available) / 2**30, memory.total / 2**30
    return f"{_device()}, {cores} core{'s' * (cores != 1)}, {used:.1f} of {total:.0f} GB"


def _device() -> str:
    count = len(list(NVIDIA_GPUS.glob("*"))) if NVIDIA_GPUS.is_dir() else 0
    return "cpu" if not count else "1 gpu" if count == 1 else f"{count} gpus"
