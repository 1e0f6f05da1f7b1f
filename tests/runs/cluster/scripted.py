"""What tests of runs elsewhere need: a backend by script, and runs that were handed over."""

from pathlib import Path

import pytest

from playground.config import RunConfig
from playground.errors import BackendUnavailable
from playground.runs import cluster, launcher
from playground.runs.cluster import remote_jobs
from playground.runs.cluster.backend import Backend, RemoteJob
from playground.runs.folder.directory import RunDirectory
from tests.support import small_config


class Scripted(Backend):
    """Says what a test has it say, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.jobs: list[RemoteJob] = []
        self.known: dict[str, str] = {}  # what it says of them; what is not in here it has forgotten
        self.cancelled: list[str] = []
        self.is_away = False
        self.trouble = ""  # the run with which nothing can be exchanged

    def submit(self, job: RemoteJob) -> None:
        self._answer()
        self.jobs.append(job)
        self.known[job.name] = ""

    def states(self) -> dict[str, str]:
        self._answer()
        return self.known

    def cancel(self, name: str) -> None:
        self.cancelled.append(name)

    def exchange(self, run: RunDirectory, name: str) -> None:
        if run.id == self.trouble:
            raise OSError("Stale file handle")

    def _answer(self) -> None:
        if self.is_away:
            raise BackendUnavailable("The controller does not answer.")


def connect(monkeypatch: pytest.MonkeyPatch, backend: Backend) -> None:
    """Every run that is handed over is given to this one."""
    monkeypatch.setattr(remote_jobs, "connected", lambda place, options: backend)


def handed_over(outputs: Path, config: RunConfig | None = None, run_id: str = "one", *options: str) -> RunDirectory:
    """A new run; by default one of three updates on the processor."""
    made = config or small_config(device="cpu")
    return launcher.start(made, outputs, run_id, cluster.elsewhere("slurm", options)).run
