"""What a place is: where runs are computed that are not computed here. And what a person may say of one.

A place begins an attempt of a run with a parcel, tells its news, passes requests on, and gives it up. Whether a run is
to be begun again, and what is written into its folder, is the driver's business (`cluster.driver`). The places
themselves are in modules of their own, which are imported when they are used: what they need is not installed
everywhere.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable
from typing import Annotated, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from playground.cluster.news import News
from playground.config import RunConfig
from playground.errors import InvalidConfig, Problem

PLACES = {  # and what has to be installed for it: a module, and how to get it
    "local": ("", ""),
    "ray": ("ray", "pip install -r requirements-ray.txt"),
    "slurm": ("submitit", "pip install -r requirements-slurm.txt"),
    "jobs": ("huggingface_hub", "pip install -r requirements.txt"),
}


class Options(BaseModel):
    """How a place is used. Each place reads those that mean something there (docs/scale.md)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    address: str = ""  # ray: of the cluster; empty: RAY_ADDRESS, or the one on this machine
    send_project: bool = False  # ray: send this folder's code to the nodes, where it is not installed
    cpus: Annotated[float, Field(gt=0, le=1024)] = 1
    gpus: Annotated[float | None, Field(ge=0, le=64)] = None  # None: as many as `device` of the run means there
    retries: Annotated[int, Field(ge=0, le=100)] = 2  # how often a run that has lost its place is begun again
    at_once: Annotated[int, Field(ge=1, le=10_000)] = 100  # so many runs at most are with the place at a time
    checkpoint_seconds: Annotated[float, Field(ge=0, le=1e6)] = 30  # between two checkpoints that are brought here
    minutes: Annotated[float, Field(gt=0, le=40_320)] = 240  # slurm, jobs: after which a job ends; it is begun again
    folder: str = ""  # slurm: one that this machine and all nodes see; empty: in the outputs folder
    partition: str = ""  # slurm
    image: str = ""  # jobs: with the playground in it, for example hf.co/spaces/NAME/SPACE
    flavor: str = "cpu-upgrade"  # jobs: the hardware
    bucket: str = ""  # jobs: NAME/BUCKET of the hub, through which runs and records travel


class Needs(NamedTuple):
    """What a run takes of a node. `gpus` None: one where the place has any."""

    cpus: float
    gpus: float | None


class Place(Protocol):
    """Where runs are computed. Its methods are called by one thread, and none waits for a node."""

    def begin(self, run_id: str, parcel: Callable[[], bytes], needs: Needs) -> None:
        """Ask for a node for an attempt of a run. `parcel` is called when there is one. Raises: PlaceUnavailable."""

    def news(self, seconds: float) -> list[tuple[str, list[News]]]:
        """What is new of any run, in order. Waits for something at most so long. Raises: PlaceUnavailable."""

    def control(self, run_id: str, name: str, data: bytes | None) -> None:
        """Put a request before the worker of a run that has begun, or take it back (None)."""

    def give_up(self, run_id: str) -> None:
        """End what is computed of a run, or take it from the queue. Nothing more is told of it."""

    def close(self) -> None:
        """Give up everything that is left."""


def options_of(texts: Iterable[str]) -> Options:
    """Options from `name=value`. Raises: InvalidConfig, with every problem."""
    pairs = [text.partition("=") for text in texts]
    known = ", ".join(Options.model_fields)
    wrong = [
        Problem(f"place.{name}", f"is no option of a place. There are: {known}.")
        for name, _, _ in pairs
        if name not in Options.model_fields
    ]
    try:
        options = Options.model_validate({name: value for name, _, value in pairs if name in Options.model_fields})
    except ValidationError as error:
        wrong += [
            Problem(f"place.{item['loc'][0]}", f"{item['msg']} (got {item['input']!r}).") for item in error.errors()
        ]
        raise InvalidConfig(wrong) from None
    if wrong:
        raise InvalidConfig(wrong)
    return options


def check(name: str, options: Options) -> None:
    """Whether a place of this name can be used from here at all. Raises: InvalidConfig."""
    if name not in PLACES:
        raise InvalidConfig([Problem("on", f"must be one of {', '.join(PLACES)} (got {name[:40]!r}).")])
    module, how = PLACES[name]
    problems = []
    if module and importlib.util.find_spec(module) is None:
        problems.append(Problem("on", f"needs the package `{module}`, which is not installed here: {how}"))
    if options.address.startswith("ray://"):
        words = (
            "must be that of a machine of the cluster, and this one has to belong to it (`ray start --address=...`)."
        )
        problems.append(Problem("place.address", f"{words} Ray's client (ray://) cannot carry news."))
    for field in ("image", "bucket") if name == "jobs" else ():
        if not getattr(options, field):
            problems.append(Problem(f"place.{field}", "is needed by jobs: see docs/scale.md."))
    if problems:
        raise InvalidConfig(problems)


def needs_of(config: RunConfig, options: Options) -> Needs:
    """What a run takes of a node: no GPU where it computes on the processor, whatever the options say."""
    if config.device == "cpu":
        return Needs(options.cpus * config.ranks, 0)
    named = len(config.device.partition(":")[2].split(",")) if ":" in config.device else None
    several = config.ranks if config.ranks > 1 else named
    return Needs(options.cpus, several if options.gpus is None else options.gpus)
