"""Records the end of runs whose worker died, and gives every free device the next run in the queue.

A worker that dies cannot say so. Any process that supervises the outputs folder does it instead, once it holds the lock
that a live worker would hold. The page checks about once a second, so does a terminal that follows a run; others look
once.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from playground.errors import PlaygroundError, RunBusy
from playground.runs import children, launcher, queue, trial
from playground.runs.folder import exit_reasons, writer
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import folders, read_record, stamps
from playground.runs.folder.records import Status
from playground.runs.reward_models import TRAINING, RewardTraining
from playground.runs.spawning import Workers
from playground.setup import catalog

RETRY_SECONDS = 30.0  # after an end that could not be written, for example on a full disk
LOOK_SECONDS = 1.0
LOOK_SECONDS_WITH_QUEUE = 0.25
LAST_LOOK_SECONDS = 5.0
NO_STATUS = (0, 0, 0)  # the stamps of a file that is not there


class Supervisor:
    """One outputs folder. Remembers which runs it has seen ended, so that a look at hundreds of them costs little."""

    def __init__(self, outputs: Path, workers: Workers | None = None) -> None:
        self.outputs = Path(outputs)
        self._workers = workers
        # The runs of which nothing is to be done while their status.json stays as it is, and until when.
        self._left_alone: dict[str, tuple[tuple[int, ...], float]] = {}

    def look(self) -> None:
        """Ends for the dead, workers for those who wait. Never raises: what goes wrong costs this look only."""
        tried(self.end_the_dead, f"The runs of {self.outputs} could not be looked at")
        tried(lambda: trial.clear(self.outputs), f"What was left in {self.outputs} of a trial stays")
        start_waiting = functools.partial(launcher.start_waiting, self.outputs, self._workers)
        tried(start_waiting, f"The queue of {self.outputs} could not go on")

    def end_the_dead(self) -> list[RunDirectory]:
        """Write the end of every run whose worker died without a word; returns those runs."""
        ended = []
        for path, make in _all_runs(self.outputs):
            mark = stamps(f"{path}/status.json")
            looked_at, until = self._left_alone.get(path, (NO_STATUS, 0.0))
            if mark == NO_STATUS or (looked_at == mark and time.monotonic() < until):
                continue
            run = make()
            try:
                if _has_ended(run):
                    self._left_alone[path] = mark, math.inf
                elif not run.config_path.is_file():  # a folder that is no run, or not yet
                    continue
                # To hold the lock of one that waits makes it look alive for a moment, and as if it had left the queue.
                elif not (run.waits(run.status_on_disk()) or run.is_alive()) and end_if_dead(run, self.outputs):
                    ended.append(run)
            except Exception as error:  # a full disk, a folder that only another user may write, a damage of a new kind
                if until in (0.0, math.inf):  # else it was said
                    say(f"The end of {run.path} could not be written: {error!r}")
                self._left_alone[path] = stamps(f"{path}/status.json"), time.monotonic() + RETRY_SECONDS
        children.bury()
        return ended


class LookingThread:
    """A thread of the page that looks again and again until `close`."""

    def __init__(self, name: str) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop looking; a look that is under way has `LAST_LOOK_SECONDS` to come to its end."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(LAST_LOOK_SECONDS)

    def look(self) -> float:
        """Look once; the seconds until the next time. Never raises."""
        raise NotImplementedError

    def _go(self) -> None:
        while not self._stop.is_set():
            self._stop.wait(self.look())


class SupervisorThread(LookingThread):
    """Supervises an outputs folder. When it is closed, training runs go on, and the queue waits for the next process
    that looks. `chores`: what else is done at each look; each paces itself (`every`)."""

    def __init__(
        self, outputs: Path, workers: Workers | None = None, chores: Iterable[Callable[[], None]] = ()
    ) -> None:
        super().__init__("supervisor")
        self.outputs = Path(outputs)
        self._chores = tuple(chores)
        self._supervisor = Supervisor(outputs, workers)

    def look(self) -> float:
        """See `LookingThread.look`."""
        self._supervisor.look()
        for chore in self._chores:
            tried(chore, "Tidying up did not succeed and is tried again later")
        try:
            if queue.entries(self.outputs):
                return LOOK_SECONDS_WITH_QUEUE
            return LOOK_SECONDS
        except OSError:
            return LOOK_SECONDS


def tried(function: Callable[[], object], failed: str) -> bool:
    """Call it; whatever it raises is said, for a thread that looks must not end. True if it raised none."""
    try:
        function()
        return True
    except Exception as error:
        say(f"{failed}: {error if isinstance(error, (OSError, PlaygroundError)) else repr(error)}")
        return False


def say(sentence: str) -> None:
    """On stderr, which may be on the disk that is full, or a terminal that has gone."""
    with contextlib.suppress(OSError, ValueError):
        print(sentence, file=sys.stderr)


def every(seconds: float, function: Callable[[], None]) -> Callable[[], None]:
    """The function, made to do nothing when it is called again too soon."""
    last = -math.inf

    def paced() -> None:
        nonlocal last
        if time.monotonic() - last >= seconds:
            last = time.monotonic()
            function()

    return paced


def end_if_dead(run: RunDirectory, outputs: Path) -> bool:
    """Write the true end of a run if its worker is dead. Under both locks: it is not started meanwhile."""
    with launcher.one_at_a_time(outputs):
        try:
            with launcher.at_rest(run):
                return _end(run)
        except RunBusy:
            return False


def _end(run: RunDirectory) -> bool:
    status = run.status_on_disk()
    if _has_ended(run) or run.waits(status):
        return False
    exit_code = children.exit_code(run)
    if run.is_expected(status) and exit_code is None:
        return False
    if status.ended:  # which is what is said of a file that cannot be read
        writer.write_end(run, status, status.state, status.reason, status.message)
        return True
    reason, message = exit_reasons.of_death(exit_code, status, run.path)
    writer.write_end(run, status, exit_reasons.state_after(reason), reason, message)
    return True


def _all_runs(outputs: Path) -> Iterator[tuple[str, Callable[[], RunDirectory]]]:
    """Every folder that may be a run, or the training of a reward model."""
    for path in folders(outputs):
        yield path, functools.partial(RunDirectory, path)
    for folder in folders(outputs / catalog.REWARD_MODELS):
        yield f"{folder}/{TRAINING}", functools.partial(RewardTraining, folder)


def _has_ended(run: RunDirectory) -> bool:
    """True if status.json says so; a file that cannot be read says nothing."""
    return (read_record(run.status_path, Status) or Status()).ended
