"""A folder of a hub's bucket, in which whole files are written once: the way between a driver and HF Jobs.

Both ends use it, through the same client of `huggingface_hub`. Files travel whole, because a bucket appends nothing and
a list of it may be stale: who reads takes them in their order, and waits for one that is not there yet.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
PARCEL, NEWS, ASKED, LEASH = "parcel", "news", "asked", "leash"


class Bucket:
    """One folder. Every method raises OSError where the hub cannot be reached or refuses.

    Args:
        api: a `huggingface_hub.HfApi`. name: of the bucket, OWNER/NAME.
    """

    def __init__(self, api: Any, name: str, folder: str) -> None:
        self._api, self._name, self._folder = api, name, folder

    def put(self, name: str, data: bytes) -> None:
        """Write a file."""
        tried(lambda: self._api.batch_bucket_files(self._name, add=[(data, f"{self._folder}/{name}")]))

    def get(self, name: str) -> bytes:
        """The content of a file."""
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / "file"
            tried(lambda: self._api.download_bucket_files(self._name, [(f"{self._folder}/{name}", target)]))
            return target.read_bytes()

    def names(self, below: str = "") -> list[str]:
        """The files there are, sorted, as far as the list is up to date."""
        prefix = f"{self._folder}/{below}".rstrip("/")
        found = tried(lambda: list(self._api.list_bucket_tree(self._name, prefix=prefix, recursive=True)))
        paths = [item.path for item in found if item.type == "file"]
        return sorted(path.removeprefix(f"{self._folder}/") for path in paths if path.startswith(f"{prefix}/"))

    def delete(self, names: Iterable[str]) -> None:
        """Delete files."""
        paths = [f"{self._folder}/{name}" for name in names]
        if paths:
            tried(lambda: self._api.batch_bucket_files(self._name, delete=paths))


def numbered(kind: str, number: int) -> str:
    """The name of the n-th file of a kind."""
    return f"{kind}/{number:09d}"


def tried(function: Callable[[], T]) -> T:
    """What a call of the hub's client gives. Raises: OSError, whatever it failed with."""
    try:
        return function()
    except Exception as error:  # the client's library raises its own classes and those of two others
        raise OSError(f"{type(error).__name__}: {error}") from error
