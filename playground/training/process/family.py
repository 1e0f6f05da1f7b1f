"""The processes of a run that several compute: this worker is rank 0 and starts the others, which end with it.

Where a launcher (torchrun, accelerate) has started them, over machines perhaps, RANK and WORLD_SIZE say so, and nobody
is started here. A helper is tied to rank 0 by a pipe that rank 0 holds the one writing end of: however rank 0 ends, the
kernel closes it. The worker calls `joined`; helper.py is what a helper does.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from playground.config import RunConfig
from playground.errors import HelperFailed
from playground.setup import devices
from playground.training.process.ending import StopRequested, diagnosis
from playground.training.ranks.leaving import OtherLeft, OtherLost, Told

if TYPE_CHECKING:
    import torch
    import torch.distributed as dist

    from playground.training.ranks.many import ManyRanks
    from playground.training.ranks.ranks import Ranks

HELPER_MODULE = "playground.training.process.helper"
STORE_VARIABLE = "PLAYGROUND_RANKS_STORE"
DEVICE_VARIABLE = "PLAYGROUND_RANK_DEVICE"
LIFELINE_VARIABLE = "PLAYGROUND_RANK_LIFELINE_FD"
LONGEST_WAIT = datetime.timedelta(days=365)  # of an exchange: a paused run waits as long as it is paused
POLL_SECONDS = 0.05
DYING_SECONDS = 1.0
LEAVE_SECONDS = 10.0  # for helpers that were told of the end
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
LOST = "helper_lost"
PROJECT = Path(__file__).resolve().parents[3]


class Place(NamedTuple):
    """Which of the ranks a process is. `store`: the file by which they find each other; empty under a launcher."""

    rank: int
    total: int
    device: str
    store: str = ""


def launched() -> Place | None:
    """What a launcher says of this process: torchrun and accelerate set these variables."""
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) < 2:
        return None
    rank, total = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    return Place(rank, total, os.environ.get(DEVICE_VARIABLE, ""), os.environ.get(STORE_VARIABLE, ""))


class Helpers:
    """The helpers that this process has started. Closing it lets go of them: they end."""

    def __init__(self, named: list[str], store: str) -> None:
        reading, self._writing = os.pipe()
        self._processes: list[subprocess.Popen[bytes]] = []
        for rank, device in enumerate(named[1:], 1):
            variables = {
                "RANK": str(rank), "WORLD_SIZE": str(len(named)), DEVICE_VARIABLE: device, STORE_VARIABLE: store,
                LIFELINE_VARIABLE: str(reading),
            }  # fmt: skip
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", HELPER_MODULE],
                    stdin=subprocess.DEVNULL,
                    cwd=PROJECT,
                    pass_fds=(reading,),
                    env={**os.environ, **variables},
                )
            )
        os.close(reading)

    def lost(self) -> str:
        """A sentence about one that has ended by itself; empty while all are there, and where they left as agreed."""
        for rank, process in enumerate(self._processes, 1):
            if code := process.poll():
                how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
                return f"Process {rank} of the {len(self._processes) + 1} that compute this run {how}."
        return ""

    def close(self, seconds: float) -> None:
        """Wait so long for those that leave, and end the rest."""
        deadline = time.monotonic() + seconds
        with contextlib.suppress(subprocess.TimeoutExpired):
            for process in self._processes:
                process.wait(max(0.0, deadline - time.monotonic()))
        os.close(self._writing)
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()


@contextlib.contextmanager
def joined(
    config: RunConfig,
    between: Callable[[], None],
    watched: Callable[[Callable[[], str]], None],
    memory_advice: Callable[[], str],
) -> Iterator[Ranks]:
    """The ranks of a run, of which this process is rank 0.

    Args:
        between: may raise to break off. watched: gets what tells of a helper that was lost.

    Raises:
        InvalidConfig: there are not so many devices. HelperFailed: another rank could not go on; StopRequested: it is
            gone.
    """
    from playground.training.ranks.ranks import ALONE

    place = launched()
    devices.check_launched(config.ranks)
    shared = not place and config.may_be_shared
    named = devices.members(config.device, config.ranks) if shared else []
    if not place and len(named) < 2:
        yield ALONE
        return
    folder = tempfile.mkdtemp(prefix="playground-ranks-")  # for this user alone
    helpers, ranks = None, None
    try:
        if not place:
            os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK)  # nobody beyond this machine is listened to
            place = Place(0, len(named), named[0], f"{folder}/store")
            helpers = Helpers(named, place.store)
            watched(helpers.lost)
        try:
            ranks = connected(place, between, lambda error: reason_of(error, memory_advice))
            with ranks.leaving_together():
                yield ranks
                ranks.first()  # which tells them that this was all
        except OtherLeft as error:
            told_by = min(error.told, default=0)
            why = error.told.get(told_by, {"reason": "bug", "message": "It said no reason."})
            if why["reason"] == "stopped":
                raise StopRequested from error
            raise HelperFailed(why["reason"], f"Process {told_by} of this run: {why['message']}") from error
        except OtherLost as error:
            deadline = time.monotonic() + DYING_SECONDS  # its connections close a moment before it has an exit code
            while helpers and not helpers.lost() and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            sentence = (helpers.lost() if helpers else "") or f"Another process of this run does not answer ({error})."
            raise StopRequested(LOST, f"{sentence} Stopped after update {{}}.") from error
    finally:
        if helpers:
            helpers.close(LEAVE_SECONDS if ranks else 0.0)
        shutil.rmtree(folder, ignore_errors=True)


def reason_of(error: BaseException, memory_advice: Callable[[], str]) -> Told:
    """What is told to other ranks of the error for which this one leaves."""
    if isinstance(error, StopRequested):
        return {"reason": error.reason, "message": "It was asked to stop."}
    reason, message = diagnosis(error, memory_advice)
    return {"reason": reason, "message": message}


def connected(place: Place, between: Callable[[], None], explained: Callable[[BaseException], Told]) -> ManyRanks:
    """Wait until all ranks are there, then connect them. Raises: OtherLost; whatever `between` raises."""
    import torch
    import torch.distributed as dist

    from playground.training.ranks.many import ManyRanks

    device = _device(place)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(max(1, devices.available_cores() // _on_this_machine(place)))
    store = _store(place)
    store.set(f"here/{place.rank}", "1")
    everybody = [f"here/{rank}" for rank in range(place.total)]
    while not store.check(everybody):
        between()
        time.sleep(POLL_SECONDS)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(
        backend, store=dist.PrefixStore("ranks", store), rank=place.rank, world_size=place.total, timeout=LONGEST_WAIT
    )
    return ManyRanks(store, place.rank, place.total, device, explained)


def disconnect() -> None:
    """End the threads of the exchanges, after the last of them: the interpreter's end may abort where they still run,
    and rank 0 would take that for a loss."""
    import torch.distributed as dist

    dist.destroy_process_group()


def _store(place: Place) -> dist.Store:
    import torch.distributed as dist

    if place.store:
        return dist.FileStore(place.store, place.total)
    store, _, _ = next(dist.rendezvous("env://", timeout=LONGEST_WAIT))
    return store


def _device(place: Place) -> torch.device:
    import torch

    if place.device:
        return torch.device(place.device)
    gpus = torch.cuda.device_count()
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % gpus) if gpus else torch.device("cpu")


def _on_this_machine(place: Place) -> int:
    return int(os.environ.get("LOCAL_WORLD_SIZE", place.total))
