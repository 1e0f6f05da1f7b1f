"""A Slurm cluster as a backend, by its own commands (sbatch, squeue, scancel); to be used on a login node.

The outputs folder has to lie on a disk that all nodes see at the same path, like this project and its Python.
"""

from __future__ import annotations

import getpass
import shlex
import shutil
import sys

from playground.errors import BackendUnavailable
from playground.runs.children import PROJECT
from playground.runs.cluster.backend import Backend, RemoteJob, called

NODE_MODULE = "playground.runs.cluster.node"
ENDED = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED"),
    *("NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED", "TIMEOUT"),
}


class SlurmBackend(Backend):
    """See the module. Raises: BackendUnavailable, where there is no Slurm."""

    def __init__(self) -> None:
        if shutil.which("sbatch") is None:
            raise BackendUnavailable("Slurm cannot be used from here (no sbatch). Start this on a login node.")

    def submit(self, job: RemoteJob) -> None:
        minutes, folder = max(1, round(job.options.minutes)), job.run.path.resolve()
        compute = [sys.executable, "-m", NODE_MODULE, str(folder), str(job.attempt), str(60 * minutes)]
        words = [
            f"--job-name={job.name}",
            f"--time={minutes}",
            f"--cpus-per-task={max(1, round(job.cpus))}",
            f"--chdir={PROJECT}",
            f"--output={folder / job.run.log_path.name}",
            "--open-mode=append",
            "--no-requeue",
        ]
        gpus = round(job.gpus or 0)
        if job.processes > 1:
            each = f"--cpus-per-task={max(1, round(job.cpus))}"  # srun does not take it from sbatch
            compute = ["srun", "--kill-on-bad-exit=0", each, *compute]
            words += [f"--nodes={job.options.nodes}", f"--ntasks-per-node={job.options.on_each_node}"]
            if gpus:
                words.append(f"--gpus-per-node={gpus}")
        else:
            words.append("--nodes=1")  # else Slurm may take the GPUs from several, of which the run sees one
            if gpus:
                words.append(f"--gpus={gpus}")
        words.append(f"--wrap=exec {shlex.join(compute)}")
        if job.options.partition:
            words.append(f"--partition={job.options.partition}")
        _called("sbatch", *words)

    def states(self) -> dict[str, str]:
        listed = _called("squeue", f"--user={getpass.getuser()}", "--states=all", "--noheader", "--format=%j %T")
        lines = (line.rpartition(" ") for line in listed.splitlines())  # a name may have spaces
        pairs = [(name.strip(), word) for name, _, word in lines]
        over = {name: f"over ({word})" for name, word in pairs if word in ENDED}
        return over | {name: "" for name, word in pairs if word not in ENDED}

    def cancel(self, name: str) -> None:
        _called("scancel", f"--user={getpass.getuser()}", f"--name={name}")


def _called(program: str, *words: str) -> str:
    return called(f"Slurm's {program}", program, *words)
