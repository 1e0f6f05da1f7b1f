"""The processes of a run that several compute: the worker is rank 0. It starts the others, which end with it, unless a
launcher has started them all (`runs.launched`).

The other ranks, the helpers, hold models, scorer and trainer as rank 0 does, and no run directory: rank 0 sends the
configuration, then what to do, step by step.
"""

from __future__ import annotations

import contextlib
import datetime
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from playground import redaction
from playground.config import RunConfig, yaml_io
from playground.runs import launched as launched_by
from playground.runs.launched import Launched
from playground.setup import checks, devices
from playground.training.process.ending import StopRequested

if TYPE_CHECKING:
    import torch.distributed as dist

    from playground.training.loop.ranks import Ranks
    from playground.training.process.equipment import Equipment

LONGEST_WAIT = datetime.timedelta(days=365)  # of an exchange: a paused run waits as long as it is paused
MEETING_WAIT = datetime.timedelta(minutes=10)  # for the process at whose address the others meet
POLL_SECONDS = 0.05
DYING_SECONDS = 1.0  # the connections of a process close a moment before it has an exit code
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
LOST = "helper_lost"
FAILED = 1  # the exit code of a helper that could not go on


class Member(NamedTuple):
    """Which of the ranks a process is. `store`: the file by which those of one machine find each other, or what a
    launcher has said."""

    rank: int
    total: int
    device: str
    store: str | Launched


class Helpers:
    """The helpers that this process has started. Each ends when this process does."""

    def __init__(self, named: list[str], store: str) -> None:
        self._count = len(named)
        spawn = multiprocessing.get_context("spawn")
        members = [Member(rank, len(named), device, store) for rank, device in enumerate(named)]
        self._processes = [spawn.Process(target=help_rank_0, args=(member,), daemon=True) for member in members[1:]]
        for process in self._processes:
            process.start()

    def lost(self) -> str:
        """A sentence about one that has ended by itself; empty while all are there."""
        for rank, process in enumerate(self._processes, 1):
            if code := process.exitcode:
                how = f"was ended by {signal.Signals(-code).name}" if code < 0 else "failed, see worker.log"
                return f"Process {rank} of the {self._count} that compute this run {how}."
        return ""

    def end(self) -> None:
        """End all by force: they have nothing to save."""
        for process in self._processes:
            process.kill()
            process.join()
        self._processes = []


@contextlib.contextmanager
def joined(
    config: RunConfig,
    between: Callable[[], None],
    watched: Callable[[Callable[[], str]], None],
    launched: Launched | None = None,
) -> Iterator[Ranks]:
    """The ranks of a run, of which this process is rank 0. `watched`: gets what reports a helper that was lost.
    `launched`: what a launcher has said that has started them all; None where this process starts its helpers. Raises:
    InvalidConfig: there are not so many devices. StopRequested: another rank has ended."""
    from playground.training.loop.ranks import ALONE

    if launched:
        with _complete(member_of(config, launched), between, lambda: "") as ranks:
            yield ranks
        return
    named = devices.members(config.device, config.ranks) if config.may_be_shared else []
    if len(named) < 2:
        yield ALONE
        return
    yaml_io.of_ranks(config, len(named))
    os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK)  # nothing beyond this machine is listened to
    with tempfile.TemporaryDirectory(prefix="playground-ranks-", ignore_cleanup_errors=True) as folder:
        store = f"{folder}/store"
        helpers = Helpers(named, store)
        watched(helpers.lost)
        try:
            with _complete(Member(0, len(named), named[0], store), between, helpers.lost) as ranks:
                yield ranks
        finally:
            helpers.end()


@contextlib.contextmanager
def _complete(member: Member, between: Callable[[], None], lost: Callable[[], str]) -> Iterator[Ranks]:
    """All ranks, to which rank 0 says at the end that this was all. Raises: see `joined`."""
    from playground.training.loop.ranks import OtherLost

    ranks = connected(member, between)
    try:
        yield ranks
        ranks.first()
    except (OtherLost, StopRequested) as error:
        if isinstance(error, StopRequested) and error.reason != LOST:
            raise
        raise StopRequested(LOST, f"{_why(lost, error)} Stopped after update {{}}.") from error


