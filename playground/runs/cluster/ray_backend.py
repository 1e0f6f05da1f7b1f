"""A Ray cluster as a backend: a detached actor for each job, placed by the processors and GPUs that it asks for; of a
job of several processes it only drives Ray Train, which starts them.

The outputs folder has to lie on a disk that all nodes see at the same path. Each call is a process of its own, for Ray
ends a process that has lost its cluster.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any

from playground.runs.cluster import node
from playground.runs.cluster.backend import Backend, Options, RemoteJob, called
from playground.runs.folder.directory import RunDirectory

NAMESPACE = "playground"


class RayNode:
    """An actor: one job, in a process of Ray's; the worker below it does not outlive that. Raises: RunNotFound."""

    def __init__(self, folder: str, attempt: int, workers: int, each: dict[str, float]) -> None:
        run = RunDirectory.open(folder)
        threading.Thread(target=self._compute, args=(run.path, attempt, workers, each), daemon=True).start()

    def _compute(self, folder: Path, attempt: int, workers: int, each: dict[str, float]) -> None:
        try:
            if workers > 1:
                compute_in_several(folder, attempt, workers, each)
            else:
                node.compute(folder, attempt)
        except Exception:  # whatever it is, the actor must not stay on its node
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)


def compute_in_several(folder: Path, attempt: int, workers: int, each: dict[str, float]) -> None:
    """Let Ray Train start the processes of a run, and wait for their end. `each`: what one takes of its node."""
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    scaling = ScalingConfig(num_workers=workers, use_gpu="GPU" in each, resources_per_worker=each)
    with tempfile.TemporaryDirectory(prefix=".ray-", dir=folder, ignore_cleanup_errors=True) as storage:
        TorchTrainer(
            compute_one,
            train_loop_config={"folder": str(folder), "attempt": attempt},
            scaling_config=scaling,
            torch_config=TorchConfig(backend="gloo"),
            run_config=RunConfig(storage_path=storage),
        ).fit()


def compute_one(job: dict[str, Any]) -> None:
    """In one of the processes, whose environment Ray Train has set. At MASTER_PORT it answers itself."""
    node.compute(Path(job["folder"]), job["attempt"], is_served=True)


class RayBackend(Backend):
    """See the module."""

    def __init__(self, options: Options) -> None:
        self._address = options.address or os.environ.get("RAY_ADDRESS") or "auto"

    def submit(self, job: RemoteJob) -> None:
        gpus = "any" if job.gpus is None else str(job.gpus)
        words = job.name, str(job.cpus), gpus, str(job.run.path.resolve()), str(job.attempt), str(job.processes)
        self._called("submit", *words)

    def states(self) -> dict[str, str]:
        return dict.fromkeys(self._called("list").split(), "")

    def cancel(self, name: str) -> None:
        self._called("cancel", name)

    def _called(self, *words: str) -> str:
        return called(f"Ray at {self._address}", sys.executable, "-m", __name__, self._address, *words)


def main(address: str, call: str, *words: str) -> None:
    """In the process of a call. Ends with what Ray says where that cannot be."""
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False)
        if call == "submit":
            name, cpus, gpus, folder, attempt, workers = words
            if gpus == "any":
                num_gpus = 1.0 if ray.cluster_resources().get("GPU") else 0.0
            else:
                num_gpus = float(gpus)
            each = {"CPU": float(cpus)}
            if num_gpus:
                each["GPU"] = num_gpus
            resources = each if workers == "1" else {}
            actor = ray.remote(RayNode).options(
                name=name,
                lifetime="detached",
                num_cpus=resources.get("CPU", 0.0),
                num_gpus=resources.get("GPU", 0.0),
                max_restarts=0,
            )
            actor.remote(folder, int(attempt), int(workers), each)
        elif call == "list":
            print(*ray.util.list_named_actors())
        else:
            with contextlib.suppress(ValueError):  # it has just ended
                ray.kill(ray.get_actor(*words))
    except Exception as error:  # Ray raises its own classes, and those of Python
        sys.exit((str(error).strip().splitlines() or [type(error).__name__])[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
