"""Which of the processes of a run this one is, where something else has started them all: torchrun, `srun`,
`accelerate launch`, Ray Train. The environment of each process says so.

A worker that our own launcher starts is one of several only if `cluster.node` says so (`VARIABLE`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from playground.errors import InvalidConfig, Problem

VARIABLE = "PLAYGROUND_RANK"
BY_HAND = "torchrun"  # the slot of a run that waits until something else starts its processes
FIRST_PORT, PORTS = 20_000, 10_000  # of a Slurm job, by its number, where MASTER_PORT names no other
LOOPBACK = ("127.0.0.1", "localhost", "::1")


class Launched(NamedTuple):
    """One of `total` processes, and the `local_rank`-th on its machine. They meet at `address` and `port`; `is_served`
    where the launcher answers there, and rank 0 where not. `round` is another after a restart of all."""

    rank: int
    total: int
    local_rank: int
    address: str
    port: int
    is_served: bool = False
    round: str = "0"

    @property
    def serves(self) -> bool:
        """True for the process that answers at the address."""
        return self.rank == 0 and not self.is_served


def of_environment(environment: Mapping[str, str], *, by_hand: bool = True) -> Launched | None:
    """This process, or None for one that is alone. `by_hand`: no launcher of ours has started it. Raises:
    InvalidConfig, where the environment says half of it."""
    if variable := environment.get(VARIABLE):
        return Launched(*json.loads(variable))
    if not by_hand:
        return None
    words = dict(environment)
    if "RANK" not in words and "SLURM_STEP_NUM_TASKS" in words:  # srun's alone; sbatch says nothing of steps
        words |= _of_slurm(words)
    count = int(words.get("WORLD_SIZE") or 1)
    if count < 2:
        return None
    try:
        rank, port, address = int(words["RANK"]), int(words["MASTER_PORT"]), words["MASTER_ADDR"]
    except (KeyError, ValueError) as error:
        sentence = f"WORLD_SIZE says that this is one of {count} processes, but RANK, MASTER_ADDR or MASTER_PORT is not"
        raise InvalidConfig([Problem("ranks", f"{sentence} there ({error}). torchrun sets them.")]) from None
    served, again = words.get("TORCHELASTIC_USE_AGENT_STORE") == "True", words.get("TORCHELASTIC_RESTART_COUNT", "0")
    return Launched(rank, count, int(words.get("LOCAL_RANK") or 0), address, port, served, again)


def hand_down(launched: Launched | None) -> None:
    """Let the worker that this process starts be that one; None: it is alone."""
    if launched is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = json.dumps(launched)


def _of_slurm(words: Mapping[str, str]) -> dict[str, str]:
    nodes = words.get("SLURM_STEP_NODELIST", "")
    first = re.sub(r"\[(\w+)[^\]]*\].*", r"\1", nodes).partition(",")[0]  # node[07-09,11] begins with node07
    port = FIRST_PORT + int(words.get("SLURM_JOB_ID") or 0) % PORTS
    return {
        "MASTER_ADDR": words.get("MASTER_ADDR", first),
        "MASTER_PORT": words.get("MASTER_PORT", str(port)),
        "RANK": words.get("SLURM_PROCID", ""),
        "WORLD_SIZE": words.get("SLURM_STEP_NUM_TASKS", ""),
        "LOCAL_RANK": words.get("SLURM_LOCALID", ""),
    }
