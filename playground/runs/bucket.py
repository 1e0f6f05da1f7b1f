"""What survives a restart of a Space, whose disk does not: whole checkpoints and records of runs, in a mounted bucket.

A bucket is a folder for whole files: what is appended to or renamed there, and what is read back at once, may be lost
or stale. So a thread of the page (`BucketThread`) copies a run at each checkpoint and at its end, every file once, the
MANIFEST.json of a folder last. `restore` brings back what is whole when the page starts.

    <bucket>/runs/<run>/checkpoints/update-000040/   as in the run's folder
    <bucket>/runs/<run>/records/000003/              everything else of the run, status.json last but for the manifest
    <bucket>/.sweeps/<name>.json                     what a sweep was to be, as in the outputs folder
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from playground.config import RUN_ID
from playground.errors import InvalidConfig, Problem, in_words
from playground.plain_files import open_plain, read_json
from playground.runs import frontier_samples
from playground.runs.folder import checkpoints
from playground.runs.folder.checkpoints import MANIFEST, MAX_MANIFEST_BYTES
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import folders, private, stamps
from playground.runs.supervisor import LookingThread, say, tried

VARIABLE = "PLAYGROUND_BUCKET"
RUNS, RECORDS, CHECKPOINTS = "runs", "records", "checkpoints"
NOT_KEPT = {"status.json", "worker.lock", "vitals.json"}  # it goes last; they are about a process of this machine
TRACES = "traces"  # the one folder of a run beside its checkpoints whose files are kept
SWEEPS = ".sweeps"  # of `sweeps.sweep_record`
KEY_FILE = ".visitors.key"  # of `ui.door.visitors`: without it visitors would not get their own runs again
LOOK_SECONDS = 2.0
RETRY_SECONDS = 30.0  # after a bucket that was full or gone
COMING = ".restoring-"  # a run that is being brought back has this before its name, and is none yet
KEPT_COPIES = 2  # of the records: the newest may be torn on its way, after it was written here

Mark = tuple[Any, ...]
Facts = dict[str, Any]  # what a manifest says of a file: bytes, sha256
DAMAGED = (OSError, ValueError, KeyError, TypeError, AttributeError)  # what a file that is not as it was raises


def of_environment(environment: Mapping[str, str], outputs: Path | None = None) -> Path | None:
    """The bucket's folder; None where none is wanted. Raises: InvalidConfig, if it is not there, cannot be written, or
    goes with the outputs folder: better no page than one that loses runs unnoticed."""
    named = environment.get(VARIABLE)
    if not named:
        return None
    folder = Path(named)
    try:
        if not folder.is_dir():
            raise NotADirectoryError(0, "there is no such folder")
        here, runs = folder.resolve(), (outputs or folder).resolve()
        if outputs and (here.is_relative_to(runs) or runs.is_relative_to(here)):
            raise OSError(0, "the folder of the runs lies in it, or it in that")
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        sentence = f"names {named}, but {error.strerror}. Attach a bucket there that can be written, or unset it."
        raise InvalidConfig([Problem(VARIABLE, sentence)]) from None
    return folder


class Keeper:
    """Copies the runs of one outputs folder, and what sweeps were to be. What it has not seen here it never deletes."""

    def __init__(self, outputs: Path, bucket: Path) -> None:
        self.outputs, self.bucket = outputs, bucket
        self._kept: dict[str, Mark] = {}  # by its path in the bucket

    def look(self) -> list[str]:
        """Copy every run that has a new checkpoint or has ended since the last look, and forget those that were deleted
        here; the runs that were copied. Raises: OSError, if the bucket takes nothing."""
        os.listdir(self.bucket)  # not made again where it has gone: what stood there would be no bucket
        _copy_if_new(self.outputs / KEY_FILE, self.bucket / KEY_FILE)
        with os.scandir(self.outputs) as found:  # a list that cannot be read must not look like one of no runs
            runs = [entry.name for entry in found if entry.is_dir(follow_symlinks=False)]
        here = {f"{RUNS}/{name}": self.outputs / name for name in runs if RUN_ID.fullmatch(name)}
        here |= {f"{SWEEPS}/{path.name}": path for path in (self.outputs / SWEEPS).glob("*.json")}
        if not (self.bucket / RUNS).is_dir():  # another bucket, or it was not mounted before
            self._kept.clear()
        copied = []
        for name, path in here.items():
            try:
                mark = _mark(path)
                if mark and self._kept.get(name) != mark:
                    if path.suffix:
                        (self.bucket / SWEEPS).mkdir(exist_ok=True)
                        _copy(path, self.bucket / name)
                    else:
                        keep(RunDirectory(path), self.bucket / name)
                        copied.append(path.name)
                    self._kept[name] = mark
            except FileNotFoundError:  # a checkpoint that gave its place to a newer one: the next look has that
                os.listdir(self.bucket)
        for name in self._kept.keys() - here.keys():
            _remove(self.bucket / name)
            del self._kept[name]
        return copied

    def knows(self, names: list[str]) -> None:
        """These runs have come from the bucket: where they are deleted here, they go there too."""
        self._kept |= {f"{RUNS}/{name}": _mark(self.outputs / name) for name in names}


def keep(run: RunDirectory, kept: Path) -> None:
    """Copy a run into its folder in the bucket: the newest checkpoint and the best, then everything else; what an
    earlier copy has left goes last. Raises: OSError."""
    status = run.status_path.read_bytes()  # first: whatever it says is on the disk by now
    there = run.checkpoints()
    wanted = {folder.name: folder for folder in (*there[-1:], checkpoints.best(there)) if folder}
    for name, folder in wanted.items():
        _keep_checkpoint(folder, kept / CHECKPOINTS / name)
    numbers = [int(path.name) for path in (kept / RECORDS).glob("*") if path.name.isdecimal()]
    records = kept / RECORDS / f"{max(numbers, default=0) + 1:06d}"
    try:
        files = _copy_files(run.path, records, _record_names(run.path))
        files[run.status_path.name] = _write(records / run.status_path.name, [status])
        _write(records / MANIFEST, [json.dumps({"format": 1, "files": files}).encode()])
    except OSError:
        shutil.rmtree(records, ignore_errors=True)  # on a full bucket a part of a copy only takes room
        raise
    old_records = sorted((kept / RECORDS).glob("*"))[:-KEPT_COPIES]
    for path in (*old_records, *(path for path in (kept / CHECKPOINTS).glob("*") if path.name not in wanted)):
        _remove(path)


def restore(bucket: Path, outputs: Path) -> list[str]:
    """Bring back what is not here: what sweeps were to be, and the runs, each from its newest copy that is whole; the
    names of these. A run that trained when its page ended is found without a worker, and can be resumed."""
    for left in outputs.glob(f"{COMING}*"):
        shutil.rmtree(left, ignore_errors=True)
    for path in (bucket / KEY_FILE, *(bucket / SWEEPS).glob("*.json")):
        with contextlib.suppress(OSError):
            _copy_if_new(path, outputs / path.relative_to(bucket))
    restored = []
    for kept in map(Path, folders(bucket / RUNS)):
        name = kept.name
        if not RUN_ID.fullmatch(name) or (outputs / name).exists():
            continue
        try:
            _restore_run(kept, outputs / f"{COMING}{name}")
            os.rename(outputs / f"{COMING}{name}", outputs / name)
            restored.append(name)
        except (OSError, ValueError) as error:
            shutil.rmtree(outputs / f"{COMING}{name}", ignore_errors=True)
            say(f"The run {name} could not be brought back from the bucket: {_in_words(error)}")
    return restored


class BucketThread(LookingThread):
    """Keeps the runs of a page in the bucket, and looks once more when it is closed."""

    def __init__(self, outputs: Path, bucket: Path, restored: list[str]) -> None:
        super().__init__("bucket")
        self._keeper = Keeper(outputs, bucket)
        self._keeper.knows(restored)

    def look(self) -> float:
        """See `LookingThread.look`."""
        failed = "The bucket could not be written, so a restart would lose what is new"
        return LOOK_SECONDS if tried(self._keeper.look, failed) else RETRY_SECONDS

    def _go(self) -> None:
        super()._go()
        self.look()


def _mark(path: Path) -> Mark:
    """Changes when there is something new to keep; empty while there is nothing: no checkpoint, and no end."""
    if path.suffix:  # a sweep
        return stamps(path)
    run = RunDirectory(path)
    if not run.config_path.is_file():
        return ()
    status, found = run.status_on_disk(), run.checkpoints()
    if not found and not status.ended:
        return ()
    manifests = [folder / MANIFEST for folder in found]
    by_viewers = (run.label_path, run.path / frontier_samples.NAME)  # at any time, also after the end
    names = [folder.name for folder in found]
    return status.attempt, status.state if status.ended else "", *names, *stamps(*manifests, *by_viewers)


def _keep_checkpoint(source: Path, target: Path) -> None:
    manifest = (source / MANIFEST).read_bytes()
    with contextlib.suppress(OSError):
        if (target / MANIFEST).read_bytes() == manifest:
            return
    _remove(target)
    _copy_files(source, target, sorted(path.name for path in source.iterdir() if path.name != MANIFEST))
    _write(target / MANIFEST, [manifest])


def _record_names(folder: Path) -> list[str]:
    """The files of a run but for its checkpoints, its status and what is about a process."""
    found = [path for path in (*folder.iterdir(), *folder.glob(f"{TRACES}/*")) if path.name[0] != "."]
    plain = [path for path in found if path.is_file() and not path.is_symlink() and path.name not in NOT_KEPT]
    return [str(path.relative_to(folder)) for path in plain]


def _restore_run(kept: Path, coming: Path) -> None:
    """Raises: ValueError, if no copy of its records is whole; OSError."""
    problems = []
    for records in sorted(map(Path, folders(kept / RECORDS)), reverse=True):
        try:
            _restore_files(records, coming)
            break
        except DAMAGED as error:
            problems.append(f"{records.name}: {error}")
            shutil.rmtree(coming)
    else:
        raise ValueError("; ".join(problems) or "its first copy was never finished")
    (coming / "control").mkdir()
    for source in map(Path, folders(kept / CHECKPOINTS)):
        if not checkpoints.NAME.fullmatch(source.name) or not (source / MANIFEST).is_file():
            continue
        target = coming / CHECKPOINTS / source.name
        try:
            _restore_files(source, target)
            _copy(source / MANIFEST, target / MANIFEST)
        except DAMAGED as error:
            say(f"The checkpoint {source.name} of {kept.name} is not whole in the bucket: {error}.")
            shutil.rmtree(target)


def _restore_files(source: Path, target: Path) -> None:
    """Copy what the manifest of a folder names. Raises: `DAMAGED`, if a file is not as it says, or it is none."""
    target.mkdir(mode=0o700, parents=True)
    for name, facts in read_json(source / MANIFEST, MAX_MANIFEST_BYTES)["files"].items():
        part, _, last = name.rpartition("/")
        if part not in ("", TRACES) or last in ("", ".", ".."):
            raise ValueError(f"{name!r} is no file of a run")
        (target / part).mkdir(mode=0o700, exist_ok=True)
        if _copy(source / name, target / name) != facts:
            raise ValueError(f"{name} is not as it was written")


def _copy_files(source: Path, target: Path, names: list[str]) -> dict[str, Facts]:
    """Copy these files into a new folder; what a manifest says of them."""
    facts: dict[str, Facts] = {}
    target.mkdir(parents=True)
    for name in names:
        (target / name).parent.mkdir(exist_ok=True)
        facts[name] = _copy(source / name, target / name)
    return facts


def _copy(source: Path, target: Path) -> Facts:
    """Write a whole file in one go; how large it is, and its SHA-256."""
    with open_plain(source) as read:
        return _write(target, iter(lambda: read.read(2**20), b""))


def _write(target: Path, pieces: Iterable[bytes]) -> Facts:
    found, size = hashlib.sha256(), 0
    with open(target, "wb", opener=private) as file:
        for piece in pieces:
            file.write(piece)
            found.update(piece)
            size += len(piece)
        file.flush()
        with contextlib.suppress(OSError):  # of a mount that knows no fsync: closing is what writes
            os.fsync(file.fileno())
    return {"bytes": size, "sha256": found.hexdigest()}


def _copy_if_new(source: Path, target: Path) -> None:
    if source.is_file() and not target.exists():
        target.parent.mkdir(mode=0o700, exist_ok=True)
        _copy(source, target)


def _remove(path: Path) -> None:
    """A file, or a folder, whose manifests go first: what is then left of it is no copy."""
    if path.is_file():
        return path.unlink(missing_ok=True)
    for manifest in [path / MANIFEST, *path.glob(f"*/*/{MANIFEST}")]:
        manifest.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)


def _in_words(error: Exception) -> str:
    return in_words(error) if isinstance(error, OSError) else str(error) or repr(error)
