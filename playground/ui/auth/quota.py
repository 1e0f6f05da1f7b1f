"""How many runs one visitor, one address and all together may have at a time on a public page.

Counts what trains and what waits, by the hashes of visitors that runs keep in their request.json. `train_page` and
`steer` call it around each start and each resumption.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from playground.errors import NotAllowed
from playground.runs import launcher, queue
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.requests import Request
from playground.ui.auth.access import Access, Caller, Role
from playground.ui.auth.visitors import Visitor


@contextlib.contextmanager
def admitted(
    request: Request, access: Access, caller: Caller, outputs: Path, resumed: str = "", count: int = 1
) -> Iterator[None]:
    """Around starting a run: one start after the other, and none beyond what is allowed. The host is not counted.

    Args:
        request: one that has started a run before only shows that run, so it is let through.
        resumed: the run that is to be taken up again; it does not stand in its own way.
        count: how many runs are started at once; a sweep is as many as it has.

    Raises:
        NotAllowed: with a sentence that says what there is and what to do.
    """
    limits = access.limits
    if limits.runs_per_visitor is None or caller.role is Role.HOST:
        yield
        return
    with access.starting:
        if requests.find(outputs, request) is None:
            waiting = set(queue.waiting(outputs)) - {resumed}
            names = ({run.id for run in launcher.living_runs(outputs)} | waiting) - {resumed}
            visitors = {name: Visitor.of(requests.of(RunDirectory(outputs / name)).visitor) for name in names}
            own = [name for name, visitor in visitors.items() if visitor.is_same(caller.visitor)]
            near = sum(bool(other.address) and other.address == caller.visitor.address for other in visitors.values())
            check_count(count, access, caller)
            if len(own) + count > limits.runs_per_visitor:
                raise NotAllowed(f"You have a run here already: {min(own)}. Stop it or wait for it, then start again.")
            if limits.runs_per_address is not None and near + count > limits.runs_per_address:
                raise NotAllowed(
                    f"{near} runs from your network are training or waiting already. Try again in a few minutes."
                )
            if limits.queue is not None and len(waiting) + count > limits.queue:
                raise NotAllowed(f"The queue is full: {len(waiting)} runs wait. Watch one, and try again later.")
        yield


def check_count(count: int, access: Access, caller: Caller) -> None:
    """Whether a caller may have so many runs here at all. Raises: NotAllowed."""
    most = None
    if caller.role is not Role.HOST:
        most = access.limits.runs_per_visitor
    if most is not None and count > most:
        raise NotAllowed(f"These are {count} runs; at most {most} at a time here.")
