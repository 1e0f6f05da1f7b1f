"""Reading files from untrusted sources: ordinary files only, of a bounded size, links not followed; strict JSON. Every
fault is an OSError or a ValueError whose text fits into the caller's sentence."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

MAX_DEPTH = 100  # levels of nested JSON or YAML; nothing that is read here has ten


class NotAcceptable(OSError):
    """A file that is there and is not read. `strerror` says why, in words that can follow a colon."""

    def __init__(self, code: int, reason: str, path: Path | str) -> None:
        super().__init__(code, reason, str(path))


def open_plain(path: Path | str, most_bytes: int | None = None, *, links: bool = False) -> BinaryIO:
    """Open an ordinary file for reading, of at most `most_bytes`; `links`: follow a symbolic link in the last place.
    Raises: OSError: it is not there, no ordinary file, too large, or a link; `strerror` says which."""
    # without O_NONBLOCK, opening a pipe that no one writes to would wait forever
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except ValueError:  # a path with a NUL in it
        raise NotAcceptable(errno.EINVAL, "its name has a NUL byte", repr(path)) from None
    except OSError as error:
        if error.errno == errno.ELOOP and not links:
            raise NotAcceptable(errno.ELOOP, "it is a symbolic link, which is not followed here", path) from None
        raise
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise NotAcceptable(errno.EISDIR, "it is a folder", path)
        if not stat.S_ISREG(status.st_mode):
            raise NotAcceptable(errno.EINVAL, "it is not an ordinary file", path)
        if most_bytes is not None and status.st_size > most_bytes:
            raise NotAcceptable(errno.EFBIG, f"it is larger than {most_bytes / 1e6:g} MB", path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path | str, most_bytes: int, *, links: bool = False) -> bytes:
    """All of a file, which may not be larger than `most_bytes`, not even while it grows. Raises: see `open_plain`."""
    with open_plain(path, most_bytes, links=links) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise NotAcceptable(errno.EFBIG, f"it is larger than {most_bytes / 1e6:g} MB", path)
    return data


def read_json(path: Path | str, most_bytes: int, *, links: bool = False) -> Any:
    """A file of strict JSON. Raises: OSError, see `open_plain`; ValueError, see `parse_json`, also if not UTF-8."""
    return parse_json(read_bytes(path, most_bytes, links=links).decode("utf-8"))


def parse_json(text: str | bytes) -> Any:
    """JSON in which no name is given twice and nothing is nested deeper than MAX_DEPTH. Raises: ValueError."""
    try:
        value = json.loads(text, object_pairs_hook=_without_doubles)
    except RecursionError:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels") from None
    check_depth(value)
    return value


def check_depth(value: Any, depth: int = 1) -> None:
    """Raises: ValueError if plain data is nested deeper than MAX_DEPTH."""
    if depth > MAX_DEPTH:
        raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            check_depth(inner, depth + 1)


def first_double(names: Iterable[Hashable]) -> int | None:
    """The position of the first name that has come before; None where all differ."""
    names_before: set[Hashable] = set()
    for position, name in enumerate(names):
        if name in names_before:
            return position
        names_before.add(name)
    return None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    double = first_double(name for name, _ in pairs)
    if double is not None:
        raise ValueError(f"it gives `{pairs[double][0][:60]}` twice")
    return dict(pairs)


def in_the_way(folder: Path) -> Path | None:
    """What is no folder where this one, or one that it lies in, would be made; None if nothing is."""
    path_there = next((path for path in (folder, *folder.parents) if path.exists()), None)
    return path_there if path_there is not None and not path_there.is_dir() else None
