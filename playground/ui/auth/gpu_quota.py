"""What a start takes of a person's daily seconds of GPU (ZeroGPU), and what is left of them, in words.

The hub tells a Space what a person has left only when it refuses a call. So what is said is what everyone is given,
what this page has seen of it, by the runs on its disk, and what the last refusal said.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import NamedTuple

from playground.config import RunConfig
from playground.runs.folder import requests
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import folders
from playground.setup.devices import GpuCalls
from playground.setup.estimates import gpu_calls
from playground.setup.estimates.timing import Range
from playground.ui.auth.visitors import Visitor

DAILY = "2 minutes a day without an account, 5 with a free one, 40 with PRO"
DAY_SECONDS = 86_400
REFUSAL = re.compile(r"requested vs\. (-?\d+)s left")  # as the hub's package says it
FREE = "Trains on this Space's processor, and takes nothing of your GPU minutes."


class Seen(NamedTuple):
    """What this page knows of a person's last 24 hours: seconds that their runs were computed on a GPU, and what was
    left when a call was last refused (None where none was)."""

    used: float
    left: int | None


def sentence(config: RunConfig, calls: GpuCalls | None, takes: Range | None, outputs: Path, visitor: Visitor) -> str:
    """For a run that may be started: empty where there are no such calls. `takes`: seconds of the whole run."""
    if calls is None:
        return ""
    if not gpu_calls.asked(config, calls, outputs):
        return FREE
    seconds = round(calls.factor * gpu_calls.seconds(config, calls, takes and takes[1]))
    usage = seen(outputs, visitor)
    words = [f"Asks ZeroGPU for {seconds} seconds. You must have that many left: {DAILY}."]
    if takes:
        words.append(f"The whole run takes about {round(calls.factor * sum(takes) / 2)} seconds.")
    if usage.used or usage.left is not None:
        words.append(f"Your runs here have used {round(calls.factor * usage.used)} in the last 24 hours.")
    if usage.left is not None:
        words.append(f"When the hub last refused a call, {usage.left} were left.")
    return " ".join(words)


def seen(outputs: Path, visitor: Visitor) -> Seen:
    """By the runs of a person, as far as they are known, that have asked for a GPU."""
    used, left, since = 0.0, None, time.time() - DAY_SECONDS
    statuses = []
    for path in folders(outputs):
        request = requests.of(run := RunDirectory(path))
        who = Visitor.of(request.visitor)
        if request.slot == gpu_calls.SLOT and (who == visitor or who.is_same(visitor)):
            statuses.append(run.status())
    recent = [status for status in statuses if status.updated_at > since]
    for status in sorted(recent, key=lambda status: status.updated_at):
        used += status.worked_seconds or 0.0
        if refusal := REFUSAL.search(status.message):
            left = int(refusal[1])
    return Seen(used, left)
