"""vitals.json: what the worker's watch wrote last about its process, for whoever asks later how the run is or was.

Written about once a second by one thread of the worker, read by `runs.end.processes` (does it still answer?) and by
`runs.folder.evidence` (what did it die of?). Moments are seconds of the machine's own clock since boot, which steps of
the wall clock and a closed laptop do not move. Beside them the note of who ends a worker by force. Starts nothing and
signals nothing.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import psutil

from playground.runs.folder.files import read_record, write_atomically
from playground.runs.folder.records import Count, Record, Seconds

FILE = "vitals.json"
CGROUPS = Path("/sys/fs/cgroup")
PROC = Path("/proc")
UNLIMITED_BYTES = 2**60  # cgroup v1 says "no limit" with a number near 2**63


class Vitals(Record):
    """`beat` is when the main thread last came by, `longest_gap` the longest it has stayed away while it trained.

    `counter` names the file in which the kernel counts the processes that it has ended for want of memory, and `kills`
    is what stood there when the worker began. `resident_bytes` is the worker's memory, `limit_bytes` the most it may
    have. `patient` while it does what takes long by nature, such as loading.
    """

    boot_id: str = ""
    pid: Count = 0
    attempt: Count = 1
    started: Seconds = 0.0
    beat: Seconds = 0.0
    longest_gap: Seconds = 0.0
    patient: bool = True
    resident_bytes: Count = 0
    limit_bytes: Count = 0
    counter: str = ""
    kills: Count = 0
    on_server_death: str = "survive"


class Killed(Record):
    """control/killed, a note left just before the worker was ended by force by us: it was no accident.

    By a person (`runs.end.processes`): how long the worker had been silent then; `stalled` if that was longer than it
    ever takes. By the watchdog of strangers' programs: the end's `reason` and `message`.
    """

    time: Seconds = 0.0
    attempt: Count = 1
    silent_seconds: Seconds = 0.0
    stalled: bool = False
    reason: str = ""
    message: str = ""


class MemoryFacts(NamedTuple):
    """What the system says of this process's memory at its start; see `Vitals`."""

    limit_bytes: int
    counter: str
    kills: int


def read(folder: Path) -> Vitals | None:
    """What was written last, or None for a run without it."""
    return read_record(folder / FILE, Vitals)


def killed_path(folder: Path) -> Path:
    """Where the note `Killed` lies, if it was left."""
    return folder / "control" / "killed"


def bound_to_server(folder: Path) -> bool:
    """True for a run that ends when its server does (see `runs.start.lifeline`)."""
    found = read(folder)
    return found is not None and found.on_server_death == "die"


def write(folder: Path, vitals: Vitals) -> None:
    """Replace the file. Raises: OSError."""
    write_atomically(folder / FILE, vitals.model_dump_json())


def now() -> float:
    """The clock of `beat` and `started`: it does not count the time that a laptop slept."""
    return time.monotonic()


def memory_facts(cgroups: Path = CGROUPS, proc: Path = PROC) -> MemoryFacts:
    """The least limit that holds for this process, and the kernel's count of kills in its control group, v1 or v2.

    Without a control group that says so, the count is that of the whole machine; elsewhere than on Linux there is none.
    """
    total = psutil.virtual_memory().total
    groups = _memory_groups(cgroups, proc)
    limits = [_number(folder / name) for folder in groups for name in ("memory.max", "memory.limit_in_bytes")]
    limit = min([total, *(limit for limit in limits if limit is not None and 0 < limit < UNLIMITED_BYTES)])
    for folder in groups:
        for name in ("memory.events", "memory.oom_control"):
            kills = count(folder / name)
            if kills is not None:
                return MemoryFacts(limit, str(folder / name), kills)
    machine = proc / "vmstat"
    kills = count(machine)
    return MemoryFacts(limit, "" if kills is None else str(machine), kills or 0)


def count(path: Path) -> int | None:
    """The number after `oom_kill` in one of the kernel's files, or None where there is none."""
    try:
        for line in path.read_text(encoding="ascii", errors="replace")[:100_000].splitlines():
            word, _, number = line.partition(" ")
            if word == "oom_kill" and number.strip().isdecimal():
                return int(number)
    except OSError:
        pass
    return None


def _memory_groups(cgroups: Path, proc: Path) -> list[Path]:
    """The folders of this process's memory control group, the innermost first, then those that contain it."""
    try:
        lines = (proc / "self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        number, _, rest = line.partition(":")
        controllers, _, name = rest.partition(":")
        if number == "0":
            roots = [cgroups, cgroups / "unified"]
        elif "memory" in controllers.split(","):
            roots = [cgroups / "memory"]
        else:
            continue
        for root in roots:  # in a container the name may be that of the machine, and only the root is there
            inner = root / name.strip("/")
            found += [folder for folder in (inner, *inner.parents) if folder.is_relative_to(root) and folder.is_dir()]
    return found


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdecimal() else None
