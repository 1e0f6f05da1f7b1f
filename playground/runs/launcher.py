"""Starts workers, one for each device; the rest wait in the queue. A worker outlives what has started it.

The lock is taken here, before the process exists, and handed down with the open file, so there is no moment in which
a started run looks dead.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from playground.errors import InvalidConfig, RunBusy, RunNotResumable, WorkerNotStarted
from playground.runs import children, half_made, locks, queue
from playground.runs.folder import changes, checkpoints, processes, requests, writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import folders, make_outputs, private
from playground.runs.folder.records import Status
from playground.runs.folder.requests import Request
from playground.runs.spawning import Here, Place, Spawn, Workers
from playground.setup.admission import Admitted

LOCK_FD_VARIABLE = "PLAYGROUND_LOCK_FD"
LOCK_PATIENCE_SECONDS = 1.0
START_LOCK = ".start.lock"  # in the outputs folder
TRIAL = ".trial"  # and the one trial that is under way there; a name that no run can have
START_PATIENCE_SECONDS = 15.0
START_BUSY = f"Another program, such as a server that hangs, holds the lock for starting runs ({START_LOCK}). End it."
LEAVING_SECONDS = 15.0  # a worker that has written its end is gone by then
WORKER_MODULE = "playground.worker"


class Started(NamedTuple):
    """A run, and its worker; None while it waits in the queue, and where the start was only repeated."""

    run: RunDirectory
    process: subprocess.Popen[bytes] | None


def start(
    config: Admitted,
    outputs: Path,
    run_id: str | None = None,
    workers: Workers | None = None,
    request: Request | None = None,
) -> Started:
    """Create a run and start its worker; where its device is busy, put the run into the queue. A `request` whose id has
    started a run before gives that run, whatever became of it, and starts nothing.

    Raises: see `RunDirectory.reserve`. RunNotFound, if the run of this request has been deleted. WorkerNotStarted.
    """
    outputs = make_outputs(outputs)
    request = request or Request()
    requests.check(request)
    place = (workers or Here()).place(config)  # may ask a slow tool, so before the lock
    with one_at_a_time(outputs):
        if earlier := requests.find(outputs, request):
            return Started(earlier, None)
        run = half_made.reserved(outputs, config, run_id, request, place.slot)
        return begin(run, place, 1, lambda: run.publish(config))


def resume(run: RunDirectory, workers: Workers | None = None) -> Started:
    """Let an ended run go on from its newest valid checkpoint, as its next attempt; without one, from the beginning.
    One that waits already is given back as it is. Raises: RunBusy, if it is alive; RunNotResumable, if nothing is left
    to do, or its trainer cannot go on; InvalidConfig, for a damaged configuration; WorkerNotStarted."""
    config = run.config()
    checkpoints.check_engine(config)
    place = (workers or Here()).place(config)
    wait_until_left(run)
    with one_at_a_time(run.path.parent):
        before = run.status()
        if run.is_at_work():
            raise RunBusy(f"The run `{run.id}` is still training; there is nothing to resume.")
        if not before.ended:
            return Started(run, None)
        if before.is_done:
            raise RunNotResumable(f"{run.id} has finished all its {config.ppo.num_updates} updates.")

        def again() -> None:
            requests.move(run, place.slot)
            _queue_again(run, before)

        return begin(run, place, run.next_attempt(before), again)


def begin(run: RunDirectory, place: Place, attempt: int, publish: Callable[[], None]) -> Started:
    """`publish` an attempt, under the lock of its run; give it its worker, or leave it its place in the queue. That
    comes first: what is published waits or lives, also where this process ends in between. For the holder of the lock
    for starting."""
    outputs = run.path.parent
    queue.enter(run, place.slot, attempt, elsewhere=place.ask is not None)
    if not place.ask and not is_busy(outputs, place.slot, besides=run):
        try:
            end_trial(outputs)
            return Started(run, give_worker(run, place.spawn, publish))
        finally:
            queue.leave(run)
    with at_rest(run):
        publish()
    if place.ask:
        place.ask(run)
    return Started(run, None)


def stop(run: RunDirectory) -> None:
    """Ask a run to stop. One that waits in the queue has ended when this returns.
    Raises: RunNotSteerable, for one that is only watched."""
    changes.check_own(run)
    run.request_stop()
    if run.status_on_disk().state == "queued":
        with one_at_a_time(run.path.parent):
            if run.status_on_disk().state == "queued" and not run.is_alive():
                _take_out(run)


def start_waiting(outputs: Path, workers: Workers | None = None) -> list[RunDirectory]:
    """Give every free device to the run that has waited longest for it, and take out what is not to run any more; the
    runs that were started. Any number of processes may call this again and again."""
    outputs = Path(outputs)
    if not queue.entries(outputs):
        return []
    started = []
    with one_at_a_time(outputs):
        slots = [queue.slot_held(run) for run in living_runs(outputs)]
        for entry in queue.entries(outputs):
            run = RunDirectory(outputs / entry.run)
            if not queue.holds(run, entry):
                queue.leave(run)
            elif run.stop_requested:
                _take_out(run)
            elif entry.elsewhere:
                continue  # it was asked for there
            else:
                slot = entry.slot or queue.slot_held(run)
                free = all(queue.are_apart(slot, other) for other in slots)
                if free and _start_one(run, workers):
                    started.append(run)
                if not free or run in started:
                    slots.append(slot)  # also of one that waits: a later run does not keep it waiting forever
    return started


def _start_one(run: RunDirectory, workers: Workers | None) -> bool:
    """Give a waiting run its worker; False if that could not be."""
    has_begun = False
    try:
        place = (workers or Here()).place(run.config())
        end_trial(run.path.parent)
        give_worker(run, place.spawn)
        has_begun = True
    except InvalidConfig as error:
        writer.write_end(run, run.status_on_disk(), "failed", "damaged", f"Its config.yaml cannot be run: {error}")
    except WorkerNotStarted:
        pass  # that is its end, and is written
    except (RunBusy, OSError):
        return False  # its lock is held for long, or files are short for a moment: it keeps its place
    queue.leave(run)  # last: who dies before this line has not lost the run its place
    return has_begun


def _take_out(run: RunDirectory) -> None:
    writer.write_end(run, run.status_on_disk(), "stopped", "stopped", "Stopped while it waited in the queue.")
    queue.leave(run)


def wait_until_left(run: RunDirectory) -> None:
    """Wait until a worker that has just written its end is gone, and its lock free."""
    deadline = time.monotonic() + LEAVING_SECONDS
    while run.status_on_disk().ended and run.is_alive() and time.monotonic() < deadline:
        time.sleep(0.05)


def end_trial(outputs: Path) -> bool:
    """End the trial (`runs.trial`) that is under way, as every start of a run does. False if there is none."""
    run = RunDirectory(Path(outputs) / TRIAL)
    if run.is_alive():
        return not processes.end(run, grace_seconds=0.0).alive
    return False


def is_busy(outputs: Path, slot: str, besides: RunDirectory | None = None) -> bool:
    """True if a run that is started now has to wait: another one has its device, or waits for it."""
    return in_the_way(outputs, slot, besides) is not None


def in_the_way(outputs: Path, slot: str, besides: RunDirectory | None = None) -> RunDirectory | None:
    """A run that has the device of one that is started now, or else one that waits for it; None where it is free."""
    runs = living_runs(outputs) + [RunDirectory(outputs / name) for name in queue.waiting(outputs)]
    own_id = besides.id if besides else ""
    return next((run for run in runs if run.id != own_id and not queue.are_apart(queue.slot_held(run), slot)), None)


def give_worker(
    run: RunDirectory, spawn: Spawn | None = None, publish: Callable[[], None] = lambda: None
) -> subprocess.Popen[bytes]:
    """Take the lock of a run, `publish` what makes it one, start its worker, and remember that it is our child. Raises:
    RunBusy; WorkerNotStarted, if the system gave no process, and the run has ended with that; OSError."""
    with open(run.lock_path, "wb", opener=private) as lock:
        take(lock)
        publish()
        try:
            process = (spawn or new_worker)(run, lock)
        except OSError as error:
            message = f"Its worker could not be started: {error.strerror or error}."
            writer.write_end(run, run.status_on_disk(), "failed", "bug", message)
            raise WorkerNotStarted(f"{message} Close other programs and start it again.") from None
        children.add(run, process)
        children.track(run)
        return process


def living_runs(outputs: Path) -> list[RunDirectory]:
    """The runs of this outputs folder whose workers are alive; here at most one on each device."""
    return [run for run in map(RunDirectory, folders(outputs)) if run.is_alive()]


def new_worker(run: RunDirectory, lock: IO[bytes]) -> subprocess.Popen[bytes]:
    """A new process that computes what is to be done in a folder, and holds its lock."""
    with open(run.log_path, "ab", opener=private) as log:  # the log of an earlier attempt is kept
        process = children.new_process(
            WORKER_MODULE,
            str(run.path.resolve()),
            descriptor=lock.fileno(),
            variable=LOCK_FD_VARIABLE,
            output=log,
            hub=children.asks_hub(run),
            bound=children.is_trial(run),
        )
    writer.name_worker(run, process.pid)
    return process


def adopt_lock() -> IO[bytes] | None:
    """In the worker: the lock file handed down by the launcher. Keep the result alive for the life of the process."""
    descriptor = os.environ.pop(LOCK_FD_VARIABLE, "")
    if not descriptor:
        return None
    os.set_inheritable(int(descriptor), False)
    return locks.not_in_forks(os.fdopen(int(descriptor), "wb"))


def take_lock(run: RunDirectory) -> IO[bytes] | None:
    """In a worker started by hand: take the run's lock, or None if another worker has it."""
    lock = open(run.lock_path, "wb", opener=private)  # noqa: SIM115 - held for the life of the process
    try:
        take(lock)
        return locks.not_in_forks(lock)
    except RunBusy:
        lock.close()
        return None


