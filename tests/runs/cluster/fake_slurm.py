"""sbatch, srun, squeue and scancel of a Slurm whose nodes are all this machine, as far as they are used.

`python -m tests.runs.cluster.fake_slurm PROGRAM ARGUMENTS...`; what there is of jobs lies in the folder $SLURM_FAKE.
"""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

PROJECT = Path(__file__).resolve().parents[3]


def install(folder):
    """Put the programs into a folder; the environment in which they are found."""
    folder.mkdir()
    for program in ("sbatch", "srun", "squeue", "scancel"):
        command = f'exec {sys.executable} -m tests.runs.cluster.fake_slurm {program} "$@"'
        (folder / program).write_text(f"#!/bin/sh\ncd {PROJECT} && {command}\n")
        (folder / program).chmod(0o700)
    return {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_FAKE": str(folder)}


def jobs(folder):
    """Those that were submitted, the oldest first: the options of each, its name, its process."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def runs(job):
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(int(job["pid"])).status() != psutil.STATUS_ZOMBIE
    return False


def take_back(folder, name):
    """What Slurm does that wants a node: SIGTERM to every process of a job."""
    for job in jobs(folder):
        if job["job-name"] == name and runs(job):
            os.killpg(int(job["pid"]), signal.SIGTERM)


def main(program, words):
    folder = Path(os.environ["SLURM_FAKE"])
    asked = {name.removeprefix("--"): value for name, _, value in (word.partition("=") for word in words)}
    if (folder / "away").exists():
        print("Unable to contact slurm controller", file=sys.stderr)
        return 1
    if program == "sbatch":
        with open(asked["output"], "ab") as log:
            tasks = int(asked.get("nodes", 1)) * int(asked.get("ntasks-per-node", 1))
            variables = {**os.environ, "SLURM_NTASKS": str(tasks), "SLURM_JOB_ID": str(os.getpid())}
            command = ["sh", "-c", asked["wrap"]]
            if (folder / "full").exists():  # it waits for its nodes
                command = ["sleep", "infinity"]
            job = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=variables)
        record = folder / f"{len(jobs(folder)):04d}.json"
        record.write_text(json.dumps({**asked, "pid": str(job.pid)}))
    if program == "squeue":
        print("my notebook RUNNING")  # another job of this user
    for job in jobs(folder) if program == "squeue" else ():
        print(job["job-name"], "RUNNING" if runs(job) else "COMPLETED")
    if program == "srun":
        command = [*itertools.dropwhile(lambda word: word.startswith("--"), words)]
        tasks = int(os.environ["SLURM_NTASKS"])
        step = {**os.environ, "SLURM_STEP_NUM_TASKS": str(tasks), "SLURM_STEP_NODELIST": "127.0.0.1"}
        each = [step | {"SLURM_PROCID": str(task), "SLURM_LOCALID": "0"} for task in range(tasks)]
        signal.signal(signal.SIGTERM, lambda *_: None)  # its tasks get it too
        return max([process.wait() for process in [subprocess.Popen(command, env=one) for one in each]])
    if program == "scancel":
        take_back(folder, asked["name"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
