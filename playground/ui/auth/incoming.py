"""The folder for files that browsers send: private, bounded, and emptied of what has lain there long.

The file of an upload lands there before any handler is asked; what a handler takes is copied to where uploads are kept
(`uploads`), and stays here too. Each server has a folder of its own in the outputs folder; what a killed one left goes
by its age. `serving` makes it before Gradio is asked where files are, `demo` gives it an address, and `middleware` asks
it for room.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from playground.runs.folder.files import make_outputs
from playground.ui.auth.body import too_large
from playground.ui.auth.uploads import safe_name

GRADIO_VARIABLE = "GRADIO_TEMP_DIR"
FOLDER = ".incoming"  # in the outputs folder
OPENED = "/proc/self/fd"  # where Linux has names for what a process has open
KEEP_SECONDS = 3600.0
HANDLED_SECONDS = 60.0  # after which a file that came may go for another: handlers take theirs at once
FILE_BYTES = 64_000  # what each counts at least, so that there are never too many to look at
FULL = "This page is receiving as many files as it has room for. Try again in a minute."


class _File(NamedTuple):
    """One of those that lie there."""

    changed_at: float
    num_bytes: int
    path: str


class Incoming:
    """The folder of one server, there from `open` to `close`. Its size is asked about in the thread of the event loop
    only.

    Args:
        most_bytes: of all files there together; None is without limit. most_of_one: of each.
    """

    def __init__(self, outputs: Path, most_bytes: int | None = None, most_of_one: int | None = None) -> None:
        self.most_bytes, self.most_of_one, self._outputs = most_bytes, most_of_one, Path(outputs)
        self._parent = self.folder = self._outputs / FOLDER
        self.told = str(self.folder)  # what Gradio calls it, to browsers too
        self._opened = -1
        self._link: Path | None = None  # where a system has no /proc
        self._replaced: str | None = None  # what GRADIO_TEMP_DIR was; "" where it was not set
        self._expected = 0  # bytes of requests that are let in and still come

    def open(self, within: Path | None = None) -> None:
        """Make the folder. Raises: OutputsNotWritable.

        Args:
            within: where Gradio puts files already, if other apps of this process do too. Else Gradio is told to put
                them here: it takes no file from a browser that lies elsewhere.
        """
        try:
            self._make(within or make_outputs(self._outputs))
        except OSError:  # such as another user's /tmp/gradio, where no app of this process can put any
            within = None
            self._make(make_outputs(self._outputs))
        self.told = str(self.folder)
        if within is None:
            self._opened = os.open(self.folder, os.O_RDONLY)
            if os.path.isdir(name := f"{OPENED}/{self._opened}"):  # by which no one learns where the outputs are
                self.told = name
            else:
                self._link = Path(tempfile.mkdtemp()) / "incoming"
                self._lead()
                self.told = str(self._link)
            self._replaced = os.environ.get(GRADIO_VARIABLE, "")
            os.environ[GRADIO_VARIABLE] = self.told

    def _make(self, within: Path) -> None:
        self._parent = within / FOLDER
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(dir=self._parent)).resolve()

    def _lead(self) -> None:
        """Let the link lead to the folder; systems tidy their temporary folders."""
        if self._link and not self._link.is_symlink():
            self._link.parent.mkdir(mode=0o700, exist_ok=True)
            self._link.symlink_to(self.folder)

    def expect(self, num_bytes: int) -> bool:
        """Whether there is room for an upload of so many bytes; if so, `arrived` has to follow. Where there is none,
        the oldest files go first."""
        if self.most_bytes is not None:
            files = self._files()
            total = self._expected + num_bytes + sum(file.num_bytes for file in files)
            for file in files:
                if total <= self.most_bytes or time.time() - file.changed_at < HANDLED_SECONDS:
                    break
                Path(file.path).unlink(missing_ok=True)
                total -= file.num_bytes
            if total > self.most_bytes:
                return False
        self._expected += num_bytes
        return True

    def arrived(self, num_bytes: int) -> None:
        """An upload that was expected is whole, or has broken off."""
        self._expected -= num_bytes

    async def receive(self, request: Request) -> Response:
        """Answer an upload as Gradio's own address does, with the path of its file in a list; `files` may hold one.
        What else a request brings, and what breaks off, was in temporary files without a name. Its own would stay:
        docs/upstream.md#uploads-leave-files-that-no-one-is-told-about"""
        try:
            async with request.form(max_files=1, max_fields=10) as form:
                files = [item for item in form.getlist("files") if isinstance(item, UploadFile)]
                if not files and "files" in form:
                    raise ValueError("`files` holds no file")
                paths = [await asyncio.to_thread(self._put, item) for item in files]
        except (ValueError, LookupError) as error:  # of the parser, of a charset
            return JSONResponse({"error": f"This upload cannot be read: {error}. Send it again."}, 400)
        if None in paths:
            status, sentence = too_large(self.most_of_one or 0)
            return JSONResponse({"error": sentence}, status)
        return JSONResponse(paths)

    def _put(self, file: UploadFile) -> str | None:
        """The path of a file of its own; None where it is too large."""
        if self.most_of_one is not None and (file.size or 0) > self.most_of_one:
            return None
        folder = Path(tempfile.mkdtemp(dir=self.folder)).name
        name = safe_name(file.filename or "")
        with open(self.folder / folder / name, "xb") as target:
            shutil.copyfileobj(file.file, target)
        return f"{self.told}/{folder}/{name}"

    def sweep(self) -> None:
        """Remove what has lain there for long, files and then folders; also those of a server that was killed."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it may have been tidied away by hand
        os.utime(self.folder)  # of a living one it stays
        if self._opened >= 0 and not os.path.samefile(self.folder, self._opened):
            anew = os.open(self.folder, os.O_RDONLY)
            os.dup2(anew, self._opened, inheritable=False)
            os.close(anew)
        self._lead()
        old = time.time() - KEEP_SECONDS
        for file in self._files():
            if file.changed_at < old:
                Path(file.path).unlink(missing_ok=True)
        for folder, _, _ in os.walk(self._parent, topdown=False):
            with contextlib.suppress(OSError):  # it is not empty, or has gone
                if os.lstat(folder).st_mtime < old:
                    os.rmdir(folder)

    def close(self) -> None:
        """Remove the folder; Gradio puts files again where it did before."""
        if self.folder != self._parent:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self._opened >= 0:
            os.close(self._opened)
            self._opened = -1
        if self._link:
            shutil.rmtree(self._link.parent, ignore_errors=True)
            self._link = None
        if self._replaced is not None:
            os.environ.pop(GRADIO_VARIABLE, None)
            if self._replaced:
                os.environ[GRADIO_VARIABLE] = self._replaced
            self._replaced = None

    def _files(self) -> list[_File]:
        """All that lie there, the oldest first."""
        files = []
        for folder, _, names in os.walk(self._parent):
            for name in names:
                path = os.path.join(folder, name)
                with contextlib.suppress(FileNotFoundError):
                    info = os.lstat(path)
                    files.append(_File(info.st_mtime, max(FILE_BYTES, info.st_size), path))
        return sorted(files)
