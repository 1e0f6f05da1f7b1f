"""Why a run ended: the table of all exit reasons, and what a worker died of that could not say so itself, from exit
code, last traceback and memory. It claims no more than the evidence shows: what is only likely is called likely."""

from __future__ import annotations

import contextlib
import re
import signal
from pathlib import Path
from typing import NamedTuple

from playground.config import WATCHED, yaml_io
from playground.errors import LESS_MEMORY, InvalidConfig
from playground.process_identity import boot_id
from playground.runs.folder import heartbeat, placed
from playground.runs.folder.files import read_record
from playground.runs.folder.heartbeat import Heartbeat
from playground.runs.folder.logs import ATTEMPT_LINE, log_tail
from playground.runs.folder.records import NOT_RESUMABLE, State, Status

Found = tuple[str, str]  # a key of `EXIT_REASONS`, and a sentence
NEARLY_ALL = 0.8  # of the memory that was free; it may have grown since the last heartbeat
CRASHES = {"SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT", "SIGSYS", "SIGTRAP"}  # what a program does to itself
TRACEBACK = "Traceback (most recent call last):"
# Of Python, and of libraries in other languages, which name the machine's refusals in words only.
DISK_WORDS = (
    *("No space left on device", "Disk quota exceeded", "File too large"),
    *("[Errno 28]", "[Errno 122]", "(os error 28)", "(os error 122)"),
)
EARLY = "early_stop"  # the reason of a run that has finished before its last update, as its settings ask
UNWATCHED = "unwatched"  # the reason of a run that another program trains, and that is no longer watched
ACCIDENTS = ("watch_lost", "killed", "server_lost", "helper_lost", "stalled", "damaged", placed.LOST)
LOG = "worker.log"
LOG_BYTES = 64_000
GB = 1e9
AFRESH = "Start it again from the beginning: it has no checkpoint to go on from."
KEPT = "Resume it: what it did up to its last checkpoint is kept."


class ExitReason(NamedTuple):
    """One reason. `remedy`: what to do, or ""; `resumable`: going on from the last checkpoint makes sense as it is."""

    title: str
    remedy: str
    resumable: bool


TITLES_AND_REMEDIES = {
    "": ("Finished", ""),
    EARLY: ("Finished early, as its settings ask", "Resume it to make the updates that are left."),
    "stopped": ("Stopped", "Resume it to make the updates that are left."),
    "time_limit": ("Time is up", "Resume it, or give it more minutes (max_minutes)."),
    "invalid": ("Invalid settings", "Correct the settings that the message names, and start again."),
    "model": ("The model cannot be loaded", "Choose another model, or repair its folder, and start again."),
    "out_of_gpu_memory": ("The GPU ran out of memory", LESS_MEMORY),
    "out_of_memory": ("The machine ran out of memory", f"Close other programs. {LESS_MEMORY}"),
    "diverged": ("Training diverged", "Lower ppo.learning_rate or raise kl.coef, and start again."),
    "disk_full": ("The disk is full", "Free some space. Then resume it: its last checkpoint is whole."),
    "killed": ("The worker was killed", KEPT),
    "stalled": ("The worker did not answer", "Resume it. If it stalls again, restart the machine."),
    "server_lost": ("The server ended, and the run with it", "Resume it, or start the server with policy `survive`."),
    "helper_lost": ("A process of the run was lost", f"{KEPT} If it happens again, take fewer processes (ranks)."),
    "place_lost": ("The place where it was computed was lost", "Resume it: its newest checkpoint here is kept."),
    UNWATCHED: ("No longer watched", WATCHED),
    "watch_lost": ("The process that watched it has ended", WATCHED),
    "damaged": ("The record of this run is damaged", "Resume it, or start again from its settings."),
    "bug": ("Something unexpected went wrong", "Read the end of the log. Then resume it, or start again."),
}
EXIT_REASONS = {
    reason: ExitReason(*words, resumable=reason not in NOT_RESUMABLE) for reason, words in TITLES_AND_REMEDIES.items()
}


def reason_of(reason: str) -> ExitReason:
    """What is known of a reason; one that this version does not know is shown as it is."""
    unknown = ExitReason(reason.replace("_", " ").capitalize(), "Read the end of the log.", resumable=True)
    return EXIT_REASONS.get(reason, unknown)


def remedy_afresh(reason: str) -> str:
    """What to do in the place of `remedy` where there is no checkpoint; "" where that says nothing of one."""
    sentences = re.split(r"(?<=\.) ", reason_of(reason).remedy)
    changed = [AFRESH if "esume" in sentence else sentence for sentence in sentences]
    if changed == sentences:
        return ""
    return " ".join(changed)


