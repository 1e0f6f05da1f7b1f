"""What tests of runs elsewhere need: a backend by script, and runs that were handed over."""

from playground.errors import BackendUnavailable
from playground.runs import cluster, launcher
from playground.runs.cluster import remote_jobs
from playground.runs.cluster.backend import Backend, RemoteJob
from tests.support import small_config


class Scripted(Backend):
    """Says what a test has it say, and remembers what it was asked for."""

    def __init__(self):
        self.jobs: list[RemoteJob] = []
        self.known: dict[str, str] = {}  # what it says of them; what is not in here it has forgotten
        self.cancelled: list[str] = []
        self.is_away = False
        self.trouble = ""  # the run whose job cannot be cancelled

    def submit(self, job):
        self._answer()
        self.jobs.append(job)
        self.known[job.name] = ""

    def states(self):
        self._answer()
        return self.known

    def cancel(self, name):
        if name.partition("-")[0] == self.trouble:
            raise OSError("Stale file handle")
        self.cancelled.append(name)

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
