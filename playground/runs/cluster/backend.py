"""What a backend is: it submits jobs, reports their state, and cancels them; and which options it has.

A job computes one attempt of a run (`cluster.node`). The backends are in modules of their own, imported when used.
"""

from __future__ import annotations

import abc
import importlib.util
import subprocess
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from playground import to_install
from playground.config import RunConfig, yaml_io
from playground.config.parts import Part
from playground.errors import BackendUnavailable, InvalidConfig, Problem
from playground.runs.children import PROJECT
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory

BACKENDS = {  # and the module that has to be installed for it, of which extra
    "ray": ("ray", "ray"),
    "slurm": ("playground", ""),
}
PATIENCE_SECONDS = 60.0  # for a controller that is busy


class Options(Part):
    """How a backend is used. Each reads those that mean something to it (docs/scale.md)."""

    address: str = ""  # ray: of the cluster; empty: RAY_ADDRESS, or the one on this machine
    cpus: Annotated[float, Field(gt=0, le=1024)] = 1
    gpus: Annotated[float | None, Field(ge=0, le=64)] = None  # None: as many as `device` of the run means there
    minutes: Annotated[float, Field(gt=0, le=40_320)] = 240  # slurm: after which a job ends
    partition: str = ""  # slurm
    workers: Annotated[int, Field(ge=1, le=1024)] = 1  # ray: processes that compute one run, wherever there is room
    nodes: Annotated[int, Field(ge=1, le=1024)] = 1  # slurm: that compute one run, with a process for each GPU of each

    def processes(self, backend_name: str) -> int:
        """How many a backend starts for one run; 1: one, which starts helpers of its own where the run has several."""
        if backend_name == "ray":
            return self.workers
        if self.nodes > 1:
            return self.nodes * self.on_each_node
        return 1

    @property
    def on_each_node(self) -> int:
        """Processes of a run of several nodes on each of them."""
        return max(1, round(self.gpus or 0))


class RemoteJob(NamedTuple):
    """An attempt of a run that is to be computed by so many processes of the backend's. `cpus` and `gpus` are of each
    process, or of each node; `gpus` None: one where the backend has any."""

    name: str
    run: RunDirectory
    attempt: int
    cpus: float
    gpus: float | None
    options: Options
    processes: int = 1


class Backend(abc.ABC):
    """Where jobs are computed. None of its methods waits for a node; each raises BackendUnavailable, or OSError."""

    @abc.abstractmethod
    def submit(self, job: RemoteJob) -> None:
        """Ask for a node for a job."""

    @abc.abstractmethod
    def states(self) -> Mapping[str, str]:
        """Every job that is known, by name: empty while it waits or works, else how it has ended. One that ended long
        ago may be missing."""

    @abc.abstractmethod
    def cancel(self, name: str) -> None:
        """End a job, or take it from the queue."""


def name_of(run: RunDirectory, attempt: int) -> str:
    """The name of a job: the same however often it is submitted, and no other run's."""
    return f"{run.id}-{attempt}-{requests.of(run).key[:8]}"


def job_of(run: RunDirectory, attempt: int, options: Options, processes: int = 1) -> RemoteJob:
    """What to submit. It takes no GPU where it computes on the processor. Raises: InvalidConfig, if that is damaged."""
    config = run.config()
    cpus, gpus, helpers = options.cpus, options.gpus, config.ranks if processes == 1 else 1
    if config.device == "cpu":
        cpus, gpus = cpus * helpers, 0
    elif gpus is None and (helpers > 1 or ":" in config.device):
        gpus = max(helpers, len(config.device.split(",")))
    return RemoteJob(name_of(run, attempt), run, attempt, cpus, gpus, options, processes)


def for_processes(config: RunConfig, backend_name: str, texts: Sequence[str]) -> RunConfig:
    """A run as the processes of a backend compute it. Raises: InvalidConfig, where they cannot, or for the options."""
    processes = options_of(texts).processes(backend_name)
    if processes > 1:
        return yaml_io.of_ranks(config, processes)
    return config


def options_of(texts: Sequence[str]) -> Options:
    """Options from `name=value`. Raises: InvalidConfig, with every problem."""
    try:
        return yaml_io.validated(dict(text.partition("=")[::2] for text in texts), Options)
    except InvalidConfig as error:
        raise InvalidConfig([problem._replace(field=f"option.{problem.field}") for problem in error.problems]) from None


def called(who: str, *words: str) -> str:
    """What a program prints that is asked for something. Raises: BackendUnavailable, with its last words."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True, cwd=PROJECT)
    except (OSError, subprocess.SubprocessError) as error:
        output = str(getattr(error, "stderr", "") or error).strip()
        raise BackendUnavailable(f"{who} says: {output.splitlines()[-1][-300:]}") from None
    return done.stdout


def check(name: str, texts: Sequence[str]) -> None:
    """Whether a backend of this name can be used from here at all, with these options. Raises: InvalidConfig."""
    if name not in BACKENDS:
        sentence = f"must be one of {', '.join(BACKENDS)} (got {name[:40]!r}): see docs/scale.md."
        raise InvalidConfig([Problem("on", sentence)])
    module, extra = BACKENDS[name]
    options_of(texts)
    if importlib.util.find_spec(module) is None:
        sentence = f"needs the package `{module}`, which is not here: {to_install(extra)}"
        raise InvalidConfig([Problem("on", sentence)])
