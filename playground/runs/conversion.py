"""Turning a GGUF file into a model folder: whole, or not at all. A process of its own does it, with the limits of the
model service; what is said of where it is comes every quarter of a second, and may raise to break off.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playground import plain_files
from playground.errors import ModelNotFound, OutputsNotWritable
from playground.runs.folder.files import made_beside
from playground.runs.model_service import ModelService

Progress = Callable[[str], None]
POLL_SECONDS = 0.25
MOST_SECONDS, LEAST_BYTES_A_SECOND = 600.0, 1e6  # of the process, before it is given up; of the file


def convert(file: Path, target: Path, progress: Progress = lambda text: None) -> Path:
    """Write the folder `target`, which may not be there yet. Raises: ModelNotFound, there is no such file;
    OutputsNotWritable; ServiceUnavailable, the file cannot be converted, or the process is gone; OSError; whatever
    `progress` raises."""
    file, target = Path(os.path.abspath(file)), Path(os.path.abspath(target.expanduser()))
    _require_gguf(file)
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise OutputsNotWritable(f"{target} exists already and is not empty. Choose another folder with --to.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with made_beside(target) as work:
        work.mkdir()
        make(file, work, progress)
        os.replace(work, target)
    return target


def _require_gguf(file: Path) -> None:
    """What can be said without waiting for a process. Raises: ModelNotFound."""
    try:
        with plain_files.open_plain(file, links=True) as opened:
            magic = opened.read(4)
    except OSError as error:
        remedy = "Give the path of a GGUF file that this user may read."
        raise ModelNotFound(f"The file {file} cannot be read: {error.strerror}. {remedy}") from None
    if magic != b"GGUF":
        raise ModelNotFound(f"{file} cannot be converted: it is no GGUF file; choose another one.")


def make(file: Path, folder: Path, progress: Progress) -> str:
    """Fill an empty folder. Returns the SHA-256 of its tensors (`gguf_conversion.digest`). Raises: as `convert`."""
    began = time.monotonic()
    most_seconds = MOST_SECONDS + file.stat().st_size / LEAST_BYTES_A_SECOND
    (answer,) = asked(
        "convert",
        {"file": str(file), "to": str(folder)},
        lambda: progress(f"converting {file.name}: {time.monotonic() - began:.0f} seconds"),
        most_seconds,
    )
    return str(answer["sha256"])


def asked(
    kind: str, question: dict[str, Any], tell: Callable[[], None], most_seconds: float | None = None
) -> list[dict[str, Any]]:
    """The answers to a question, of a service of its own. `tell` is called again and again until then; what it raises
    ends the service. Raises: ServiceUnavailable."""
    service, answers = ModelService(), []
    try:
        tell()
        for answer in service.ask(kind, question, most_seconds, tick_seconds=POLL_SECONDS):
            tell()
            if answer:
                answers.append(answer)
    finally:
        service.close()
    return answers
