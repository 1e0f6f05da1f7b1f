"""What a place tells of a run that it computes, in the order in which it is to be written down; and as bytes.

A node makes these (`cluster.pump`), a driver writes them into the run's folder (`cluster.mirror`). They are plain
values, so that any way may carry them. Knows no files and no place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple


class Begun(NamedTuple):
    """The run has got its node."""

    node: str


class Appended(NamedTuple):
    """These bytes were appended to a file of the run."""

    name: str
    data: bytes


class Replaced(NamedTuple):
    """A small file of the run is this now."""

    name: str
    data: bytes


class Taken(NamedTuple):
    """The worker has taken this request from its control folder."""

    name: str


class Piece(NamedTuple):
    """The next bytes of a file of a checkpoint (`update-000040/model.safetensors`); `first`: they begin it."""

    name: str
    data: bytes
    first: bool


class Whole(NamedTuple):
    """All files of this checkpoint (`update-000040`) have been told."""

    name: str


class Over(NamedTuple):
    """The worker has gone, and all that it wrote has been told."""


class Lost(NamedTuple):
    """The node, or the way to it, is gone; nothing more will be told."""

    why: str


News = Begun | Appended | Replaced | Taken | Piece | Whole | Over | Lost
KINDS: dict[str, type[News]] = {
    kind.__name__: kind for kind in (Begun, Appended, Replaced, Taken, Piece, Whole, Over, Lost)
}


def encode(batch: Iterable[News]) -> bytes:
    """News as bytes: for each a line of JSON, and behind it its data as they are."""
    parts: list[bytes] = []
    for news in batch:
        facts = news._asdict()
        data = facts.pop("data", b"")
        parts += json.dumps({"kind": type(news).__name__, "bytes": len(data), **facts}).encode(), b"\n", data
    return b"".join(parts)


def decode(text: bytes) -> list[News]:
    """What `encode` was given. Raises: ValueError, if the bytes are anything else."""
    batch: list[News] = []
    at = 0
    while at < len(text):
        line_end = text.index(b"\n", at)
        facts: dict[str, Any] = json.loads(text[at:line_end])
        at = line_end + 1
        try:
            kind, length = KINDS[facts.pop("kind")], int(facts.pop("bytes"))
            if "data" in kind._fields:
                facts["data"] = text[at : at + length]
            batch.append(kind(**facts))
        except (KeyError, TypeError, AttributeError):
            raise ValueError(f"no news: {text[at : at + 40]!r}") from None
        if length < 0 or at + length > len(text):
            raise ValueError("the data of the last news are cut off")
        at += length
    return batch
