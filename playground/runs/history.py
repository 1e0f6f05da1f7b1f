"""The list of runs in an outputs folder, one summary line each; deleting a run into the bin, emptying the bin."""

from __future__ import annotations

import contextlib
import heapq
import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from playground.config import RUN_ID
from playground.errors import InvalidConfig, PlaygroundError, RunBusy, RunNotFound
from playground.runs import launcher, queue, reward_models, trial
from playground.runs.folder import requests
from playground.runs.folder.directory import BIN as BIN
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import SHORTAGES, stamps
from playground.runs.folder.records import Status
from playground.setup.estimates.timing import Finished

MOST_TIMED, LEAST_TIMED = 12, 2  # runs that are looked at for how long they took; updates that show it


class RunSummary(NamedTuple):
    """A run in short. `asked` is the digest of the request that started it. What came of it `analysis` says."""

    id: str
    title: str
    model: str
    status: Status
    asked: str


class WithStatus(Protocol):
    """What is made of a run for a list."""

    @property
    def status(self) -> Status: ...


S = TypeVar("S", bound=WithStatus)


def list_runs(outputs: Path) -> list[RunSummary]:
    """All runs of a folder in short, the newest first."""
    return newest_first(outputs, _summary)


def newest_first(outputs: Path, read: Callable[[RunDirectory], S]) -> list[S]:
    """What `read` makes of each run of a folder. One that it cannot read, whatever is wrong, is left out."""
    runs = []
    for config_path in Path(outputs).glob("*/config.yaml"):
        if config_path.parent.name.startswith("."):  # a trial that is under way
            continue
        try:
            runs.append(read(RunDirectory.open(config_path.parent)))
        except Exception as error:  # a link in it, a damaged file, or it has just gone
            if isinstance(error, OSError) and error.errno in SHORTAGES:
                raise
    return sorted(runs, key=lambda run: run.status.started_at, reverse=True)


def finished_runs(outputs: Path, trials: bool = True) -> list[Finished]:
    """How long the newest finished runs of a folder took, the newest first, and after them its trials."""
    finished = []
    paths = [path for path in Path(outputs).glob("*") if RUN_ID.fullmatch(path.name) and not path.is_symlink()]
    for path in heapq.nlargest(MOST_TIMED, paths, key=_last_written):
        try:
            run = RunDirectory.open(path)
            if took := _took(run):
                finished.append(took)
        except (PlaygroundError, OSError):  # it cannot be read
            continue
    if trials:
        finished += trial.timed(outputs)
    return finished


def _took(run: RunDirectory) -> Finished | None:
    """What a run took; None where it has not finished, or shows too little. Raises: InvalidConfig."""
    if not run.status().is_done:
        return None
    metrics = run.metrics()
    updates = [item.seconds_of_phases for item in metrics[1:]]  # one warms up
    if len(updates) < LEAST_TIMED:
        return None
    seconds = metrics[-1].seconds or 0.0
    if not (statistics.median(updates) > 0 and seconds > 0):
        return None
    whole = max(seconds, run.status().worked_seconds or 0.0)  # with loading, and the look after the end
    return Finished(run.config(), statistics.median(updates), whole)


def find_run(outputs: Path, run_id: str) -> RunDirectory:
    """The run of that id in a folder. Safe with ids from strangers. Raises: RunNotFound."""
    if not RUN_ID.fullmatch(run_id):
        raise RunNotFound(f"`{run_id[:60]}` is not a run id.")
    return RunDirectory.open(Path(outputs) / run_id)


def delete_run(run: RunDirectory) -> Path:
    """Move an ended run into the bin and return where it went. Raises: RunBusy; RunNotFound, if the bin is a link."""
    with launcher.one_at_a_time(run.path.parent):  # so that it is not started between the look and the move
        at_work = run.is_at_work()
        if at_work or queue.position(run):
            doing = "is still training" if at_work else "waits in the queue"
            raise RunBusy(f"The run `{run.id}` {doing}. Stop it first, then delete it.")
        bin_path = run.path.parent / BIN
        if bin_path.is_symlink():
            raise RunNotFound(f"{BIN} is a link, which is not followed: put a folder in its place.")
        bin_path.mkdir(exist_ok=True)
        target = bin_path / f"{run.id}-{time.time_ns()}"
        os.rename(run.path, target)
        _cache.pop(run.path, None)
        return target


def empty_bin(outputs: Path) -> int:
    """Delete what is in the bin for good; returns how many runs went."""
    bin_path = Path(outputs) / BIN
    gone = [] if bin_path.is_symlink() else list(bin_path.glob("*"))
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return len(gone)


def keep_newest(outputs: Path, most_runs: int, most_bytes: int) -> list[str]:
    """Delete for good what is more than so many ended runs or bytes, the bin first, then the runs that ended longest
    ago; the ids of those. Never one that lives or waits, or that such a one names as its reference."""
    outputs = Path(outputs)
    bin_path = outputs / BIN
    binned = [] if bin_path.is_symlink() else sorted(bin_path.glob("*"), key=_last_written)
    living = in_use(outputs)
    runs = [path.parent for path in outputs.glob("*/config.yaml") if RUN_ID.fullmatch(path.parent.name)]
    ended = sorted((path for path in runs if path.name not in living and not path.is_symlink()), key=_last_written)
    sizes = {path: _num_bytes(path) for path in (*binned, *ended)}
    count, total, gone = len(sizes), sum(sizes.values()), []
    for path, size in sizes.items():
        if count <= most_runs and total <= most_bytes:
            break
        if path.parent == outputs:
            try:
                shutil.rmtree(delete_run(RunDirectory(path)), ignore_errors=True)
            except (RunBusy, RunNotFound, FileNotFoundError):  # taken up again, or gone; the bin is a link
                continue
            gone.append(path.name)
        else:
            shutil.rmtree(path, ignore_errors=True)
        count, total = count - 1, total - size
    return gone


def _last_written(run: Path) -> float:
    """When a run changed its state for the last time; 0 for a folder that has none."""
    try:
        return os.lstat(run / "status.json").st_mtime
    except OSError:
        return 0.0


def _num_bytes(run: Path) -> int:
    """What a run has on the disk."""
    paths = (os.path.join(folder, name) for folder, _, names in os.walk(run) for name in names)
    return sum(os.lstat(path).st_size for path in paths if os.path.lexists(path))


def in_use(outputs: Path) -> set[str]:
    """What must stay while runs live or wait: their ids, and the files of prompts or pairs and references they name."""
    outputs = Path(outputs)
    names = set()
    waiting = queue.waiting(outputs)  # first: a run that begins between the two looks is then seen by the second
    for name in [*waiting, *(run.id for run in launcher.living_runs(outputs))]:
        names.add(name)
        with contextlib.suppress(InvalidConfig):
            config = RunDirectory(outputs / name).config()
            names |= {config.prompts.source, config.reference.source.partition("/")[0]}
    training = reward_models.living(outputs)
    if training:
        with contextlib.suppress(InvalidConfig):
            names.add(training.config().pairs.source)
    return names


_cache: dict[Path, tuple[tuple[int, ...], RunSummary]] = {}


def _summary(run: RunDirectory) -> RunSummary:
    """What was made of a run before, unless its files have changed since. Raises: InvalidConfig."""
    status = run.status()
    key = stamps(run.config_path, run.label_path)
    if run.path not in _cache or _cache[run.path][0] != key:
        config = run.config()
        summary = RunSummary(run.id, run.title(config), config.model.source, status, requests.of(run).id)
        _cache[run.path] = key, summary
    return _cache[run.path][1]._replace(status=status)
