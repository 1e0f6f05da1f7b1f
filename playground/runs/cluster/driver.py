"""The driver of a sweep on other machines, started by `handing`:
`python -m playground.runs.cluster.driver OUTPUTS NAME`.

Submits the jobs of its runs, cancels those that do not stop, and has a run that has lost its node taken up again, a few
times. What it knows is in the runs' folders (placed.json), so it may die: jobs go on, and the next driver goes on with
them.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from playground.errors import InvalidConfig, PlaygroundError
from playground.runs import launcher
from playground.runs.cluster import handing
from playground.runs.cluster.backend import Backend, job_of, name_of, options_of
from playground.runs.cluster.handing import Driven
from playground.runs.folder import placed, writer
from playground.runs.folder.files import write_atomically
from playground.runs.folder.placed import Placed
from playground.runs.folder.records import State

LOOK_SECONDS = 2.0
ASK_AGAIN_SECONDS = 10.0  # after a refusal
GONE_SECONDS = 30.0  # a job may be missing for so long: lists and shared disks are late, and its worker has to leave
STOP_SECONDS = 150.0  # what a worker may take to save and leave (`training.process.watch`), and the way there and back
WAITING = "waiting for a node"


class Driver:
    """Looks after the runs of an outputs folder that name it.

    Args:
        connect: gives the backend for a run, or raises BackendUnavailable.
    """

    def __init__(self, outputs: Path, name: str, connect: Callable[[Placed], Backend]) -> None:
        self._outputs, self._name, self._connect = outputs, name, connect
        self._backend: Backend | None = None
        self._seen: dict[Any, tuple[Any, float]] = {}  # how things are, and since when

    def step(self) -> float:
        """Do what is to be done now. Returns the seconds until the next step; 0 if nothing is left to do."""
        mine, states, trouble = self._mine(), None, ""
        if not mine:
            return 0.0
        try:
            self._backend = self._backend or self._connect(mine[0].placed)
            states = self._backend.states()
        except (OSError, PlaygroundError) as error:
            self.close()
            trouble = str(error)
        for one in mine:
            self._tried(one, self._see_to, states)
        for one in [one for one in self._mine() if not one.placed.submitted]:
            self._note(one, f"{WAITING}: {trouble.rstrip('.')[:300]}; it is asked again" if trouble else WAITING)
            if not trouble and self._is_room(one):
                trouble = self._tried(one, self._submit)
        return ASK_AGAIN_SECONDS if trouble else LOOK_SECONDS

    def close(self) -> None:
        """Let go of the backend. Its jobs go on."""
        if self._backend:
            self._backend.close()
        self._backend = None

    def _mine(self) -> list[Driven]:
        return [one for one in handing.driven(self._outputs) if one.placed.driver == self._name]

    def _seconds(self, key: Any, value: Any) -> float:
        """For how long something has had this value (not None), as far as was seen here; 0 at first."""
        now = time.monotonic()
        if self._seen.get(key, (None, now))[0] != value:
            self._seen[key] = value, now
        return now - self._seen[key][1]

    def _tried(self, one: Driven, function: Callable[..., None], *arguments: Any) -> str:
        """What goes wrong with one run takes no other with it, and is tried again at the next step. Gives its words."""
        try:
            function(one, *arguments)
        except (OSError, PlaygroundError) as error:
            if not self._seconds((one.run.id, "trouble"), str(error)):
                print(f"{one.run.id}: {error}", file=sys.stderr, flush=True)
            return str(error)
        return ""

    def _is_room(self, one: Driven) -> bool:
        going = sum(other.placed.submitted for other in self._mine())
        return going < options_of(one.placed.options).at_once and not one.run.stop_requested

    def _submit(self, one: Driven) -> None:
        run = one.run
        try:
            job = job_of(run, one.placed.attempt, options_of(one.placed.options))
        except InvalidConfig as error:
            self._end(one, "failed", "damaged", f"Its config.yaml cannot be run: {error}")
            return
        begun = {"submitted": True, "update": run.status_on_disk().update}
        placed.write(run.path, one.placed.model_copy(update=begun))  # first: a node may begin it at once
        try:
            assert self._backend is not None
            self._backend.submit(job)
        except (OSError, PlaygroundError):
            placed.write(run.path, one.placed)
            raise

    def _note(self, one: Driven, phase: str) -> None:
        status = one.run.status_on_disk()
        if status.state == "queued" and not status.pid and status.phase != phase:
            write_atomically(one.run.status_path, status.model_copy(update={"phase": phase}).model_dump_json())

    def _see_to(self, one: Driven, states: Mapping[str, str] | None) -> None:
        """States: of all jobs; None where the backend does not answer."""
        run, there, job = one.run, one.placed.submitted, name_of(one.run, one.placed.attempt)
        if there and self._backend:
            self._backend.exchange(run, job)
        status = run.status_on_disk()
        if not one.placed.holds(run.path, status):  # it has ended
            return
        alive = states is not None and states.get(job) == ""
        missing = self._seconds((job, "missing"), (alive, states is None))
        stopping = self._seconds((job, "stop"), run.stop_requested) if run.stop_requested else -1.0
        if alive and self._backend:
            if stopping > STOP_SECONDS or (stopping >= 0 and status.state == "queued"):
                self._backend.cancel(job)
        elif stopping >= 0 and (not there or status.state == "queued" or stopping > STOP_SECONDS):
            self._end(one, "stopped", "stopped", "Stopped while no node was at work on it.")
        elif there and states is not None and (status.ended or missing > GONE_SECONDS):
            begun = f", and no node has begun it: do all see {run.path}?" if status.state == "queued" else ""
            self._lost(one, status.message if status.ended else f"its job is {states.get(job, 'gone')}{begun}")

    def _lost(self, one: Driven, why: str) -> None:
        """Take a run up again from its newest checkpoint, or end it. Raises: RunBusy, if its worker lives after all."""
        run, retries = one.run, options_of(one.placed.options).retries
        with launcher.at_rest(run):
            status = run.status_on_disk()
            if not one.placed.holds(run.path, status):  # on a shared disk its end was seen late
                return
            saved = status.reason == placed.LOST and status.update > one.placed.update  # it got on, and left in order
            lost = one.placed.lost + (not saved)
            words = f"Its node was lost: {why.strip().rstrip('.')}."
            if run.stop_requested:
                self._end(one, "stopped", "stopped", f"Stopped. {words}")
            elif lost > retries:
                self._end(one, "interrupted", placed.LOST, words)
            else:
                words += " It is taken up again." if saved else f" It is taken up again ({lost} of {retries})."
                ended = status.model_copy(update={"state": "interrupted", "reason": placed.LOST, "message": words})
                writer.record_end(run, ended)
                run.queue_again(status, status.num_updates)
                again = {"attempt": run.status_on_disk().attempt, "lost": lost, "submitted": False, "node": ""}
                placed.write(run.path, one.placed.model_copy(update=again))

    def _end(self, one: Driven, state: State, reason: str, message: str) -> None:
        placed.write(one.run.path, one.placed.model_copy(update={"driver": ""}))
        writer.write_end(one.run, one.run.status_on_disk(), state, reason, message)


def connected(where: Placed) -> Backend:
    """The backend of a run. Raises: BackendUnavailable, InvalidConfig."""
    if where.place == "ray":
        from playground.runs.cluster.ray_backend import RayBackend

        return RayBackend(options_of(where.options))
    if where.place == "jobs":
        from playground.runs.cluster.jobs_backend import JobsBackend

        return JobsBackend()
    from playground.runs.cluster.slurm_backend import SlurmBackend

    return SlurmBackend()


def drive(outputs: Path, name: str, connect: Callable[[Placed], Backend] = connected) -> None:
    """Look again and again until nothing is left."""
    lock = launcher.adopt_lock()
    with contextlib.closing(Driver(outputs, name, connect)) as driver:
        while True:
            while pause := driver.step():
                time.sleep(pause)
            with launcher.one_at_a_time(outputs):  # nobody hands a run over meanwhile
                if not driver.step():
                    if lock:
                        lock.close()
                    return


if __name__ == "__main__":
    drive(Path(sys.argv[1]), sys.argv[2])