def state_after(reason: str) -> State:
    """The terminal state that goes with an exit reason."""
    if reason == EARLY:
        return "finished"
    if reason in ("stopped", "time_limit", UNWATCHED):
        return "stopped"
    if reason in ACCIDENTS:
        return "interrupted"
    return "failed"


def of_death(exit_code: int | None, status: Status, folder: Path) -> Found:
    """Why a worker died that left no exit reason of its own. `exit_code`: as `subprocess` gives it (negative: a
    signal); None where it was not seen. `status`: the last one on disk."""
    number, when = _signal_of(exit_code), _when(status)
    beat = heartbeat.read(folder)
    if beat and beat.attempt != status.attempt:  # it died before it wrote any: this is of the attempt before
        beat = None
    unclear = exit_code is None or number == signal.SIGKILL
    if (unclear or number == signal.SIGTERM) and (wish := _asked_for(status, folder)):
        return wish
    if exit_code is None:
        if _is_watched(folder):
            return "watch_lost", f"The process that watched it, or trained it, ended {when} without a word."
        elsewhere = placed.read(folder)
        if elsewhere and elsewhere.attempt == status.attempt:
            return placed.LOST, f"It was computed elsewhere ({elsewhere.place}), and its job is not known here {when}."
        if status.boot_id and status.boot_id != boot_id():
            return "killed", f"The machine was restarted {when}, and the worker ended with it."
    if not number and (last_words := _last_words(folder)):
        return last_words
    if exit_code is None and beat and beat.on_server_death == "die":
        return "server_lost", f"The worker ended {when}, as it does when its server ends (policy `die`)."
    if unclear and beat and (short := _out_of_memory(status, beat)):
        return short
    return _by_exit_code(exit_code, when)


def _is_watched(folder: Path) -> bool:
    with contextlib.suppress(InvalidConfig):
        return yaml_io.load(folder / "config.yaml", links=False).kind == "watched"
    return False


def _signal_of(exit_code: int | None) -> int:
    return max(0, -(exit_code or 0))


def _asked_for(status: Status, folder: Path) -> Found | None:
    note = read_record(heartbeat.killed_path(folder), heartbeat.Killed)
    if note and note.attempt == status.attempt:
        return note.reason or "stopped", note.message or f"Stopped {_when(status)}."
    if (folder / "control" / "stop").exists():
        return ("stopped", f"Stopped {_when(status)}.")
    return None


def _last_words(folder: Path) -> Found | None:
    """A traceback at the very end of what this attempt has printed."""
    text = log_tail(folder / LOG, LOG_BYTES)
    text = text[max(0, text.rfind("\n" + ATTEMPT_LINE)) :]
    _, traceback, message = text.rpartition(TRACEBACK)
    errors = [line.rstrip() for line in message.splitlines() if line.strip() and not line.startswith((" ", "\t"))]
    if not traceback or len(errors) != 1:  # something was printed after it
        return None
    last = errors[0][:300].rstrip(".") + "."
    if any(words in last for words in DISK_WORDS):
        return "disk_full", f"The disk was full, so the worker could not go on: {last}"
    return "bug", f"The worker failed: {last} The full traceback is in {LOG}."


def _out_of_memory(status: Status, beat: Heartbeat) -> Found | None:
    """The kernel ends a process with signal 9 when memory runs out; so may anyone, but this held nearly all."""
    same = beat.boot_id == boot_id() and status.pid in (0, beat.pid)
    if not same or not beat.limit_bytes or beat.resident_bytes < NEARLY_ALL * beat.limit_bytes:
        return None
    resident, free = beat.resident_bytes / GB, (beat.limit_bytes - beat.resident_bytes) / GB
    return "out_of_memory", (
        f"The machine most likely ran out of memory {_when(status)}: when it was last seen, the worker held "
        f"{resident:.1f} GB, and {free:.1f} GB were free. {LESS_MEMORY}"
    )


def _by_exit_code(exit_code: int | None, when: str) -> Found:
    number, see = _signal_of(exit_code), f"Its last lines are in {LOG}."
    if exit_code is None:
        return "killed", f"The worker ended without saying why {when}, and its exit code is unknown. {see}"
    if not number:
        return "bug", f"The worker ended {when} with exit code {exit_code} and did not say why. {see}"
    if number == signal.SIGALRM:  # see `train.models.time_limit`
        file = "A tokenizer, chat template or model configuration"
        return (
            "model",
            f"{file} did not finish in time {when}; {LOG} says where. Start it again if the machine was busy.",
        )
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    if name in CRASHES:
        return "bug", f"The worker crashed {when} ({name}). {see}"
    return "killed", f"The worker was killed by {name} {when}."


def _when(status: Status) -> str:
    if status.update:
        return f"after update {status.update}"
    phase = status.phase.partition(",")[0]  # without how far it was
    if " " in phase:
        return f"while {phase}"
    return "before its first update"
