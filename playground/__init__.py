"""RLHF Playground: train a small language model with PPO, watch it, and compare it with its old self."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playground.api import (
        PlaygroundError,
        Run,
        RunFailed,
        SweepRuns,
        TrainedReward,
        Watch,
        open_run,
        sweep,
        train,
        train_reward,
    )

__all__ = [
    "PlaygroundError",
    "Run",
    "RunFailed",
    "SweepRuns",
    "TrainedReward",
    "Watch",
    "__version__",
    "open_run",
    "sweep",
    "train",
    "train_reward",
]  # fmt: skip
__version__ = "0.1.0"

if sys.version_info < (3, 11):  # noqa: UP036 - before anything that an older one cannot import
    space = 'in the header of a Space: python_version: "3.12"'
    sys.exit(f"Python 3.11 or newer is needed. Install one, then: make run PYTHON=python3.12 ({space}).")
if sys.platform == "win32":
    sys.exit(
        "RLHF Playground runs on Linux and macOS. On Windows use WSL: `wsl --install` in PowerShell, then `make run` "
        "in its Ubuntu."
    )


_within = Path(__file__).resolve().parent / "project"  # of an installed package: setup.py makes it
INSTALLED = _within.is_dir()
PROJECT_FILES = _within if INSTALLED else _within.parents[1]  # has presets/, lessons/, examples/, requirements*.txt


def to_install(extra: str = "") -> str:
    """The command that installs what the playground runs on, or what one of its extras needs."""
    if INSTALLED:
        return f"pip install 'rlhf-playground[{extra}]'" if extra else "pip install rlhf-playground"
    return f"pip install -r requirements-{extra}.txt" if extra else "pip install -r requirements.txt"


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """What Python's callers need, imported when it is asked for: every module passes here, the light ones too."""
    if name not in __all__:
        raise AttributeError(f"module 'playground' has no attribute '{name}'")
    from playground import api

    return getattr(api, name)


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Around the import of a large library: nothing is searched for garbage meanwhile, nor what has come ever after.
    Searching takes a quarter of the time in which PyTorch is imported, and a third of Gradio's."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


def missing(error: ModuleNotFoundError) -> str:
    """What to do about a package that is not there. Raises the error itself where the module is one of our own."""
    if str(error.name).startswith("playground"):
        raise error
    first = f"The package `{error.name}` is not installed for {sys.executable}."
    if INSTALLED:
        return f"{first} {to_install()} installs all of them."
    return (
        f"{first} `make run` installs all of them into .venv and opens the page; after that "
        "`.venv/bin/python -m playground` is the command line."
    )
