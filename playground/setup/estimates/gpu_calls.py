"""Which runs ask for a GPU that is there for one call at a time (ZeroGPU), and for how many seconds.

What the caps of a public page let everyone train, its own processor trains, and takes nothing of a quota.
"""

from __future__ import annotations

import math
from pathlib import Path

from playground.config import RunConfig
from playground.setup import limits
from playground.setup.devices import GpuCalls

SLOT = "zerogpu"  # of runs that wait for a call
SAVING_SECONDS = 10  # of a call, for the weights and whatever is slow
LEAST_SECONDS = 2 * SAVING_SECONDS
MOST_SECONDS = 1800


def asked(config: RunConfig, calls: GpuCalls | None, outputs: Path | None = None) -> GpuCalls | None:
    """The calls that a run asks for: its policy, its reference or a reward is a model beyond those of a public page.
    None where it asks for none."""
    if calls is None or config.device != "auto":
        return None
    beyond = {problem.field for problem in limits.check(config, limits.LIMITS["space"], outputs)} - {"prompts.source"}
    if any(field.endswith("source") for field in beyond):
        return calls
    return None


def seconds(config: RunConfig, calls: GpuCalls, whole: float | None, done: int = 0) -> int:
    """How long the next call is: as long as the estimate says that the rest of the run takes at most, within what a
    call may take. `whole`: seconds of the whole run, None where nothing is known; `done`: updates that it has made."""
    rest_seconds = allowed = math.inf
    if whole is not None:
        rest_seconds = whole * (1 - done / config.ppo.num_updates)
    if config.max_minutes is not None:
        allowed = 60 * config.max_minutes
    return math.ceil(min(max(min(rest_seconds, allowed) + SAVING_SECONDS, LEAST_SECONDS), calls.seconds))