def _why(lost: Callable[[], str], error: Exception) -> str:
    """What is known of a rank that has gone."""
    deadline = time.monotonic() + DYING_SECONDS
    while not (sentence := lost()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return sentence or f"Another process of this run does not answer ({error})."


def member_of(config: RunConfig, launched: Launched) -> Member:
    """The rank that a launcher has made of this process, on its part of this machine's devices. Raises: InvalidConfig,
    where so many processes cannot compute the run."""
    named = devices.members("all" if config.device in ("auto", "cuda") else config.device)
    yaml_io.of_ranks(config, launched.total)
    return Member(launched.rank, launched.total, named[launched.local_rank % len(named)], launched)


def connected(member: Member, between: Callable[[], None] = lambda: None) -> Ranks:
    """Wait until all ranks are there, then connect them. Raises: whatever `between` raises."""
    import torch
    import torch.distributed as dist

    from playground.training.loop.ranks import Ranks

    device, here = torch.device(member.device), isinstance(member.store, str)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    elif here:  # a launcher says itself how many threads each process has
        torch.set_num_threads(max(1, devices.available_cores() // member.total))
    store = _store_of(member)
    store.set_timeout(LONGEST_WAIT)
    store.set(f"here/{member.rank}", "1")
    while not store.check([f"here/{rank}" for rank in range(member.total)]):
        between()
        time.sleep(POLL_SECONDS)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(
        backend, store=dist.PrefixStore("ranks", store), rank=member.rank, world_size=member.total, timeout=LONGEST_WAIT
    )
    return Ranks(member.rank, member.total, device)


def _store_of(member: Member) -> dist.Store:
    import torch.distributed as dist

    place = member.store
    if isinstance(place, str):
        return dist.FileStore(place, member.total)
    if place.address in launched_by.LOOPBACK:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK)
    store = dist.TCPStore(
        place.address,
        place.port,
        is_master=place.serves,
        timeout=MEETING_WAIT,
        wait_for_workers=False,
        multi_tenant=True,
    )
    return dist.PrefixStore(f"playground/{place.round}", store)


# -- the other side ----------------------------------------------------------------------------------------------------


def help_rank_0(member: Member) -> None:
    """Be a helper until there is no more to do, or rank 0 is gone, whatever the main thread waits for."""
    redaction.cover_streams()
    threading.Thread(target=end_with_parent, daemon=True).start()
    help_as(member)


def help_as(member: Member) -> None:
    """Be one of the ranks but the first, until there is no more to do, or another rank is gone."""
    import torch.distributed as dist

    from playground.training.loop.ranks import OtherLost

    ranks = connected(member)
    with contextlib.suppress(OtherLost):
        begun = ranks.first()
        config, outputs = RunConfig.model_validate(begun["config"]), Path(begun["outputs"])
        if not isinstance(member.store, str):  # on a machine of its own
            checks.fetch(checks.needs(config, outputs), lambda words: None)
        help_with(config, outputs, ranks)
        dist.destroy_process_group()  # the interpreter's end may abort where its threads still run


def help_with(config: RunConfig, outputs: Path, ranks: Ranks) -> Equipment:
    """Do what rank 0 asks for, until it says that this was all."""
    from playground.training.loop.ranks import StoppedTogether
    from playground.training.process.equipment import Equipment

    mine = Equipment(config, outputs, ranks, lambda: None)
    while step := ranks.first():
        name, arguments = step
        with contextlib.suppress(StoppedTogether):
            getattr(mine, name)(**arguments)
    return mine


def end_with_parent() -> None:
    """In a thread of a process that another has started: end when that one does, however it ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(FAILED)
