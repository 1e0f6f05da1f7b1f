"""One attempt of a run on the machine that computes it: a folder of its own, the ordinary worker in it, and the news.

The worker is tied to this process by the lifeline (`runs.start.lifeline`, policy `die`): however this process ends,
the worker saves a checkpoint and leaves. What it cannot say of its own death is written here, beside it, where the exit
code and the kernel's counters are. Used on the nodes by every place; knows none of them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playground.cluster.news import Begun, News, Over
from playground.cluster.parcel import inside, unpack
from playground.cluster.pump import Pump
from playground.runs import reconciler
from playground.runs.end import processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import folders, is_locked, private, write_atomically
from playground.runs.start import launcher
from playground.runs.start.launcher import Spawn

LOOK_SECONDS = 0.25
ROOT = f"playground-runs-{os.getuid()}"  # in the folder for temporary files
LEFT_BEHIND_SECONDS = 86_400.0  # after which the folder of an attempt whose machine died is deleted


class Seat:
    """One attempt: made where it is computed, and at work from then on.

    Args:
        folder: of the run on this machine; its last part is the run's id. It is made.
        spawn: what starts the worker (see `launcher.start`).
        node: what this machine is called; by default its own name.

    Raises:
        OSError, ValueError: see `unpack`. WorkerNotStarted.
    """

    def __init__(
        self, parcel: bytes, folder: Path, checkpoint_seconds: float, spawn: Spawn | None = None, node: str = ""
    ) -> None:
        unpack(parcel, folder)
        self._pump = Pump(folder, checkpoint_seconds)
        self.run = RunDirectory.open(folder)
        self._process = start_worker(self.run, spawn)
        self._begun: list[News] = [Begun(node or socket.gethostname())]
        self.over = False

    def look(self) -> Iterator[list[News]]:
        """What is new; `over` once the last of it has been told."""
        begun, self._begun = self._begun, []
        if begun:
            yield begun
        gone = self._process.poll() is not None  # before the look, so that the look sees all it has written
        if gone:
            reconciler.end_if_dead(self.run, self.run.path.parent)
        yield from self._pump.look(over=gone)
        if gone:
            self.leave()  # before the last word: who hears it may end this process at once
            self.over = True
            yield [Over()]

    def news(self) -> Iterator[list[News]]:
        """All of it, until the worker has gone."""
        while not self.over:
            yield from self.look()
            time.sleep(LOOK_SECONDS)

    def control(self, name: str, data: bytes | None) -> None:
        """Put a request into the worker's control folder, or take it out (None). Raises: OSError, ValueError."""
        put_request(self.run, name, data)
        if data is not None:
            self._pump.asked.add(name)

    def leave(self, grace_seconds: float = processes.GRACE_SECONDS) -> None:
        """End the worker if it lives, and delete the folder."""
        processes.end(self.run, grace_seconds)
        with contextlib.suppress(OSError):
            self._process.wait(processes.KILL_SECONDS)
        shutil.rmtree(self.run.path.parent, ignore_errors=True)


def start_worker(run: RunDirectory, spawn: Spawn | None = None) -> subprocess.Popen[bytes]:
    """Take the run's lock on this machine and start its worker. Raises: RunBusy, OSError, WorkerNotStarted."""
    with open(run.lock_path, "wb", opener=private) as lock:
        launcher.take(lock)
        return launcher.spawn_worker(run, lock, spawn)


def put_request(run: RunDirectory, name: str, data: bytes | None) -> None:
    """What `Seat.control` does, in any folder. Raises: OSError, ValueError."""
    path = inside(run.control_path, name)
    if data is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, data.decode())


def fresh_folder(run_id: str) -> Path:
    """Where on this machine's own disk an attempt finds its place; what others left behind long ago is deleted."""
    root = Path(tempfile.gettempdir()) / ROOT
    root.mkdir(mode=0o700, exist_ok=True)
    for outer in map(Path, folders(root)):
        with contextlib.suppress(OSError):
            old = time.time() - outer.stat().st_mtime > LEFT_BEHIND_SECONDS
            if old and not any(is_locked(f"{inner}/worker.lock") for inner in folders(outer)):
                shutil.rmtree(outer, ignore_errors=True)
    return Path(tempfile.mkdtemp(dir=root)) / run_id
