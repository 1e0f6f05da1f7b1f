"""What works beside a page while it is served: folders first, then threads and helping processes.

Nothing of it is there before a server asks for it (`prepare`, `begin`), and nothing is left after its end (`end`); then
another server may begin. Training runs go on, unless they are to end with the page. Knows runs and folders, and no
Gradio app; `demo` calls it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from playground.lessons.loading import Lessons
from playground.runs import cluster, history
from playground.runs.folder.files import make_outputs
from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.runs.supervisor import SupervisorThread, every
from playground.runs.sweeps import sweep_making
from playground.setup import limits
from playground.setup.devices import GpuCalls
from playground.setup.limits import Limits, PageLimits
from playground.ui.auth import middleware, visitors
from playground.ui.auth.access import Access
from playground.ui.auth.incoming import Incoming
from playground.ui.classroom.room import Room
from playground.ui.feed.feed import RECORDED, Hub

CHORE_SECONDS = 60
_served: list[str] = []  # modes of what this process serves; hardly ever more than one


class Serving:
    """All of it for one page.

    Args:
        access: who may do what. token: what makes a caller the host, for the terminal to show.
        recorded: the finished runs that everyone can look at. lessons: by default those that ship.
    """

    def __init__(
        self,
        outputs: Path,
        access: Access,
        service: ModelService,
        standby: StandbyWorker,
        *,
        token: str = "",
        recorded: Path = RECORDED,
        lessons: Lessons | None = None,
    ) -> None:
        self.outputs, self.access, self.service, self.standby, self.token = outputs, access, service, standby, token
        self.hub = Hub(outputs, recorded, lessons)
        self.room = Room(outputs)
        self.incoming = Incoming(outputs, access.limits.uploads_bytes, access.limits.upload_bytes)
        self._closing: contextlib.ExitStack | None = None  # the last one that is put there goes first
        self._begun = False
        self._lock = threading.Lock()

    def become(self, mode: str) -> None:
        """A page of one's own that strangers are to reach becomes a class's: they watch, and who has the token steers.
        And back. Only while nothing is served."""
        if mode != "local":
            self.token = self.token or visitors.new_token()
        self.access = rules(mode, self.outputs, self.token)
        self.incoming.most_bytes = self.access.limits.uploads_bytes
        self.incoming.most_of_one = self.access.limits.upload_bytes

    def prepare(self, within: Path | None = None) -> None:
        """Make the folders. Does nothing while it is prepared.

        Args:
            within: see `Incoming.open`.

        Raises: OutputsNotWritable.
        """
        with self._lock:
            if self._closing is not None:
                return
            make_outputs(self.outputs)
            self.incoming.open(within)
            self._closing = contextlib.ExitStack()
            self._closing.enter_context(_mode_for_workers(self.access.mode))
            for close in (self.room.end, self.incoming.close, self.standby.close, self.service.close):
                self._closing.callback(close)

    def begin(self) -> None:
        """Start what has been prepared; more than one app of the same page may ask for it."""
        chores = [
            every(CHORE_SECONDS, self.incoming.sweep),
            every(CHORE_SECONDS, lambda: _tidy(self.outputs, self.access.limits)),
        ]
        with self._lock:
            if self._closing is None or self._begun:
                return
            # It adopts what lives, ends what died, starts others.
            watch = SupervisorThread(self.outputs, workers=self.standby, chores=chores)
            for thread in (watch, cluster.ClusterThread(self.outputs)):
                thread.start()
                self._closing.callback(thread.close)
            self._begun = True
        self.standby.open()
        self.standby.prepare()

    def end(self) -> None:
        """End it all. Does nothing where nothing has been prepared."""
        with self._lock:
            closing, self._closing, self._begun = self._closing, None, False
        if closing:
            closing.close()


def rules(mode: str, outputs: Path, token: str, calls: GpuCalls | None = None, *, keeps_host: bool = False) -> Access:
    """Who may do what on a page of this mode.

    Args:
        calls: what a call for a GPU gets, where a GPU is called.
        keeps_host: whether the host of a class goes on after a restart, which has another token.

    Raises: InvalidConfig (caps, sites that embed).
    """
    page_limits = limits.of_page(mode, os.environ, bool(token))
    if calls is not None:
        page_limits = PageLimits(*(limit._replace(calls=calls) for limit in page_limits))
    proxied = mode == "space" and bool(os.environ.get("SPACE_ID"))
    hosts = None
    if keeps_host and mode == "classroom":
        hosts = outputs / visitors.HOSTS_FILE
    return Access(mode, outputs, token, proxied, page_limits, hosts, middleware.sites_that_embed(os.environ))


@contextlib.contextmanager
def _mode_for_workers(mode: str) -> Iterator[None]:
    """Meanwhile workers and the model service, whom the environment tells, go by this mode; where one process serves
    pages of several, by the strictest."""
    _served.append(mode)
    os.environ[limits.MODE_VARIABLE] = max(_served, key=limits.MODES.index)
    yield
    _served.remove(mode)
    os.environ[limits.MODE_VARIABLE] = max(_served, key=limits.MODES.index, default=mode)


def _tidy(outputs: Path, capped: Limits) -> None:
    """What is kept of sweeps goes with their last runs. Where everyone may start runs, only the newest stay."""
    sweep_making.forget_gone(outputs)
    if capped.kept_runs is not None and capped.kept_runs_bytes is not None:
        history.keep_newest(outputs, capped.kept_runs, capped.kept_runs_bytes)
