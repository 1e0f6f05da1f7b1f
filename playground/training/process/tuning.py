"""What a worker adapts to its run: threads and memory to the size of the model, imports to what is asked for."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import torch

from playground.config import ModelReward, RunConfig
from playground.setup.devices import available_cores
from playground.training.models.language_model import LanguageModel

M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
KEPT_BLOCK_BYTES = 2**19


@contextlib.contextmanager
def without_compiler(config: RunConfig) -> Iterator[None]:
    """Imports that hand functions to PyTorch's compiler get them back as they are, unless something is quantized: peft
    imports bitsandbytes, which compiles functions that nothing else needs, and importing it takes a second."""
    learned = [spec.quantization for _, spec in config.scorers if isinstance(spec, ModelReward)]
    if {config.model.quantization, *learned} != {"none"}:
        yield
        return
    compiler = torch.compile
    setattr(torch, "compile", _as_it_is)  # noqa: B010 - mypy knows the other's signature
    try:
        yield
    finally:
        setattr(torch, "compile", compiler)  # noqa: B010


def _as_it_is(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    return function or (lambda decorated: decorated)


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
