"""Reading and writing the small files of a run: a reader never sees part of one, and a bad one never stops a reader."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import io
import itertools
import json
import mmap
import os
import re
import shutil
import tempfile
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from playground.errors import OutputsNotWritable, RunNotFound
from playground.plain_files import NotAcceptable, open_plain, read_bytes
from playground.runs.folder.records import Record, finite_or_null, parsed

R = TypeVar("R", bound=Record)
UNFINISHED = ".playground-unfinished-"
MAX_RECORD_BYTES = 1_000_000
MAX_PACKED_BYTES = 20_000_000  # unpacked
MAX_LINE_BYTES = 4_000_000
MOST_PACKED_LINES = 100_000
MOST_DAMAGED = 5_000  # lines of a file that are no records; what comes behind so many is not read
SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}  # of the machine: no run is dead or damaged for them


class JsonlTail:
    """Reads what was appended to a JSON-lines file since the last read, without lines that are no records. A torn last
    line waits for its rest. Of a run that is kept packed, the whole of `<file>.gz` comes at the first read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = self._damaged = 0

    def read_records(self, kind: type[R]) -> list[R]:
        """New records of a kind."""
        return list(self.records(kind))

    def records(self, kind: type[R], where: re.Pattern[bytes] | None = None) -> Iterator[R]:
        """New records of a kind, each read when it is asked for; lines without `where` are not even parsed."""
        for line in self._lines():
            if self._damaged >= MOST_DAMAGED:
                return
            if where is not None and not where.search(line):
                continue
            if (record := _record(line, kind)) is None:
                self._damaged += 1
            else:
                yield record

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """New lines as they are, each with the byte at which it begins."""
        for line in self._lines():
            yield self._offset - len(line), line

    def _lines(self) -> Iterator[bytes]:
        try:
            with open_plain(self.path) as file:
                if os.fstat(file.fileno()).st_size < self._offset:  # replaced by a shorter file: start again
                    self._offset = self._damaged = 0
                file.seek(self._offset)
                yield from self._whole_lines(file)
        except FileNotFoundError:
            if not self._offset:
                yield from itertools.islice(self._whole_lines(io.BytesIO(packed(self.path))), MOST_PACKED_LINES)
        except NotAcceptable:
            return

    def _whole_lines(self, file: BinaryIO) -> Iterator[bytes]:
        cut = False  # of a line that is too long the last part is no line either
        while line := file.readline(MAX_LINE_BYTES):
            whole = line.endswith(b"\n")
            if not whole and len(line) < MAX_LINE_BYTES:
                return
            self._offset += len(line)
            yield b"" if cut or not whole else line
            cut = not whole


def is_kept(path: Path) -> bool:
    """True where something was written to this file, or it is kept packed as `<path>.gz`."""
    return any(os.path.exists(name) and os.path.getsize(name) for name in (path, f"{path}.gz"))


def stamps(*paths: Path | str) -> tuple[int, ...]:
    """Changes when one of these files does: mtime in ns, bytes and inode of each, zeros for one that is not there."""
    numbers: list[int] = []
    for path in paths:
        try:
            info = os.stat(path)
            numbers += [info.st_mtime_ns, info.st_size, info.st_ino]
        except OSError:
            numbers += [0, 0, 0]
    return tuple(numbers)


def packed(path: Path, most_bytes: int = MAX_PACKED_BYTES) -> bytes:
    """What `<path>.gz` holds, at most so much of it; nothing where it is not there or damaged."""
    try:
        with open_plain(f"{path}.gz") as file, gzip.open(file) as content:
            return content.read(most_bytes)
    except (OSError, EOFError, zlib.error):
        return b""


def line_at(path: Path, start: int, size: int) -> bytes:
    """So many bytes of a file from there on, which may be kept packed. Raises: OSError."""
    try:
        with open_plain(path) as file:
            file.seek(start)
            return file.read(size)
    except FileNotFoundError:
        return packed(path)[start : start + size]


