"""The driver of a sweep: `python -m playground.cluster.driver OUTPUTS NAME --on PLACE RUN...`, started by `hand_over`.

Holds the locks of its runs and one connection to their place. It begins them, writes down what the place tells, passes
requests on, and takes a run that has lost its place up again from its mirror, a few times. If it dies, its locks are
free: the runs are interrupted then, their workers end, and each can be resumed. Holds no state that is not in the runs'
folders, but for the count of losses.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from playground.cluster import handing
from playground.cluster.mirror import Mirror
from playground.cluster.news import Begun, Lost, News, Over
from playground.cluster.parcel import pack
from playground.cluster.place import PLACES, Options, Place, needs_of, options_of
from playground.errors import InvalidConfig, PlaceUnavailable, PlaygroundError
from playground.runs.folder import placed, writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.placed import Placed
from playground.runs.folder.records import State, Status
from playground.runs.history import find_run
from playground.runs.start import launcher

LOOK_SECONDS = 0.25
STOP_SECONDS = 150.0  # what a worker may take to save and leave (`training.process.watch`), and the way there and back
WAITING = "waiting for a node"
REFUSED_SECONDS = 300.0  # for which a place that has none of our runs may refuse them all, before they end
ASK_AGAIN_SECONDS = 1.0  # after a refusal; twice as long after the next
MOST_SECONDS = 30.0
FAULTS_OF_PLACE = ("killed", "server_lost")  # ends of a worker that are none of the run


class Charge:
    """One run in the driver's care: from the moment in which its lock is held until its end is written."""

    def __init__(self, run: RunDirectory, lock: IO[bytes]) -> None:
        self.run, self.lock = run, lock
        self.mirror = Mirror(run)
        self.lost = 0
        self.asked = False  # the place was asked for a node
        self.begun = False  # and has given one
        self.attempt, self.node = 1, ""
        self.stop_since: float | None = None


