"""Hands runs of an outputs folder over to a driver, which has a place compute them.

Their locks are taken here, before the driver exists, and handed down to it, so there is no moment in which one of them
looks dead. Called by who starts or resumes a sweep; and by a driver that was started by hand.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from playground.cluster import place as places
from playground.cluster.place import Options
from playground.config import RUN_ID
from playground.errors import InvalidConfig, PlaceUnavailable, Problem, RunNotResumable
from playground.runs import history, reconciler
from playground.runs.folder import checkpoints, placed, requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import private
from playground.runs.folder.placed import Placed
from playground.runs.folder.requests import Request
from playground.runs.start import children, launcher, queue

DRIVER_MODULE = "playground.cluster.driver"
LOCKS_VARIABLE = "PLAYGROUND_LOCK_FDS"  # the open lock files, in the order of the runs
LOGS = ".drivers"  # in the outputs folder: what drivers print
SPARE_FILES = 200  # open files that a process needs besides the locks
ITS_OWN = ("RAY_", "SLURM_", "SBATCH_", "SUBMITIT_")  # what the places' programs read from the environment


def hand_over(
    outputs: Path, name: str, run_ids: Sequence[str], place: str = "ray", options: Options | None = None
) -> subprocess.Popen[bytes]:
    """Start a driver for these runs and return at once. It ends when the last of them has.

    New runs (reserved and published) are begun, ended ones are resumed as their next attempt from their newest
    checkpoint. All are `queued` when this returns, and stay so until there is a node for them.

    Args:
        name: of the sweep; the driver's log is `.drivers/NAME.log`.
        place: where they are computed: a key of `place.PLACES`.

    Raises:
        InvalidConfig: an unknown place, or one that cannot be used from here. RunNotFound. RunBusy: one of them is
            alive. RunNotResumable: one has finished. PlaceUnavailable: the system gives no process. OSError.
    """
    options = options or Options()
    places.check(place, options)
    check_name(name)
    runs = [history.find_run(outputs, run_id) for run_id in run_ids]
    allow_open_files(len(runs))
    with contextlib.ExitStack() as held:
        locks = [held.enter_context(lock) for lock in take_over(runs, place)]
        driver = _spawn(Path(outputs), name, run_ids, place, options, locks)
    threading.Thread(target=driver.wait, daemon=True).start()  # else it would stay as a zombie of this process
    return driver


def check_name(name: str) -> None:
    """Whether a sweep can be called so: its log and its folders are. Raises: InvalidConfig."""
    if not RUN_ID.fullmatch(name):
        raise InvalidConfig([Problem("sweep", "Use 1 to 60 small letters, digits and hyphens.")])


def take_over(runs: Sequence[RunDirectory], place: str) -> list[IO[bytes]]:
    """Take the locks of runs and make each `queued` for its next attempt. None is changed unless all can be taken.

    Raises: RunBusy, RunNotResumable, InvalidConfig, OSError.
    """
    outputs = runs[0].path.parent
    for run in runs:
        if run.status_on_disk().state != "queued" and not run.is_alive():
            reconciler.end_if_dead(run, outputs)
    with contextlib.ExitStack() as held, launcher.one_at_a_time(outputs):
        locks: list[IO[bytes]] = []
        for run in runs:
            if run.status_on_disk().ended:
                checkpoints.check_engine(run.config())
            lock = held.enter_context(open(run.lock_path, "wb", opener=private))
            launcher.take(lock)
            locks.append(lock)
            if run.status_on_disk().state == "finished":
                raise RunNotResumable(f"{run.id} has finished all its updates.")
        for run in runs:
            _make_ready(run, place)
        held.pop_all()
    return locks


def _make_ready(run: RunDirectory, place: str) -> None:
    """Under its lock: its next attempt is asked for, and is to be computed elsewhere."""
    queue.leave(run)
    if requests.of(run).key:
        requests.move(run, place)
    else:
        requests.record(run, Request(), place)
    before = run.status_on_disk()
    if before.ended:
        if before.reason == "damaged":
            before = run.recovered_status()
        for asked in run.control_path.glob("*"):
            asked.unlink(missing_ok=True)  # of the attempt that has ended
        run.queue_again(before, run.config().ppo.num_updates)
    placed.write(run.path, Placed(attempt=run.status_on_disk().attempt, place=place))


def allow_open_files(runs: int) -> None:
    """A driver holds one lock file for each run. Raises: InvalidConfig, where the system does not allow so many."""
    needed = runs + SPARE_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < needed:
        if hard != resource.RLIM_INFINITY and hard < needed:
            words = f"{runs} runs need {needed} open files, and this user may have {hard}. Raise it (ulimit -n)."
            raise InvalidConfig([Problem("sweep", f"{words} Or sweep over fewer.")])
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _spawn(
    outputs: Path, name: str, run_ids: Sequence[str], place: str, options: Options, locks: Sequence[IO[bytes]]
) -> subprocess.Popen[bytes]:
    folder = outputs / LOGS
    folder.mkdir(mode=0o700, exist_ok=True)
    descriptors = [lock.fileno() for lock in locks]
    environment = {
        **children.torch_environment(hub=True),
        **{variable: value for variable, value in os.environ.items() if variable.startswith(ITS_OWN)},
        LOCKS_VARIABLE: ",".join(map(str, descriptors)),
    }
    chosen = [f"--option={key}={value}" for key, value in options.model_dump(exclude_defaults=True).items()]
    command = [sys.executable, "-m", DRIVER_MODULE, str(outputs.resolve()), name, "--on", place, *chosen, *run_ids]
    with open(folder / f"{name}.log", "ab", opener=private) as log:
        try:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, pass_fds=descriptors,
                start_new_session=True, umask=0o077, cwd=children.PROJECT, env=environment,
            )  # fmt: skip
        except OSError as error:
            raise PlaceUnavailable(
                f"The driver of {name} could not be started ({error.strerror}). Close other programs, then resume it."
            ) from None
