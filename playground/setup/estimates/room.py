"""Whether a run fits on its device at all, for pages that decide by the estimate what may be started.

Another run may hold the device now: this one would wait for it, so what counts is what the device has, not what is
free. Loads no model. The page's start and fork call it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from playground.config import RunConfig
from playground.errors import InvalidConfig, ModelNotFound, Problem
from playground.setup import devices, estimates
from playground.setup.describe import two_digits
from playground.setup.limits import Limits

USABLE = 0.9  # of a device's memory; the system and its driver take some


def require(config: RunConfig, limits: Limits, outputs: Path | None = None) -> None:
    """Raises: InvalidConfig, where the limits want a run to fit and it does not, or nothing is known of its model."""
    if not limits.must_fit:
        return
    device = devices.chosen(config.device)
    whole = device and replace(device, free_bytes=max(device.free_bytes, int(USABLE * device.total_bytes)))
    try:
        found = estimates.estimate(config, outputs, device=whole, ask_hub=limits.more == "hub")
    except ModelNotFound as error:
        raise InvalidConfig([Problem("model.source", str(error))]) from error
    if found.verdict == "does not fit":
        needs, has = (two_digits(size / estimates.GB) for size in (found.total, found.device.total_bytes))
        sentence = f"does not fit: about {needs} GB of the {has} GB of {found.device.name}. {found.advice}"
        raise InvalidConfig([Problem("model.source", sentence)])