class Driver:
    """Drives its runs to their ends.

    Args:
        connect: gives the place, or raises PlaceUnavailable.
        locks: of the runs, in their order; each is held until its run has ended.
    """

    def __init__(
        self,
        place_name: str,
        connect: Callable[[], Place],
        options: Options,
        runs: Sequence[RunDirectory],
        locks: Sequence[IO[bytes]],
    ) -> None:
        self._place_name, self._connect, self._options = place_name, connect, options
        self._charges = {run.id: Charge(run, lock) for run, lock in zip(runs, locks, strict=True)}
        self._refused_since: float | None = None
        self._not_before, self._pause = 0.0, ASK_AGAIN_SECONDS

    def go(self) -> bool:
        """Until the last run has ended; False if the place could not be used so long. Whatever ends it before, the runs
        that are left are told as interrupted."""
        why = "Its driver was told to end."
        with contextlib.ExitStack() as at_the_end:
            at_the_end.callback(lambda: self._end_all(why))
            try:
                for charge in self._charges.values():
                    self._wait_for_node(charge)
                self._place = self._connect()
                at_the_end.callback(self._place.close)
                while self._charges:
                    self._go_on()
            except PlaceUnavailable as error:
                why = str(error)
                print(error, file=sys.stderr)
                return False
            except Exception as error:
                why = f"Its driver failed ({type(error).__name__}: {error}). The whole story is in {handing.LOGS}."
                raise
        return True

    def _go_on(self) -> None:
        self._begin_more()
        for run_id, batch in self._place.news(LOOK_SECONDS):
            self._hear(run_id, batch)
        for charge in list(self._charges.values()):
            self._guarded(charge, self._see_to)

    def _end_all(self, why: str) -> None:
        for charge in list(self._charges.values()):
            self._end(charge, "interrupted", placed.LOST, why)

    # -- beginning ----------------------------------------------------------------------------------------------------

    def _begin_more(self) -> None:
        """Ask the place for as many as it may have. Where it refuses (it is restarted; one may have so many jobs and no
        more), the others wait too, and it is asked again."""
        free = self._options.at_once - sum(charge.asked for charge in self._charges.values())
        for charge in [charge for charge in self._charges.values() if not charge.asked][: max(0, free)]:
            if time.monotonic() < self._not_before:
                return
            self._guarded(charge, self._begin)

    def _begin(self, charge: Charge) -> None:
        charge.mirror.begin_attempt()
        needs = needs_of(charge.run.config(), self._options)
        charge.begun, charge.stop_since = False, None
        try:
            self._place.begin(charge.run.id, lambda: pack(charge.run), needs)
        except PlaceUnavailable as error:
            self._refused(charge, error)
            return
        charge.asked = True
        self._refused_since, self._pause = None, ASK_AGAIN_SECONDS

    def _refused(self, charge: Charge, error: PlaceUnavailable) -> None:
        """Raises: PlaceUnavailable, once that has lasted and nothing of ours is there."""
        now = time.monotonic()
        since = self._refused_since = self._refused_since or now
        if any(other.asked for other in self._charges.values()):
            self._refused_since = None
        elif now - since > REFUSED_SECONDS:
            raise error
        self._not_before, self._pause = now + self._pause, min(2 * self._pause, MOST_SECONDS)
        self._wait_for_node(charge, f"{WAITING}: {str(error).rstrip('.')[:300]}; it is asked again")

    def _wait_for_node(self, charge: Charge, phase: str = WAITING) -> None:
        status = charge.run.status_on_disk()
        charge.mirror.write_status(status.model_copy(update={"phase": phase}))
        self._note(charge, status)

    def _note(self, charge: Charge, status: Status, node: str = "") -> None:
        charge.attempt, charge.node = status.attempt, node
        noted = Placed(attempt=status.attempt, place=self._place_name, node=node, lost=charge.lost)
        placed.write(charge.run.path, noted)

    # -- hearing ------------------------------------------------------------------------------------------------------

    def _hear(self, run_id: str, batch: list[News]) -> None:
        for news in batch:
            if charge := self._charges.get(run_id):  # else it has ended since
                self._guarded(charge, self._take, news)

    def _take(self, charge: Charge, news: News) -> None:
        match news:
            case Begun(node):
                charge.begun = True
                self._note(charge, charge.run.status_on_disk(), node)
            case Lost(why):
                self._lost(charge, why)
            case Over():
                self._over(charge)
            case _:
                charge.mirror.write(news)
                if (status := charge.run.status_on_disk()).attempt > charge.attempt:  # the place has resumed it itself
                    self._note(charge, status, charge.node)

    def _over(self, charge: Charge) -> None:
        end = charge.mirror.end
        if end is None:
            self._lost(charge, "its worker ended without a word")
        elif end.reason in FAULTS_OF_PLACE or (end.reason == "stopped" and not charge.run.stop_requested):
            self._lost(charge, end.message)  # a node that is taken away asks its processes to stop, too
        else:
            charge.mirror.write_status(end)
            self._let_go(charge)

    def _lost(self, charge: Charge, why: str) -> None:
        """Take a run up again from what came here of it, or end it."""
        self._place.give_up(charge.run.id)
        status = charge.run.status_on_disk()
        told = f"Its place was lost: {why.strip().rstrip('.')}."
        if charge.run.stop_requested:
            self._end(charge, "stopped", "stopped", f"Stopped. {told}")
        elif charge.lost >= self._options.retries:
            self._end(charge, "interrupted", placed.LOST, told)
        else:
            charge.lost += 1
            again = f"{told} It is taken up again ({charge.lost} of {self._options.retries})."
            lost = status.model_copy(update={"state": "interrupted", "reason": placed.LOST, "message": again})
            writer.tell_end(charge.run, lost)  # status.json does not say so: it would be taken for the end
            charge.run.queue_again(status, status.num_updates)
            charge.asked = False
            self._wait_for_node(charge)

    # -- what is asked of a run ---------------------------------------------------------------------------------------

    def _see_to(self, charge: Charge) -> None:
        stop = charge.run.stop_requested
        if stop and not charge.begun:
            self._place.give_up(charge.run.id)
            self._end(charge, "stopped", "stopped", "Stopped while it waited for a node.")
            return
        if charge.begun:
            for name, data in charge.mirror.asked():
                self._place.control(charge.run.id, name, data)
        if stop:
            charge.stop_since = charge.stop_since or time.monotonic()
            if time.monotonic() - charge.stop_since > STOP_SECONDS:
                self._place.give_up(charge.run.id)
                self._end(charge, "stopped", "stopped", "Stopped: its node did not answer, and was given up.")

    def _guarded(self, charge: Charge, function: Callable[..., None], *arguments: object) -> None:
        """What goes wrong with one run takes no other with it."""
        try:
            function(charge, *arguments)
        except PlaceUnavailable:  # which is about all of them
            raise
        except (OSError, ValueError, PlaygroundError) as error:
            traceback.print_exc()
            self._place.give_up(charge.run.id)
            reason = "damaged" if isinstance(error, InvalidConfig) else placed.LOST
            self._end(charge, "interrupted", reason, f"What it tells could not be written down here ({error}).")

    def _end(self, charge: Charge, state: State, reason: str, message: str) -> None:
        with contextlib.suppress(OSError):  # a full disk, or the folder is gone: who looks next will write it
            writer.write_end(charge.run, charge.run.status_on_disk(), state, reason, message)
        self._let_go(charge)

    def _let_go(self, charge: Charge) -> None:
        del self._charges[charge.run.id]
        charge.lock.close()


