"""What a worker died of that could not say so itself: exit code, traces and the log -> a reason and a sentence.

It claims no more than the evidence: what is only likely is called likely, and what nobody saw is called unknown.
Called by whoever finds a run without a living worker; reads, and writes nothing.
"""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

from playground.config import yaml_io
from playground.errors import PlaygroundError
from playground.runs.folder import placed, vitals
from playground.runs.folder.files import read_record
from playground.runs.folder.logs import ATTEMPT_LINE, log_tail
from playground.runs.folder.records import State, Status
from playground.safety.process_identity import boot_id
from playground.setup import estimates
from playground.setup.telling import duration

NEARLY_ALL = 0.9  # of the memory that the worker may have
A_LARGE_PART = 0.5
CRASHES = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP"}  # what a program does to itself
TRACEBACK = "Traceback (most recent call last):"
FATAL = re.compile(r"^Fatal Python error: (.{1,200})$", re.MULTILINE)
# Of Python, and of libraries in other languages, which tell of the machine's refusals in words only.
DISK_WORDS = (
    "No space left on device", "Disk quota exceeded", "File too large",
    "[Errno 28]", "[Errno 122]", "(os error 28)", "(os error 122)",
)  # fmt: skip
FRAME = re.compile(r'^  File "(.{1,1000})", line \d+ in (\w+)$')  # of the dump below a fatal error
PROGRAMS = {  # of a model's author: where they are called, file and function
    ("training/models/language_model.py", "encode"): "The tokenizer of this model",
    ("training/models/language_model.py", "_text"): "The tokenizer of this model",
    ("training/models/loading.py", "read_tokenizer"): "The tokenizer of this model",
    ("training/rewards/formats.py", "tokenized"): "The tokenizer of this reward model",
    ("training/rewards/formats.py", "decoded"): "The tokenizer of this reward model",
}
LOG = "worker.log"
LOG_BYTES = 64_000  # the dump of all threads, and the names of all libraries, stand below a fatal error
GB = 1e9


def of_death(exit_code: int | None, status: Status, folder: Path, *, counter: Path | None = None) -> tuple[str, str]:
    """The reason (a key of `runs.folder.end_reasons.ENDS`) and a sentence about a worker that left no end of its own.

    Args:
        exit_code: as `subprocess` tells it (negative: a signal); None where nobody saw it, for example because the
            server that started it was restarted.
        status: the last one on disk.
        counter: the kernel's file that counts kills for want of memory; default: the one that the worker named.
    """
    return next(_explanations(exit_code, status, folder, counter))


