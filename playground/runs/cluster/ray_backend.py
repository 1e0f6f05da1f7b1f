"""A Ray cluster as a backend: a detached actor for each job, placed by the processors and GPUs that it asks for.

The outputs folder has to lie on a disk that all nodes see at the same path. Ray finds the nodes and notices their
deaths; it retries nothing, for the driver knows from where to go on.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import traceback
from pathlib import Path

import ray
from ray.exceptions import RayError

from playground.errors import BackendUnavailable
from playground.runs.cluster import node
from playground.runs.cluster.backend import Backend, Options, RemoteJob
from playground.runs.folder.directory import RunDirectory

NAMESPACE = "playground"


class RayNode:
    """An actor: one job, in a process of Ray's; the worker below it does not outlive that. Raises: RunNotFound."""

    def __init__(self, folder: str, attempt: int) -> None:
        run = RunDirectory.open(folder)
        threading.Thread(target=self._compute, args=(run.path, attempt), daemon=True).start()

    def _compute(self, folder: Path, attempt: int) -> None:
        try:
            node.compute(folder, attempt)
        except Exception:  # whatever it is, the actor must not stay on its node
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)


class RayBackend(Backend):
    """See the module. Raises: BackendUnavailable, if no cluster answers."""

    def __init__(self, options: Options) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        address = options.address or os.environ.get("RAY_ADDRESS") or "auto"
        try:
            ray.init(address=address, namespace=NAMESPACE, log_to_driver=False)
        except (ConnectionError, RuntimeError, ValueError, OSError) as error:
            words = f"No Ray cluster could be used at {address} ({_line(error)})."
            raise BackendUnavailable(f"{words} Start one, or name another with the option address.") from None
        self._gpus_of_one = 1.0 if ray.cluster_resources().get("GPU") else 0.0

    def submit(self, job: RemoteJob) -> None:
        gpus = self._gpus_of_one if job.gpus is None else job.gpus
        actor = ray.remote(RayNode).options(
            name=job.name, lifetime="detached", num_cpus=job.cpus, num_gpus=gpus, max_restarts=0
        )
        try:
            actor.remote(str(job.run.path.resolve()), job.attempt)
        except (RayError, ValueError) as error:
            raise BackendUnavailable(f"Ray refused the job of {job.run.id}: {_line(error)}") from None

    def states(self) -> dict[str, str]:
        try:
            return dict.fromkeys(ray.util.list_named_actors(), "")
        except (RayError, RuntimeError) as error:
            raise BackendUnavailable(f"The Ray cluster does not answer ({_line(error)}).") from None

    def cancel(self, name: str) -> None:
        with contextlib.suppress(ValueError):  # it has just ended
            ray.kill(ray.get_actor(name))

    def close(self) -> None:
        ray.shutdown()


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