def place_of(name: str, options: Options, outputs: Path, sweep: str) -> Place:
    """The place of that name. Raises: PlaceUnavailable, if it cannot be reached."""
    if name == "ray":
        from playground.cluster.places.ray_place import RayPlace

        return RayPlace(options)
    if name == "slurm":
        from playground.cluster.places.slurm_place import SlurmPlace

        return SlurmPlace(options, outputs, sweep)
    if name == "jobs":
        from playground.cluster.places.jobs_place import JobsPlace

        return JobsPlace(options, sweep)
    from playground.cluster.places.local_place import LocalPlace

    return LocalPlace(options)


def main(arguments: list[str] | None = None, place_of: Callable[[str, Options, Path, str], Place] = place_of) -> int:
    """Drive the runs that are named to their ends. Exit code: 0, whatever these are; 1 if the place could not be used,
    2 if nothing was done."""
    parser = argparse.ArgumentParser(prog=f"python -m {handing.DRIVER_MODULE}", description=(main.__doc__ or ""))
    parser.add_argument("outputs", type=Path)
    parser.add_argument("name", help="of the sweep")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="the id of a run in the outputs folder")
    parser.add_argument("--on", choices=PLACES, default="ray")
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="of the place: docs/scale.md"
    )
    chosen = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _leave)
    try:
        handing.check_name(chosen.name)
        runs = [find_run(chosen.outputs, run_id) for run_id in chosen.runs]
        options = options_of(chosen.option)
        handing.allow_open_files(len(runs))
        locks = _adopted() or handing.take_over(runs, chosen.on)
    except PlaygroundError as error:
        print(error, file=sys.stderr)
        return 2
    connect = functools.partial(place_of, chosen.on, options, chosen.outputs, chosen.name)
    return 0 if Driver(chosen.on, connect, options, runs, locks).go() else 1


def _adopted() -> list[IO[bytes]]:
    """The locks that `hand_over` has taken for us, as open files that no child of ours keeps open."""
    named = os.environ.pop(handing.LOCKS_VARIABLE, "")
    locks: list[IO[bytes]] = []
    for descriptor in map(int, filter(None, named.split(","))):
        os.set_inheritable(descriptor, False)
        locks.append(launcher.not_in_forks(os.fdopen(descriptor, "wb")))
    return locks


def _leave(*_: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
