"""What a place needs to compute an attempt of a run: its small files, and the checkpoint to go on from.

Packed by the driver from the run's folder, unpacked on the node into a folder of its own, where the ordinary worker
finds what it would find here. What the configuration names by its path is not in it: it has to be there on the node.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from playground.cluster.news import Replaced, decode, encode
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import cut_torn_line

GROWING = ("metrics.jsonl", "samples.jsonl", "evaluations.jsonl", "tokens.jsonl", "events.jsonl")
SMALL = ("config.yaml", "request.json", "status.json")
CHECKPOINTS = "checkpoints"


def pack(run: RunDirectory) -> bytes:
    """The parcel of a run whose lock we hold. A torn last line, of an attempt that was lost, is cut off here first.

    Raises:
        InvalidConfig: a damaged configuration. OSError.
    """
    for name in GROWING:
        cut_torn_line(run.path / name)
    names = [name for name in (*SMALL, *GROWING) if (run.path / name).is_file()]
    found = checkpoints.search(run).found
    names += [str(path.relative_to(run.path)) for path in sorted(found.path.iterdir())] if found else []
    return encode(Replaced(name, (run.path / name).read_bytes()) for name in names)


def unpack(parcel: bytes, folder: Path) -> None:
    """Put what is in a parcel into a folder, which is made. Raises: OSError, ValueError for what is no parcel."""
    folder.mkdir(mode=0o700, parents=True)
    (folder / "control").mkdir()
    for news in decode(parcel):
        if not isinstance(news, Replaced):
            raise ValueError(f"a parcel holds files only, not {type(news).__name__}")
        path = inside(folder, news.name)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_bytes(news.data)


def inside(folder: Path, name: str) -> Path:
    """A path in a folder by a name that came from elsewhere. Raises: ValueError, for one that leads out of it."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or "\0" in name:
        raise ValueError(f"{name[:80]!r} is no name of a file of a run")
    return folder.joinpath(*parts)
