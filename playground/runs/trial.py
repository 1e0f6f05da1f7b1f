"""One real update of a configuration before its run is started: how long it takes, and how much memory.

The worker of runs makes it in the hidden folder `.trial` of the outputs folder, where nobody looks for runs. After the
second update (or the first, if that took long) its process is ended and the folder removed; the figures stay in
`.trials.json`, and later estimates are made from them. The process ends with who makes the trial, however that ends,
and after few updates and a while in any case; who looks after the runs ends and removes what is left (`clear`). Knows
no torch. The page and `python -m playground try` call it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil

from playground.config import RunConfig, yaml_io
from playground.config.reward_settings import SCALE_SAMPLES
from playground.errors import InvalidConfig, Problem, RunBusy
from playground.runs.folder import exit_reasons, processes
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import is_locked, make_outputs, private, read_record, write_atomically
from playground.runs.folder.records import SCORE_SCALE, Count, Record, Seconds, Status, UpdateMetrics
from playground.runs.start import launcher, lifeline, queue
from playground.setup import checks, devices, estimates
from playground.setup.estimates import disk
from playground.setup.estimates.memory import LIBRARY_BYTES
from playground.setup.estimates.timing import Finished

FILE = ".trials.json"
MOST = 12
UPDATES = 2
LONG_SECONDS = 10.0  # after a first update that took longer, no second one is waited for
MOST_SECONDS = 600.0  # for loading and updating; a download has the time that it takes
MOST_MINUTES, WITH_DOWNLOAD = 30.0, 600.0  # after which its process ends by itself, whatever its maker does
MAKER_LOCK = "maker.lock"  # in its folder, held by who makes it for as long as it is made
MEASURING = "measuring the reference"
POLL_SECONDS = 0.1
DOWNLOADING = "downloading"
LOG_WORDS = r" ?[^.]*\bin worker\.log\."  # where a run that failed sends its reader
MOST_WORDS = 300
MEMORY_REASONS = ("out_of_memory", "out_of_gpu_memory")
ENDED = "The trial was ended before its first update. Nothing of it is left."
LATE = (
    "The trial made no update within {:.0f} minutes, so it was ended. Use fewer or shorter completions "
    "(ppo.batch_size, sampling.max_new_tokens), or a smaller model."
)
BUSY = "{} trains or waits on {}, so time and memory of a trial would not be those of your run. Try it afterwards."


class Trial(Record):
    """What one trial came to. `config` is the configuration that was asked about, as plain data."""

    config: dict[str, Any]
    at: Seconds = 0.0
    update_seconds: Seconds = 0.0
    memory_bytes: Count = 0


class Trials(Record):
    """Those that are remembered, the newest first."""

    trials: tuple[Trial, ...] = ()


def make(config: RunConfig, outputs: Path, spawn: launcher.Spawn | None = None) -> Iterator[dict[str, Any]]:
    """Make a trial: {phase, seconds} again and again, and at last what came of it (see `_found`, `_failed`).

    Whoever stops asking ends the trial with that.

    Raises:
        RunBusy: the device is taken, or another trial is under way. InvalidConfig, OutputsNotWritable,
        WorkerNotStarted: as for a run.
    """
    place = devices.chosen(config.device)
    if place is None:
        raise InvalidConfig([Problem("device", f"There is no {config.device} here.")])
    run, process, held = _start(config, make_outputs(outputs), spawn)
    with held, launcher.let_go_of(held):
        yield from _followed(config, outputs, place, run, process)


def _followed(
    config: RunConfig, outputs: Path, place: devices.Device, run: RunDirectory, process: subprocess.Popen[bytes]
) -> Iterator[dict[str, Any]]:
    """See `make`."""
    begun = counted = changed = last = time.monotonic()
    made: list[UpdateMetrics] = []
    told, memory, measuring = None, 0, 0.0
    try:
        while process.poll() is None:
            now, before = time.monotonic(), len(made)
            status, made, memory = run.status_on_disk(), run.metrics(), max(memory, _held_bytes(process.pid))
            changed = changed if len(made) == before else now
            if status.ended or _is_enough(made, now - changed):
                break
            if status.phase.startswith(DOWNLOADING):
                counted = now
            measuring += (now - last) if status.phase.startswith(MEASURING) else 0.0
            last = now
            if now - counted > MOST_SECONDS and not made:
                yield {"state": "failed", "message": LATE.format(MOST_SECONDS / 60), "advice": "", "better": None}
                return
            phase = f"making update {len(made) + 1}" if status.state == "running" else status.phase or "starting"
            if told != (phase, int(now - begun)):
                told = phase, int(now - begun)
                yield {"state": "asking", "phase": phase, "seconds": now - begun}
            time.sleep(POLL_SECONDS)
        made = run.metrics()
        if made:
            more = measuring * (SCALE_SAMPLES / _measured(run) - 1)  # of which a run measures all
            yield _found(config, outputs, place, made, memory, time.monotonic() - begun + more)
        else:
            yield _failed(config, outputs, run, process)
    finally:
        _end(process)
        shutil.rmtree(run.path, ignore_errors=True)


def clear(outputs: Path) -> bool:
    """End a trial that nobody makes any more, and take its folder away. False where there is none. Raises: RunBusy,
    OSError."""
    run = RunDirectory(Path(outputs) / launcher.TRIAL)
    if not _is_left(run):
        return False
    with launcher.one_at_a_time(Path(outputs)):  # nobody is in the middle of beginning one
        return _is_left(run) and _clear(run)


def _is_left(run: RunDirectory) -> bool:
    return run.path.is_dir() and not run.path.is_symlink() and not is_locked(run.path / MAKER_LOCK)


def _clear(run: RunDirectory) -> bool:
    """Raises: RunBusy."""
    if run.is_alive() and processes.end(run, grace_seconds=0.0).alive:
        raise RunBusy("A trial update that nobody waits for any more could not be ended.")
    shutil.rmtree(run.path, ignore_errors=True)
    return True


def timed(outputs: Path) -> list[Finished]:
    """What the trials of an outputs folder took, for estimates. Those of settings that there are no more are left
    out."""
    found = []
    for item in _remembered(outputs):
        with contextlib.suppress(InvalidConfig):
            found.append(Finished(yaml_io.from_dict(item.config), item.update_seconds, None, item.memory_bytes))
    return found


def _start(
    config: RunConfig, outputs: Path, spawn: launcher.Spawn | None
) -> tuple[RunDirectory, subprocess.Popen[bytes], IO[bytes]]:
    """The trial, its worker, and the lock that says that somebody makes it."""
    lifeline.policy()
    checks.check(config, outputs)
    config = checks.located(config, outputs)
    tried = _for_trial(config)
    disk.check([tried], outputs)
    slot = queue.slot_of(config)
    with launcher.one_at_a_time(outputs):
        if launcher.is_busy(outputs, slot):
            living = launcher.living_run(outputs)
            raise RunBusy(BUSY.format(f"The run {living.id}" if living else "A run", slot))
        run = RunDirectory(outputs / launcher.TRIAL)
        if _is_left(run):
            _clear(run)
        if os.path.lexists(run.path):
            raise RunBusy("Another trial is under way. Wait for it, or stop it.")
        run.control_path.mkdir(parents=True, mode=0o700)
        held = open(run.path / MAKER_LOCK, "wb", opener=private)  # noqa: SIM115 - until the trial is over
        try:
            launcher.take(held)
            now = time.time()
            write_atomically(run.status_path, Status(started_at=now, updated_at=now).model_dump_json())
            with open(run.lock_path, "wb", opener=private) as lock:
                launcher.take(lock)
                run.publish(tried)
                return run, launcher.spawn_worker(run, lock, spawn), held
        except BaseException:
            held.close()
            raise


def _for_trial(config: RunConfig) -> RunConfig:
    """The same work in each update, and as little else as can be: few fixed prompts, no checkpoint on the way."""
    look = {
        "num_prompts": min(4, config.evaluation.num_prompts),
        "samples_per_prompt": 1,
        "every": 100_000,
        "text": None,
        "traces": min(1, config.evaluation.traces),  # of the first, which also warms up
    }
    return config.model_copy(
        update={
            "max_minutes": WITH_DOWNLOAD if checks.asks_hub(config) else MOST_MINUTES,
            "ppo": config.ppo.model_copy(update={"num_updates": UPDATES + 1}),  # the last has a look behind it
            "evaluation": config.evaluation.model_copy(update=look),
            "checkpoint": config.checkpoint.model_copy(update={"every": 0}),
        }
    )


def _is_enough(made: list[UpdateMetrics], waited: float) -> bool:
    """A first update is enough if it took long, or if the next one does."""
    return len(made) >= UPDATES or (bool(made) and max(waited, _seconds(made[-1])) > LONG_SECONDS)


def _measured(run: RunDirectory) -> int:
    """On how many texts of the reference the scale of the score was measured."""
    counts = (event.data.get("samples") for event in run.all_events() if event.kind == SCORE_SCALE)
    return next((count for count in counts if isinstance(count, int) and count > 0), SCALE_SAMPLES)


def _seconds(update: UpdateMetrics) -> float:
    return update.seconds_rollout + update.seconds_score + update.seconds_update


def _held_bytes(pid: int) -> int:
    """The most that a process has held so far, where the system tells it; else what it holds now."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        peak = re.search(r"^VmHWM:\s+(\d+) kB$", text, re.MULTILINE)
        return int(peak[1]) * 1024 if peak else psutil.Process(pid).memory_info().rss
    except (OSError, psutil.Error):
        with contextlib.suppress(psutil.Error):
            return int(psutil.Process(pid).memory_info().rss)
        return 0


