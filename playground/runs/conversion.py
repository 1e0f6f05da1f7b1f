"""Turning a GGUF file into a model folder: whole, or not at all. A process of its own does it, with the limits of the
model service; what is said of where it is comes every quarter of a second, and may raise to break off.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, TypeVar

from playground.errors import OutputsNotWritable
from playground.models import gguf_files
from playground.runs.folder.files import made_beside
from playground.runs.model_service import ModelService

T = TypeVar("T")
Progress = Callable[[str], None]
POLL_SECONDS = 0.25
SILENCE_SECONDS = 600.0  # of the process, before it is given up


def convert(file: Path, target: Path, progress: Progress = lambda text: None) -> Path:
    """Write the folder `target`, which may not be there yet. Raises: ModelNotFound, the file cannot be converted;
    OutputsNotWritable; ServiceUnavailable, the process says why or is gone; OSError; whatever `progress` raises."""
    file, target = Path(os.path.abspath(file)), Path(os.path.abspath(target.expanduser()))
    gguf_files.check(file)
    if target.is_symlink() or (target.exists() and (not target.is_dir() or any(target.iterdir()))):
        raise OutputsNotWritable(f"{target} exists already and is not empty. Choose another folder with --to.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with made_beside(target) as work:
        work.mkdir()
        make(file, work, progress)
        os.replace(work, target)
    return target


def make(file: Path, folder: Path, progress: Progress) -> str:
    """Fill an empty folder. Returns the SHA-256 of its tensors (`gguf_conversion.digest`). Raises: as `convert`."""
    answers: list[dict[str, Any]] = [{"done": 0.0}]
    service = ModelService()

    def work() -> None:
        answers.extend(service.ask("convert", {"file": str(file), "to": str(folder)}, SILENCE_SECONDS))

    def tell() -> None:
        progress(f"converting {file.name}: {answers[-1].get('done', 1.0):.0%}")

    beside(work, tell, service.close)
    return str(answers[-1]["sha256"])


def beside(work: Callable[[], T], tell: Callable[[], None], stop: Callable[[], None]) -> T:
    """What `work` returns, done in another thread while `tell` is called again and again. What `tell` raises ends it:
    then, and when it has ended by itself, `stop` is called until the thread is over."""
    done: Future[T] = Future()

    def do() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # for the caller
            done.set_exception(error)

    threading.Thread(target=do, daemon=True).start()  # of a pool, it would hold up the end of this process
    try:
        while not done.done():
            tell()
            wait([done], POLL_SECONDS)
    finally:
        stop()
        while not done.done():
            stop()
            wait([done], POLL_SECONDS)
    return done.result()
