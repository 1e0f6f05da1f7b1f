"""What a worker adapts to the size of the model once it is known: threads and memory."""

from __future__ import annotations

import contextlib
import ctypes

import torch

from playground.setup.devices import available_cores
from playground.training.models.language_model import LanguageModel

M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
KEPT_BLOCK_BYTES = 2**19


def limit_threads(model: LanguageModel) -> None:
    """Leave a core to the page and the browser when the model is small: its matrix products take microseconds, and
    threads that wait for each other at every one are slower as soon as anything else wants the cores."""
    if model.is_small:
        torch.set_num_threads(max(1, min(torch.get_num_threads(), available_cores() - 1)))


def give_memory_back(model: LanguageModel) -> None:
    """Let blocks of half a MiB and more go back to the system when they are freed, where glibc manages the memory: it
    keeps blocks of up to 32 MiB, and hardly reuses them, because PyTorch asks for aligned ones. Measured with LoRA on
    11 million weights: 278 instead of 472 MB at the peak. A small model would pay for it in time."""
    with contextlib.suppress(OSError, AttributeError):
        if not model.is_small:
            ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, KEPT_BLOCK_BYTES)
