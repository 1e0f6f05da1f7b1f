"""Hugging Face Jobs as a backend: a job for each attempt, with the playground's image, and a bucket between it and us.

The bucket is mounted on both sides (`runs.bucket` says what such a folder is good for). So the worker is at work on the
job's own disk: `cluster.node` keeps the run in `jobs/NAME/` of the bucket, from where it is brought here, and
requests take the way back. A job is paid for by the second and ends after 30 minutes unless it says otherwise, so it
always does.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from playground.errors import BackendUnavailable
from playground.runs import bucket
from playground.runs.cluster.backend import Backend, RemoteJob
from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory

NODE_MODULE = "playground.runs.cluster.node"
FOLDER = "jobs"  # in the bucket
FIRST = "000001"  # the copy of records that was sent
MOUNT = "/bucket"  # in the job: the folder of this job, and no other
LABEL = "playground-job"
ENDED = ("COMPLETED", "CANCELED", "ERROR", "DELETED")
REQUEST = re.compile(r"stop|pause|resume|step|trace|set-[a-z0-9-]{1,60}\.json")
RECORD = re.compile(
    r"(metrics|samples|evaluations|tokens|events)\.jsonl|worker\.log|status\.json|traces/update-\d{6,9}\.json"
)
T = TypeVar("T")


class JobsBackend(Backend):
    """See the module. `api`: a `huggingface_hub.HfApi`, by default with the login of this machine. Raises:
    BackendUnavailable, InvalidConfig."""

    def __init__(self, api: Any = None) -> None:
        from huggingface_hub import HfApi, get_token

        self._api, self._token = api or HfApi(), get_token() if api is None else api.token
        mount = bucket.of_environment(os.environ)
        if not self._token or mount is None:
            words = f"a login (`hf auth login`), and their bucket here ({bucket.VARIABLE})"
            raise BackendUnavailable(f"HF Jobs need {words}.")
        self._folder = mount / FOLDER
        self._ids: dict[str, str] = {}
        self._had: dict[str, str] = {}  # the newest copy of records that was brought in
        self._at_work: set[str] = set()  # jobs that are not over

    def submit(self, job: RemoteJob) -> None:
        from huggingface_hub import Volume

        bucket.keep(job.run, self._folder / job.name / bucket.RUNS / job.run.id)
        folder = f"{MOUNT}/{bucket.RUNS}/{job.run.id}"
        options, seconds = job.options, round(60 * job.options.minutes)
        here = Volume(type="bucket", source=options.bucket, mount_path=MOUNT, path=f"{FOLDER}/{job.name}")
        made = _tried(
            lambda: self._api.run_job(
                image=options.image,
                command=["python", "-m", NODE_MODULE, folder, str(job.attempt), str(seconds), "bucket"],
                flavor=options.flavor,
                timeout=f"{seconds}s",
                secrets={"HF_TOKEN": self._token},
                labels={"app": "playground", LABEL: job.name},
                volumes=[here],
            )
        )
        self._ids[job.name] = made.id

    def states(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for job in _tried(lambda: list(self._api.list_jobs(labels={"app": "playground"}))):
            name, stage = job.labels.get(LABEL, ""), str(getattr(job.status.stage, "value", job.status.stage))
            if found.get(name) != "":
                self._ids[name] = job.id
                found[name] = f"over ({job.status.message or stage})" if stage in ENDED else ""
        self._at_work = {name for name, ended in found.items() if not ended}
        return found

    def cancel(self, name: str) -> None:
        _tried(lambda: self._api.cancel_job(job_id=self._ids[name]))

    def exchange(self, run: RunDirectory, name: str) -> None:
        control = self._folder / name / "control"
        for path in sorted(run.control_path.iterdir()):
            if REQUEST.fullmatch(path.name) and not (control / path.name).exists():
                control.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, control / path.name)
                if path.name != "stop":
                    path.unlink(missing_ok=True)
        folder = self._folder / name / bucket.RUNS / run.id
        newest = max((path.parent.name for path in folder.glob(f"{bucket.RECORDS}/*/{bucket.MANIFEST}")), default="")
        had = self._had.get(name, FIRST) if name in self._at_work else FIRST  # a copy that was half written was not had
        if newest > had and self._bring_in(run, name):
            self._had[name] = newest
        if run.status_on_disk().ended:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def _bring_in(self, run: RunDirectory, name: str) -> bool:
        """The newest copy that is whole: its checkpoints first, its status last. False for the last one of a job that
        still works, which may be writing it: it is brought in once the job is over, and the folder goes with it."""
        with tempfile.TemporaryDirectory(dir=run.path, prefix=".coming-") as folder:
            bucket.restore(self._folder / name, Path(folder))
            coming = Path(folder) / run.id
            if name in self._at_work and RunDirectory(coming).status_on_disk().ended:
                return False
            run.checkpoints_path.mkdir(exist_ok=True)
            for path in (coming / bucket.CHECKPOINTS).glob("update-*"):
                if not (run.checkpoints_path / path.name).exists():
                    os.rename(path, run.checkpoints_path / path.name)
            for path in sorted(coming.rglob("*"), key=lambda path: path.name == run.status_path.name):
                record = path.relative_to(coming)
                if RECORD.fullmatch(str(record)):
                    (run.path / record).parent.mkdir(exist_ok=True)
                    os.replace(path, run.path / record)
        checkpoints.prune(run.checkpoints_path, max(1, run.config().checkpoint.keep))
        return True


def _tried(function: Callable[[], T]) -> T:
    """What a call of the hub's client gives. Raises: BackendUnavailable, whatever it failed with."""
    try:
        return function()
    except Exception as error:  # the client's library raises its own classes and those of two others
        raise BackendUnavailable(f"The hub says: {type(error).__name__}: {error}") from error
