"""What tests of runs elsewhere need: runs that were handed over, a backend by script, a driver in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from playground.config import RunConfig
from playground.errors import BackendUnavailable
from playground.runs import cluster, launcher
from playground.runs.cluster import driver
from playground.runs.cluster.backend import Backend, RemoteJob
from playground.runs.cluster.driver import Driver
from playground.runs.folder.directory import RunDirectory
from tests.support import small_config


class Scripted(Backend):
    """Says what a test has it say, and remembers what it was asked for."""

    def __init__(self) -> None:
        self.jobs: list[RemoteJob] = []
        self.known: dict[str, str] = {}  # what it says of them, by run; what is not in here it has forgotten
        self.cancelled: list[str] = []
        self.refuses: set[str] = set()  # runs, or "all"
        self.trouble: dict[str, Exception] = {}  # of exchanging with a run

    def submit(self, job: RemoteJob) -> None:
        self._answer(job.run.id)
        self.jobs.append(job)
        self.known[job.name] = ""

    def states(self) -> dict[str, str]:
        self._answer("")
        return self.known

    def cancel(self, name: str) -> None:
        self.cancelled.append(name)
        self.known[name] = "over (CANCELLED)"

    def exchange(self, run: RunDirectory, name: str) -> None:
        if run.id in self.trouble:
            raise self.trouble[run.id]

    def ends(self, run: RunDirectory, words: str = "over (NODE_FAIL)") -> None:
        """Its newest job."""
        self.known[[job.name for job in self.jobs if job.run.id == run.id][-1]] = words

    def _answer(self, run_id: str) -> None:
        if self.refuses & {run_id, "all"}:
            raise BackendUnavailable("The controller does not answer.")


def handed_over(outputs: Path, config: RunConfig | str = "one", run_id: str = "", *options: str) -> RunDirectory:
    """A new run; where only its name is given, one of three updates on the processor."""
    made = small_config(device="cpu") if isinstance(config, str) else config
    run_id = run_id or (config if isinstance(config, str) else "one")
    return launcher.start(made, outputs, run_id, cluster.elsewhere("sweep", "slurm", options)).run


@contextmanager
def driving(outputs: Path, backend: Backend) -> Iterator[None]:
    """A driver in a thread, that goes on step by step."""
    over, driver = threading.Event(), Driver(outputs, "sweep", lambda _: backend)

    def go() -> None:
        while not over.is_set():
            driver.step()
            time.sleep(0.05)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def at_once(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """These patiences of a driver are over at once."""
    for name in names:
        monkeypatch.setattr(driver, name, -1.0)


def last_message(run: RunDirectory) -> Any:
    """Of its newest change of state."""
    return [event for event in run.all_events() if event.kind == "state"][-1].message
