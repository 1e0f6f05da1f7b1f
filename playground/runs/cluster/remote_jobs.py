"""Gives runs to a backend as jobs, and looks after these: cancels those that do not stop, writes the end of those that
are lost.

What is known of a job is in its run's folder (placed.json), so anyone may look: the page does, and a command that
follows a run or waits for its end. Jobs go on where no one does.
"""

from __future__ import annotations

import functools
import os
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from playground.errors import BackendUnavailable, PlaygroundError
from playground.runs import launched, launcher, queue
from playground.runs.cluster.backend import Backend, check, job_of, options_of
from playground.runs.folder import placed, writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import write_atomically
from playground.runs.folder.placed import Placed
from playground.runs.folder.records import State
from playground.runs.spawning import Elsewhere
from playground.runs.supervisor import LookingThread, say, tried

LOOK_SECONDS = 10.0
GONE_SECONDS = 60.0  # a job may be missing for so long: lists and shared disks are late, and its worker has to leave
STOP_SECONDS = 150.0  # what a worker may take to save and leave (`train.process.watch`), and the way there and back
WAITING = "waiting for a node"


def elsewhere(backend_name: str, options: Sequence[str]) -> Elsewhere:
    """For the launcher, in the place of what starts a worker: each run that is started or resumed with it becomes a job
    of this backend. A run whose job is refused has ended with that, and BackendUnavailable is raised. Raises:
    InvalidConfig, for a backend that cannot be used from here. With `torchrun` a run waits until that, or its like,
    starts its processes."""
    if backend_name == launched.BY_HAND and not options:
        return Elsewhere(backend_name, lambda run: None)
    check(backend_name, options)

    def submit(run: RunDirectory) -> None:
        status = run.status_on_disk()
        job_options = options_of(options)
        job = job_of(run, status.attempt, job_options, job_options.processes(backend_name))
        folder = os.path.realpath(run.path)
        where = Placed(attempt=status.attempt, place=backend_name, options=[*options], job=job.name, folder=folder)
        placed.write(run.path, where)  # first: a node may begin it at once
        write_atomically(run.status_path, status.model_copy(update={"phase": WAITING}).model_dump_json())
        queue.leave(run)
        try:
            connected(backend_name, (*options,)).submit(job)
        except BackendUnavailable as error:
            _end(run, where, "interrupted", placed.LOST, str(error))
            raise

    return Elsewhere(backend_name, submit)


def look_after(outputs: Path) -> None:
    """Look once at the jobs of an outputs folder. Never raises: what goes wrong is said, and tried again next time."""
    tried(lambda: _look_at_all(outputs), "The jobs elsewhere could not be looked at")


class ClusterThread(LookingThread):
    """Looks after the jobs of an outputs folder, for as long as its page is served."""

    def __init__(self, outputs: Path) -> None:
        super().__init__("cluster")
        self._outputs = outputs

    def look(self) -> float:
        """See `LookingThread.look`."""
        look_after(self._outputs)
        return LOOK_SECONDS


@functools.lru_cache(maxsize=8)
def connected(backend_name: str, options: tuple[str, ...]) -> Backend:
    """The backend of a run. Raises: BackendUnavailable, InvalidConfig."""
    if backend_name == "ray":
        from playground.runs.cluster.ray_backend import RayBackend

        return RayBackend(options_of(options))
    from playground.runs.cluster.slurm_backend import SlurmBackend

    return SlurmBackend()


def _look_at_all(outputs: Path) -> None:
    jobs: dict[tuple[str, ...], list[tuple[RunDirectory, Placed]]] = defaultdict(list)
    for path in sorted(outputs.glob(f"*/{placed.FILE}")):
        run, where = RunDirectory(path.parent), placed.read(path.parent)
        if where and where.holds(run.path, run.status_on_disk()):
            jobs[where.place, *where.options].append((run, where))
    for (backend_name, *options), placed_runs in jobs.items():
        try:
            backend = connected(backend_name, (*options,))
            states = backend.states()
        except (OSError, PlaygroundError) as error:
            say(f"The jobs of {backend_name} could not be looked at: {error}")
            continue
        for run, where in placed_runs:
            tried(functools.partial(_look_at, run, where, backend, states), f"{run.id} could not be looked at")


def _look_at(run: RunDirectory, where: Placed, backend: Backend, states: Mapping[str, str]) -> None:
    alive = states.get(where.job) == ""
    status, now = run.status_on_disk(), time.time()
    if not where.holds(run.path, status):  # it has ended
        return
    stop = run.control_path / "stop"
    if stop.exists() and (status.state == "queued" or now - stop.stat().st_mtime > STOP_SECONDS):
        if alive:
            backend.cancel(where.job)
        _end(run, where, "stopped", "stopped", "Stopped before any node worked on it.")
    elif alive != (where.missing_since == 0.0):
        placed.write(run.path, where.model_copy(update={"missing_since": 0.0 if alive else now}))
    elif not alive and now - where.missing_since > GONE_SECONDS:
        lost = f"Its node was lost: its job is {states.get(where.job, 'gone')}"
        hint = "."
        if status.state == "queued":
            hint = f", and no node has started it: do all of them see {run.path}?"
        _end(run, where, "interrupted", placed.LOST, lost + hint)


def _end(run: RunDirectory, where: Placed, state: State, reason: str, message: str) -> None:
    """Raises: RunBusy, if its worker lives after all."""
    with launcher.at_rest(run):
        status = run.status_on_disk()
        if where.holds(run.path, status):  # on a shared disk its end was seen late
            writer.write_end(run, status, state, reason, message)
