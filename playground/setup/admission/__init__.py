"""The door of a start: what a configuration has to pass before anything is computed of it, whoever asks.

The page, the API, the command line, lessons, sweeps, class games and Python call `admit`, and the launcher takes what
it gives. A form that is being filled in asks `check`. The worker, which finds the folder as it is then, calls `fetch`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NewType

from playground.config import RewardTrainingConfig, RunConfig
from playground.errors import InvalidConfig, ModelNotFound, Problem
from playground.setup import catalog, checks, devices, estimates, limits
from playground.setup.describe import two_digits
from playground.setup.estimates import disk, gpu_calls
from playground.setup.limits import LIMITS, Limits

USABLE = 0.9  # of a device's memory; the system and its driver take some

Admitted = NewType("Admitted", RunConfig)
AdmittedTraining = NewType("AdmittedTraining", RewardTrainingConfig)


def check(
    config: RunConfig, outputs: Path | None = None, allowed: Limits = LIMITS["local"], *, ask_hub: bool = False
) -> None:
    """Is it allowed here, is there what it names, and room for what it writes? What may not be named is not looked for.
    `ask_hub`: also whether a model that is not here can be had. Raises: InvalidConfig, with every problem of the first
    of these that has any, each naming its field."""
    limits.require(config, allowed, outputs)
    if config.preset and config.preset not in catalog.every_preset_name():
        hint = catalog.unknown("preset", config.preset, catalog.every_preset_name())
        raise InvalidConfig([Problem("preset", f"{hint} Take the line out if it comes from none.")])
    if config.kind != "run":
        raise InvalidConfig([Problem("kind", "is of a trial or of a run that is only watched. Take the line out.")])
    checks.check(config, outputs, ask_hub=ask_hub)
    if outputs is not None:
        disk.check([config], outputs)


def admit(config: RunConfig, outputs: Path, allowed: Limits = LIMITS["local"], *, here: bool = True) -> Admitted:
    """The configuration that may be started: within the time that is allowed, with whole paths. `here`: it is computed
    on this machine, so its models are in reach and its functions in Python work. May ask the hub. Raises: as `check`.
    """
    config = limits.capped(config, allowed)
    check(config, outputs, allowed, ask_hub=here)
    if here:
        checks.require_functions(config)
    _require_fit(config, outputs, allowed)
    return admitted(config, outputs)


def admitted(config: RunConfig, outputs: Path) -> Admitted:
    """The same of one that was admitted before, and is kept with its sweep."""
    return Admitted(checks.located(config, outputs))


def admit_training(config: RewardTrainingConfig, allowed: Limits = LIMITS["local"]) -> AdmittedTraining:
    """The same of the training of a reward model. Raises: InvalidConfig."""
    if beyond := limits.check_reward_training(config, allowed):
        raise InvalidConfig(beyond)
    checks.check_reward_training(config)
    checks.require_in_reach(config)
    return AdmittedTraining(checks.located_training(config))


def fetch(config: RunConfig, outputs: Path, progress: Callable[[str], None], held_bytes: int) -> None:
    """In the worker: is all there, and room for it? What is missing of models is downloaded (`progress`: see
    `hub.snapshot`). `held_bytes`: of a run that is resumed. Raises: InvalidConfig, ModelNotFound."""
    checks.check(config, outputs)
    checks.fetch(checks.needs(config, outputs), progress)
    disk.check([config], outputs, held_bytes)


def _require_fit(config: RunConfig, outputs: Path, allowed: Limits) -> None:
    """Does a run fit what its device has, where the limits want that? Raises: InvalidConfig."""
    if not allowed.must_fit:
        return
    calls = gpu_calls.asked(config, allowed.calls, outputs)
    device = calls.device if calls else devices.chosen(config.device)
    whole = device and replace(device, free_bytes=max(device.free_bytes, int(USABLE * device.total_bytes)))
    try:
        estimate = estimates.estimate(config, outputs, device=whole, ask_hub=allowed.more == "hub")
    except ModelNotFound as error:
        raise InvalidConfig([Problem("model.source", str(error))]) from error
    if estimate.verdict == "does not fit":
        needs, has = (two_digits(size) for size in (estimate.total_gb, estimate.device.total_gb))
        sentence = f"does not fit: about {needs} GB of the {has} GB of {estimate.device.name}. {estimate.advice}"
        raise InvalidConfig([Problem("model.source", sentence)])
