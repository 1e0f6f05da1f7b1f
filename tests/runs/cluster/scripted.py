"""What tests of runs elsewhere need: a backend by script, runs that were handed over, and a job of the hub."""

import functools

from playground.errors import BackendUnavailable
from playground.runs import cluster, launcher
from playground.runs.cluster import node, remote_jobs
from playground.runs.cluster.backend import Backend, RemoteJob
from tests.forking import Forker
from tests.support import small_config


class Scripted(Backend):
    """Says what a test has it say, and remembers what it was asked for."""

    def __init__(self):
        self.jobs: list[RemoteJob] = []
        self.known: dict[str, str] = {}  # what it says of them; what is not in here it has forgotten
        self.cancelled: list[str] = []
        self.is_away = False
        self.trouble = ""  # the run with which nothing can be exchanged

    def submit(self, job):
        self._answer()
        self.jobs.append(job)
        self.known[job.name] = ""

    def states(self):
        self._answer()
        return self.known

    def cancel(self, name):
        self.cancelled.append(name)

    def exchange(self, run, name):
        if run.id == self.trouble:
            raise OSError("Stale file handle")

    def _answer(self):
        if self.is_away:
            raise BackendUnavailable("The controller does not answer.")


def connect(monkeypatch, backend):
    """Every run that is handed over is given to this one."""
    monkeypatch.setattr(remote_jobs, "connected", lambda place, options: backend)


def handed_over(outputs, config=None, run_id="one", *options):
    """A new run; by default one of three updates on the processor."""
    made = config or small_config(device="cpu")
    return launcher.start(made, outputs, run_id, cluster.elsewhere("slurm", options)).run


def main(arguments):
    """A job of the hub: `node` with the fake worker, which keeps its run again and again."""
    launcher.new_worker = functools.partial(Forker.of_pages().spawn, module="tests.fake_worker")
    node.KEEP_SECONDS = node.LOOK_SECONDS = 0.1
    node.main(*arguments)
    return 0
