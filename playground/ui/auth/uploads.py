"""Files that a person uploads as prompts: looked at, then kept under `<outputs>/uploads/`, where workers find them.

The name of a kept file begins with a digest of what is in it, so the same file uploaded twice is kept once, and a run's
configuration says exactly which text it was. The page calls such a file `uploads/NAME` (`public`, `meant`): where the
outputs folder lies is not told. Plain Python; `form_parts` and `train_page` call it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig
from playground.data import claim_files, dialogues, row_files
from playground.errors import OutputsNotWritable, PlaygroundError, PromptsUnusable, in_words
from playground.runs import history
from playground.runs.folder.files import made_beside, make_outputs
from playground.setup import catalog, describe, limits
from playground.setup.limits import Limits

FOLDER = catalog.UPLOADS
MAX_UPLOAD_BYTES = 20_000_000
MAX_NAME_CHARACTERS = 60
FILE_TYPES = [*row_files.KINDS, ".gz"]

_keeping = threading.Lock()


class KeptUpload(NamedTuple):
    """A file as it is kept. `column` is None where a person has to choose one; `sentence` says what is in it."""

    path: Path
    columns: tuple[str, ...]
    column: str | None
    sentence: str


def keep(path: Path, outputs: Path) -> KeptUpload:
    """Look into an uploaded file and keep it.

    Raises:
        TableUnusable: if it is too large or cannot be read as rows. OutputsNotWritable.
    """
    table = row_files.shape(path, MAX_UPLOAD_BYTES)
    copy = put(path, outputs)
    rows = f"{path.name}: {table.in_words()}"
    if row_files.kind_of(path) == ".txt":
        return KeptUpload(copy, (), None, f"{rows}, one prompt each.")
    if claim_files.is_source(str(path)):
        claim_files.read(path)
        content = "each a question with a right and a wrong answer, from which claims are made"
        return KeptUpload(copy, table.columns, None, f"{rows}, {content}.")
    try:
        read = dialogues.read_of(table.columns, None, path.name)
    except PromptsUnusable:
        return KeptUpload(copy, table.columns, None, f"{rows}. Choose the column that holds the prompts.")
    return KeptUpload(copy, table.columns, read.column, f"{rows}. {read.in_words(table.columns)}")


@contextlib.contextmanager
def room_for(path: Path, capped: Limits, outputs: Path) -> Iterator[None]:
    """Around keeping an uploaded file: one after the other, so that no two take the same room. Where there is a cap on
    all kept files together, those that were kept longest ago go for it, but for what a living or waiting run names.

    Raises:
        PromptsUnusable: with why the file is not taken; see `limits.upload_problem`.
    """
    if problem := limits.upload_problem(path, capped._replace(uploads_bytes=None), outputs):
        raise PromptsUnusable(problem)  # before anything has to go for it
    with _keeping:
        with contextlib.suppress(OSError):  # `upload_problem` has the sentence for it
            _make_room(os.stat(path).st_size, capped, outputs)
        if problem := limits.upload_problem(path, capped._replace(upload_rows=None), outputs):
            raise PromptsUnusable(problem)
        yield


def _make_room(size: int, capped: Limits, outputs: Path) -> None:
    folder = outputs / FOLDER
    if capped.uploads_bytes is None or folder.is_symlink():
        return
    sizes = {item: limits.kept_bytes(item.lstat().st_size) for item in folder.glob("*")}
    total = sum(sizes.values()) + limits.kept_bytes(size)
    if total <= capped.uploads_bytes:
        return
    used, going = history.in_use(outputs), []
    for item in reversed(_kept_paths(outputs)):
        if total > capped.uploads_bytes and str(item.resolve()) not in used:
            going.append(item)
            total -= sizes[item]
    if total > capped.uploads_bytes:  # they would go for nothing
        return
    for item in going:
        item.unlink(missing_ok=True)


def put(path: Path, outputs: Path) -> Path:
    """Copy a file that has been looked into to where uploads are kept; whole, and under a name of our own.

    Raises:
        OutputsNotWritable: a full disk; also if the folder is a link that leads elsewhere.
    """
    folder = make_outputs(outputs) / FOLDER
    if folder.is_symlink():
        raise OutputsNotWritable(f"{FOLDER} is a link, which is not followed: put a folder in its place.")
    try:
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[: describe.DIGEST_CHARACTERS]
        folder.mkdir(exist_ok=True)
        copy = folder.resolve() / f"{digest}-{safe_name(path.name)}"
        if copy.is_symlink() or not copy.exists():
            with made_beside(copy) as partial:
                shutil.copyfile(path, partial)
                os.replace(partial, copy)
        else:
            os.utime(copy)  # asked for again, it is among the last to go
    except OSError as error:
        raise OutputsNotWritable(in_words(error)) from None
    return copy


def safe_name(name: str) -> str:
    """A file name of plain letters that keeps its ending."""
    ending = row_files.kind_of(name) or ""
    if name.lower().endswith(".gz"):
        ending += ".gz"
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", name[: len(name) - len(ending)]).strip("-")
    return f"{stem[:MAX_NAME_CHARACTERS] or 'prompts'}{ending}"


def kept_files(outputs: Path) -> list[tuple[str, str]]:
    """What has been uploaded before, the newest first, as (the name that it had, its name on the page)."""
    return [(describe.source_label(str(path)), f"{FOLDER}/{path.name}") for path in _kept_paths(outputs)]


def _kept_paths(outputs: Path) -> list[Path]:
    paths = [
        path
        for path in (Path(outputs) / FOLDER).glob("*")
        if describe.UPLOADED.fullmatch(path.name) and path.is_file() and not path.is_symlink()
    ]
    return sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)


def public(config: RunConfig, outputs: Path) -> RunConfig:
    """The configuration as the page shows it: an uploaded file by its name there."""
    path = Path(config.prompts.source)
    if path.parent != (Path(outputs) / FOLDER).resolve():
        return config
    prompts = config.prompts.model_copy(update={"source": f"{FOLDER}/{path.name}"})
    return config.model_copy(update={"prompts": prompts})


def meant(source: Any, outputs: Path) -> Any:
    """What comes back from the page: of an uploaded file its path, else the source as it is."""
    path = None
    if isinstance(source, str) and source.startswith(f"{FOLDER}/"):
        path = Path(outputs) / source
    is_kept = path and describe.UPLOADED.fullmatch(path.name) and path in _kept_paths(outputs)
    if path and is_kept:
        return str(path.resolve())
    return source


def problem_of(error: PlaygroundError) -> str:
    """An upload's error as a sentence on its own."""
    return f"The file was not accepted. {error}"