def _explanations(
    exit_code: int | None, status: Status, folder: Path, counter: Path | None
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """What the evidence says, the surest first. The last one always holds."""
    seen, number, when = exit_code is not None, signal_of(exit_code), _when(status)
    found = vitals.read(folder)
    if found and found.attempt != status.attempt:  # it died before it wrote any: these are of the one before
        found = None
    if not seen or number in (signal.SIGTERM, signal.SIGKILL):
        yield from _asked_for(folder, status)
    elsewhere = placed.read(folder)
    if not seen and elsewhere and elsewhere.attempt == status.attempt:
        yield placed.LOST, f"The driver that connected it with its place ({elsewhere.place}) ended {_when(status)}."
    if not seen and status.boot_id and status.boot_id != boot_id():
        yield "killed", f"The machine was restarted {when}, and the worker ended with it."
    if not number:
        yield from _last_words(folder)
    if not seen and status.state == "queued":  # no worker of this attempt has ever spoken
        yield (
            "killed",
            "It was to be started, and no worker of it is there: its folder was moved or copied while it waited, or "
            "the worker died before its first word.",
        )
    if not seen and found and found.on_server_death == "die":
        yield "server_lost", f"The worker ended {when}, as it does when its server ends (policy `die`); nobody saw how."
    if found and (not seen or number == signal.SIGKILL):
        yield from _out_of_memory(status, folder, found, counter, seen)
    if not seen:
        yield (
            "killed",
            f"The worker ended without saying why {when}, and nobody saw how. Its last words are in {LOG}.",
        )
    if number == signal.SIGKILL:
        yield "killed", f"The worker was killed by SIGKILL {when}, and nothing tells who did it."
    if number:
        name = _signal_name(number)
        if name in CRASHES:
            yield from _crashed_in_program(_attempts_words(folder), name)
            yield "bug", f"The worker crashed {when} ({name}). Its last words are in {LOG}."
        yield "killed", f"The worker was killed by {name} {when}."
    yield (
        "bug",
        f"The worker ended {when} with exit code {exit_code} and did not say why. Its last words are in {LOG}.",
    )


def state_after(reason: str) -> State:
    """The terminal state that goes with a reason of `of_death`."""
    if reason in ("stopped", "time_limit"):
        return "stopped"
    accidents = ("killed", "server_lost", "helper_lost", "stalled", "moved", "damaged", placed.LOST)
    return "interrupted" if reason in accidents else "failed"


def signal_of(exit_code: int | None) -> int:
    """The signal that ended a process: -9, or 137 where a shell stood between; 0 for none."""
    if exit_code is None:
        return 0
    if exit_code < 0:
        return -exit_code
    return exit_code - 128 if 128 < exit_code < 128 + signal.NSIG else 0


def _out_of_memory(
    status: Status, folder: Path, found: vitals.Vitals, counter: Path | None, seen: bool
) -> Iterator[tuple[str, str]]:  # fmt: skip
    """Signal 9 is what the kernel sends when memory runs out, and what anybody may send. Two traces tell: its count of
    such kills has risen, and the worker held nearly all the memory there is. One makes it likely, both make it sure.

    Args:
        seen: that it was signal 9; else both traces are wanted before anything is said.
    """
    if (status.pid and found.pid != status.pid) or found.boot_id != boot_id():
        return
    share = found.resident_bytes / found.limit_bytes if found.limit_bytes else 0.0
    kills = vitals.count(counter or Path(found.counter)) if counter or _is_the_kernels(found.counter) else None
    rose = kills is not None and kills > found.kills
    large = share >= (NEARLY_ALL if seen else A_LARGE_PART)
    if not (rose and large) and not (seen and (rose or large)):
        return
    held = f"it held {found.resident_bytes / GB:.1f} of {found.limit_bytes / GB:.1f} GB when it was last seen"
    counted = f"the system has ended {(kills or 0) - found.kills} for want of memory since the run began"
    if rose and large:
        traces = f"{held}, and of the processes beside it {counted}"
    else:
        traces = f"the worker was killed, and {counted if rose else held}"
    likely = "" if rose and large and seen else "most likely "
    sentence = f"The machine {likely}ran out of memory {_when(status)}: {traces}."
    with contextlib.suppress(PlaygroundError, AttributeError, OSError):  # a reward training has no such setting
        sentence += f" {estimates.advice(yaml_io.load(folder / 'config.yaml', links=False), folder.parent)}"
    yield "out_of_memory", sentence


def _is_the_kernels(counter: str) -> bool:
    """The name comes from a file in the run's folder, so it may name nothing but the kernel's own counters."""
    path = Path(counter)
    if ".." in path.parts:
        return False
    return path == vitals.PROC / "vmstat" or path.is_relative_to(vitals.CGROUPS)


def _asked_for(folder: Path, status: Status) -> Iterator[tuple[str, str]]:
    """The worker was asked to stop, or was ended by us: that is no accident."""
    note = read_record(vitals.killed_path(folder), vitals.Killed)
    if note and note.attempt == status.attempt:
        if note.reason:
            yield note.reason, note.message
        if note.stalled:
            yield (
                "stalled",
                f"The worker had not answered for {duration(note.silent_seconds)}, and was ended on request.",
            )
        yield "stopped", f"Stopped {_when(status)}: it did not end by itself in time, so its process was ended."
    if (folder / "control" / "stop").exists():
        yield "stopped", f"Stopped {_when(status)}."


def program_in(frames: Iterable[tuple[str, str]]) -> str:
    """The program of a model's author that ran in one of the frames (file, function), as in PROGRAMS; else empty."""
    for file, function in frames:
        for (ending, name), program in PROGRAMS.items():
            if function == name and Path(file).as_posix().endswith(f"playground/{ending}"):
                return program
    return ""


def _attempts_words(folder: Path) -> str:
    """The end of what this attempt has printed."""
    text = log_tail(folder / LOG, LOG_BYTES)
    return text[max(0, text.rfind("\n" + ATTEMPT_LINE)) :]


def _crashed_in_program(text: str, crash: str) -> Iterator[tuple[str, str]]:
    """The thread that was at work when the last fatal error came was in the program of a model's author."""
    *_, dump = FATAL.split(text)
    _, _, stack = dump.partition("\nCurrent thread ")
    frames = []
    for line in stack.splitlines()[1:]:
        if not (found := FRAME.match(line)):
            break
        frames.append((found[1], found[2]))
    if program := program_in(frames):
        yield "model", f"{program} ended the worker ({crash}). Choose another model."


def _last_words(folder: Path) -> Iterator[tuple[str, str]]:
    """A traceback or a fatal error at the very end of what this attempt has printed."""
    text = _attempts_words(folder)
    for fatal in reversed(FATAL.findall(text)):
        yield from _crashed_in_program(text, fatal.strip())
        yield "bug", f"The worker crashed: {fatal.strip()}. The whole story is in {LOG}."
    _, traceback, said = text.rpartition(TRACEBACK)
    errors = [line.rstrip() for line in said.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    if not traceback or len(errors) != 1:  # something was printed after it
        return
    last = errors[0][:300].rstrip(".") + "."
    if any(words in last for words in DISK_WORDS):
        yield "disk_full", f"The disk was full, so the worker could not go on, nor say so: {last}"
    yield "bug", f"The worker failed: {last} The whole story is in {LOG}."


def _when(status: Status) -> str:
    if status.update:
        return f"after update {status.update}"
    return f"while {status.phase}" if status.phase and " " in status.phase else "before its first update"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
