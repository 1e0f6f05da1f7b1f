"""A Slurm cluster as a place, through submitit: a job for each run, in a folder that this machine and all nodes see.

The runs' folders on the nodes' side lie there, and are read from here like any other; no connection is held. A job that
Slurm takes back is queued again by submitit (`cluster.places.slurm_job`) and is no loss; one that vanishes is.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import submitit

from playground.cluster.news import Begun, Lost, News, Over
from playground.cluster.parcel import unpack
from playground.cluster.place import Needs, Options
from playground.cluster.places.leash import PULL_SECONDS, Leash
from playground.cluster.places.slurm_job import LEASH, NODE, OVER, PATIENCE_SECONDS, SlurmJob
from playground.cluster.pump import Pump
from playground.cluster.seat import LOOK_SECONDS, put_request
from playground.errors import PlaceUnavailable
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import make_outputs, write_atomically

FOLDER = ".slurm"  # in the outputs folder, unless another is named
SIGNAL_SECONDS = 120  # before the end of a job's time, in which it saves


class _Job:
    """A job and what of it has been told."""

    def __init__(self, folder: Path, job: Any, checkpoint_seconds: float) -> None:
        self.run, self.job = RunDirectory(folder), job
        self.pump = Pump(folder, checkpoint_seconds)
        self.node = ""

    def look(self) -> Iterator[list[News]]:
        over = (self.run.path.parent / OVER).exists()
        vanished = not over and self.job.done()
        over = over or (vanished and (self.run.path.parent / OVER).exists())  # written between the two looks
        with contextlib.suppress(OSError):
            node = (self.run.path.parent / NODE).read_text(encoding="utf-8")
            if node != self.node:
                self.node = node
                yield [Begun(node)]
        yield from self.pump.look(over)
        if over:
            yield [Over()]
        elif vanished:
            yield [Lost(f"its job {self.job.job_id} ended as {self.job.state}")]


class SlurmPlace:
    """See the module.

    Args:
        cluster: None for Slurm; "local" computes on this machine, for tests.
    """

    def __init__(
        self,
        options: Options,
        outputs: Path,
        sweep: str,
        cluster: str | None = None,
        pull_seconds: float = PULL_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._options, self._patience_seconds = options, patience_seconds
        shared = Path(options.folder) if options.folder else outputs.resolve() / FOLDER
        self._folder = make_outputs(shared / f"{sweep}-{time.time_ns()}")
        self._leash = Leash(lambda text: write_atomically(self._folder / LEASH, text), pull_seconds)
        self._jobs: dict[str, _Job] = {}
        self._numbers = itertools.count(1)
        try:
            self._executor = submitit.AutoExecutor(folder=self._folder / "logs" / "%j", cluster=cluster or "slurm")
        except (RuntimeError, ValueError) as error:
            raise PlaceUnavailable(f"Slurm cannot be used from here ({error}). Start this on a login node.") from None

    def begin(self, run_id: str, parcel: Callable[[], bytes], needs: Needs) -> None:
        packed, folder = parcel(), self._folder / str(next(self._numbers)) / run_id
        try:
            self._leash.pull()
            unpack(packed, folder)
        except OSError as error:
            shutil.rmtree(folder.parent, ignore_errors=True)
            raise PlaceUnavailable(f"{self._folder} cannot be written ({error}).") from None
        settings: dict[str, Any] = {
            "name": run_id,
            "timeout_min": max(1, round(self._options.minutes)),
            "cpus_per_task": max(1, round(needs.cpus)),
            "gpus_per_node": round(needs.gpus or 0),
        }
        if self._options.partition:
            settings["slurm_partition"] = self._options.partition
        self._executor.update_parameters(slurm_signal_delay_s=SIGNAL_SECONDS, **settings)
        try:
            job = self._executor.submit(SlurmJob(folder, self._patience_seconds))
        except Exception as error:  # submitit's own class for what sbatch says, and those of starting it
            raise PlaceUnavailable(f"Slurm refused the job of {run_id}: {error}") from None
        self._jobs[run_id] = _Job(folder, job, self._options.checkpoint_seconds)

    def news(self, seconds: float) -> list[tuple[str, list[News]]]:
        found: list[tuple[str, list[News]]] = []
        with contextlib.suppress(OSError):  # then next time; where it lasts, the jobs leave and are lost
            self._leash.pull()
        for run_id, job in list(self._jobs.items()):
            with contextlib.suppress(OSError):  # of a shared folder that is away for a moment: then next time
                found.extend((run_id, batch) for batch in job.look())
            if found and found[-1][0] == run_id and isinstance(found[-1][1][-1], (Over, Lost)):
                del self._jobs[run_id]
                shutil.rmtree(job.run.path.parent, ignore_errors=True)
        if not found:
            time.sleep(max(seconds, LOOK_SECONDS))
        return found

    def control(self, run_id: str, name: str, data: bytes | None) -> None:
        if job := self._jobs.get(run_id):
            put_request(job.run, name, data)
            if data is not None:
                job.pump.asked.add(name)

    def give_up(self, run_id: str) -> None:
        if job := self._jobs.pop(run_id, None):
            job.job.cancel(check=False)

    def close(self) -> None:
        left = list(self._jobs)
        for run_id in left:
            self.give_up(run_id)
        if not left:  # else workers may be saving in it yet
            shutil.rmtree(self._folder, ignore_errors=True)