def _found(
    config: RunConfig, outputs: Path, place: devices.Device, made: list[UpdateMetrics], memory: int, seconds: float
) -> dict[str, Any]:
    """What a trial that has made an update came to: its figures, the estimate that follows from them, and where memory
    is short what would help: `better`, a configuration as plain data."""
    if place.kind != "cpu":  # what counts is the memory of the device
        peak = max((item.memory_gb or 0.0) * estimates.GB for item in made)
        memory = int(peak + LIBRARY_BYTES[place.kind])
    one = _seconds(made[-1])  # the first one warms up
    trial = Trial(config=config.model_dump(mode="json"), at=time.time(), update_seconds=one, memory_bytes=memory)
    write_atomically(outputs / FILE, Trials(trials=(trial, *_remembered(outputs))[:MOST]).model_dump_json())
    told = estimates.estimate(config, outputs, device=place, finished=timed(outputs))
    return {
        "state": "done",
        "updates": len(made),
        "seconds_per_update": one,
        "seconds_before": max(0.0, seconds - sum(map(_seconds, made))),
        "seconds": told.seconds,
        "memory_gb": memory / estimates.GB,
        "free_gb": place.free_bytes / estimates.GB,
        "device": place.name,
        "verdict": told.verdict,
        "advice": told.advice,
        "better": told.better.model_dump(mode="json") if told.better else None,
    }