def open_again(run: RunDirectory) -> bool:
    """In a worker started by hand, which has the lock: its run leaves the queue; one that has ended is queued again.
    False if it is done."""
    queue.leave(run)
    before = run.status_on_disk()
    if before.ended and not before.is_done:
        checkpoints.check_engine(run.config())
        _queue_again(run, before)
    return not before.is_done


def _queue_again(run: RunDirectory, before: Status) -> None:
    changes.forget_commands(run)
    run.queue_again(before, run.config().ppo.num_updates)


def take(lock: IO[bytes]) -> None:
    """Take a run's lock, which may be held for a moment to see whether the run lives. Raises: RunBusy."""
    locks.take(lock, LOCK_PATIENCE_SECONDS, "Another process is working on this run. Try again in a moment.")


@contextlib.contextmanager
def at_rest(run: RunDirectory) -> Iterator[None]:
    """Hold the lock of a run without a worker, for a moment. Raises: RunBusy, if it has one; OSError."""
    with open(run.lock_path, "ab", opener=private) as lock:
        take(lock)
        with locks.let_go_of(lock):
            yield


@contextlib.contextmanager
def one_at_a_time(outputs: Path) -> Iterator[None]:
    """Hold the outputs folder's lock for starting. Raises: RunBusy, if another does not let go of it; OSError."""
    with open(outputs / START_LOCK, "wb", opener=private) as file:
        locks.take(file, START_PATIENCE_SECONDS, START_BUSY)
        with locks.let_go_of(file):
            yield