def is_locked(path: Path | str) -> bool:
    """True while a process holds this lock file. Raises: OSError, if the machine is too short of files to look."""
    try:
        with open_plain(path) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(file, fcntl.LOCK_UN)  # not by closing: a fork of this moment has a copy of the open file
            return False
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno in SHORTAGES:
            raise
        return False


def folders(parent: Path | str) -> list[str]:
    """The paths of the folders in a folder, sorted, without links and hidden ones; none where it is not there."""
    try:
        with os.scandir(parent) as entries:
            names = [entry.path for entry in entries if entry.name[0] != "." and entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(names)


def read_record(path: Path, kind: type[R]) -> R | None:
    """The one record that a small file holds; None where there is none that can be read. Raises: OSError, if the
    machine is too short of files or memory to look."""
    try:
        return _record(read_bytes(path, MAX_RECORD_BYTES), kind)
    except OSError as error:
        if error.errno in SHORTAGES:
            raise
        return None


def read_records(path: Path, kind: type[R]) -> list[R]:
    """All valid records of a JSON-lines file; damaged lines are left out."""
    return JsonlTail(path).read_records(kind)


def of_prompt(prompt_id: int) -> re.Pattern[bytes]:
    """What the line of a record of this prompt holds; others may hold it too."""
    return re.compile(rb'"prompt_id":\s*%d\b' % prompt_id)


def refuse_links(folder: Path) -> None:
    """Raises: RunNotFound if a run's folder, or anything directly in it, is a symbolic link: other files would be
    shown, or written, as a part of the run."""
    try:
        names = [folder.name] if folder.is_symlink() else []
        with os.scandir(folder) as entries:
            names += [entry.name for entry in entries if entry.is_symlink()]
    except (OSError, ValueError):  # it is not there, as who asked will find; ValueError: a NUL in its name
        return
    if names:
        raise RunNotFound(f"`{names[0][:60]}` of the run `{folder.name[:60]}` is a link, which is not followed.")


def make_outputs(outputs: Path | str) -> Path:
    """The outputs folder, made if needed. Raises: OutputsNotWritable."""
    outputs = Path(outputs)
    try:
        outputs.mkdir(mode=0o700, parents=True, exist_ok=True)  # what runs hold is for who started them
        tempfile.TemporaryFile(dir=outputs).close()
    except OSError as error:
        raise OutputsNotWritable(
            f"Cannot write to the outputs folder {outputs}: {error.strerror}. Choose another one with --outputs."
        ) from None
    return outputs


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one step, so that a reader sees the old or the new text and never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with open(temporary, "w", encoding="utf-8", opener=private) as file:
            file.write(text)
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)  # a part of it may be there: on a full disk every byte counts
        raise


@contextlib.contextmanager
def made_beside(target: Path) -> Iterator[Path]:
    """Where a file or a folder is made before it gets its name, in a folder beside, which goes afterwards in any case;
    those that killed processes have left there go first. Raises: OSError."""
    for left in target.parent.glob(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError), _held(left):
            shutil.rmtree(left)
    work = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=target.parent))
    try:
        with _held(work):
            yield work / target.name
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is free once its process has ended. Raises: OSError, if another holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def private(path: str, flags: int) -> int:
    """For `open(..., opener=private)`: a file that is made is for this user alone. A pipe in its place is an error."""
    return os.open(path, flags | os.O_NONBLOCK, 0o600)  # without it, a pipe without a reader would be waited for


def cut_torn_line(path: Path) -> None:
    """End a file of lines behind its last complete one; no reader has used what is cut off. For its only writer."""
    with contextlib.suppress(FileNotFoundError), open(path, "r+b") as file:
        if os.fstat(file.fileno()).st_size:  # an empty file cannot be mapped
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines:
                whole = lines.rfind(b"\n") + 1
            file.truncate(whole)


def _record(text: bytes, kind: type[R]) -> R | None:
    """From JSON. Halves of characters, which nothing could write again, come as escapes only."""
    try:
        value = json.loads(text)
        if rb"\ud" in text.lower():
            value = finite_or_null(value)
        return parsed(value, kind)
    except (ValueError, RecursionError):
        return None