def _failed(config: RunConfig, outputs: Path, run: RunDirectory, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Why there was no update, and what would help."""
    status = run.status_on_disk()
    if not run.config_path.is_file() or status.reason == "stopped" or (run.path / "control" / "killed").exists():
        return {"state": "stopped", "message": ENDED, "advice": "", "better": None}
    reason, message = status.reason, status.message
    if not status.ended:
        reason, message = exit_reasons.of_death(process.wait(), status, run.path)
    if "worker.log" in message:  # which goes with the folder
        lines = [line for line in run.log_tail().splitlines() if line.strip()]
        message = f"{re.sub(LOG_WORDS, '', message)} It said: {lines[-1].strip()[:MOST_WORDS]}" if lines else message
    if reason not in MEMORY_REASONS:
        return {"state": "failed", "message": message, "advice": "", "better": None}
    advice, better = estimates.remedy(config, outputs)
    told = "" if advice in message else advice  # the worker may have said it
    return {"state": "failed", "message": message, "advice": told,
            "better": better.model_dump(mode="json") if better else None}  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    """By force: nothing that it would save is wanted."""
    if process.poll() is None:
        group = process.pid  # it leads a session of its own
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    process.wait()


def _remembered(outputs: Path) -> tuple[Trial, ...]:
    found = read_record(Path(outputs) / FILE, Trials)
    return found.trials if found else ()
