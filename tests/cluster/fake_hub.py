"""The hub's jobs and buckets in a folder: as much of `huggingface_hub.HfApi` as is used of them.

`python -m tests.cluster.fake_hub FOLDER ARGUMENTS...` is what a job of it runs: `job_side` with workers by script.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from playground.cluster.places import job_side
from playground.cluster.places.jobs_bucket import Bucket
from playground.runs.start import launcher
from tests.support import PROJECT


class HubAway(Exception):
    """What the hub's client raises where there is no connection is no OSError, either."""


class FakeHub:
    """Its buckets are folders; its jobs are processes here."""

    token = "hf_of_a_test"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[dict[str, Any]] = []  # the arguments of `run_job`
        self.jobs: list[subprocess.Popen[bytes]] = []
        self.cancelled: list[str] = []
        self.failing = 0  # so many calls to come fail

    def _call(self) -> None:
        if self.failing:
            self.failing -= 1
            raise HubAway("the hub is away")

    def create_bucket(self, bucket_id: str, *, private: bool, exist_ok: bool) -> None:
        self._call()
        assert private and exist_ok
        (self.folder / bucket_id).mkdir(parents=True, exist_ok=True)

    def batch_bucket_files(self, bucket_id: str, *, add: Any = (), delete: Any = ()) -> None:
        self._call()
        for data, path in add:
            target = self.folder / bucket_id / path
            target.parent.mkdir(parents=True, exist_ok=True)
            half = target.with_name(f".{target.name}")
            half.write_bytes(data)
            half.replace(target)
        for path in delete:
            (self.folder / bucket_id / path).unlink()

    def list_bucket_tree(self, bucket_id: str, prefix: str, *, recursive: bool) -> Any:
        self._call()
        root = self.folder / bucket_id
        for path in (root / prefix).rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                yield SimpleNamespace(type="file", path=str(path.relative_to(root)))

    def download_bucket_files(self, bucket_id: str, files: Any) -> None:
        self._call()
        for path, target in files:
            shutil.copyfile(self.folder / bucket_id / path, target)

    def run_job(self, **asked: Any) -> Any:
        self._call()
        self.asked.append(asked)
        python, m, module, *told = asked["command"]
        assert (python, m, module) == ("python", "-m", job_side.__name__)
        command = [sys.executable, "-m", "tests.cluster.fake_hub", str(self.folder), *told]
        self.jobs.append(subprocess.Popen(command, cwd=PROJECT))
        return SimpleNamespace(id=f"job-{len(self.jobs)}")

    def inspect_job(self, *, job_id: str) -> Any:
        self._call()
        code = self.jobs[int(job_id.removeprefix("job-")) - 1].poll()
        stage = "RUNNING" if code is None else "COMPLETED" if code == 0 else "ERROR"
        return SimpleNamespace(status=SimpleNamespace(stage=stage, message=None))

    def cancel_job(self, *, job_id: str) -> None:
        self._call()
        self.cancelled.append(job_id)
        self.jobs[int(job_id.removeprefix("job-")) - 1].kill()


def main(folder: str, name: str, inside: str, run_id: str, minutes: str, checkpoint_seconds: str) -> None:
    launcher.WORKER_MODULE = "tests.fake_worker"
    hub = FakeHub(Path(folder))
    around = Bucket(hub, name, inside.rpartition("/")[0])
    job_side.compute(Bucket(hub, name, inside), around, run_id, 60 * float(minutes), float(checkpoint_seconds), 0.1)


if __name__ == "__main__":
    main(*sys.argv[1:])
