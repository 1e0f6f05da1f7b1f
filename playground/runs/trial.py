"""One real update of a configuration before its run is started: how long it takes, and how much memory.

An ordinary job in the hidden folder `.trial` of the outputs folder. After the second update (or the first, if that took
long) its process is ended and the folder removed; the figures stay in `.trials.json`, for estimates.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from playground.config import RunConfig, StopConfig, yaml_io
from playground.config.source_settings import SMALL_MODEL
from playground.errors import InvalidConfig, Problem, RunBusy
from playground.runs import launcher, queue
from playground.runs.folder import exit_reasons, heartbeat
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import make_outputs, read_record, write_atomically
from playground.runs.folder.records import REFERENCE, SCORE_SCALE, Count, Record, Seconds, Status
from playground.setup import admission, checks, devices, estimates
from playground.setup.estimates.memory import LIBRARY_BYTES
from playground.setup.estimates.timing import Finished

FILE = ".trials.json"
MOST = 12
UPDATES = 2
LONG_SECONDS = 10.0  # after a first update that took longer, no second one is waited for
MOST_MINUTES, WITH_DOWNLOAD = 10.0, 600.0  # after which its process ends by itself
LEFT_SECONDS = 60.0  # a folder in which nothing lives or changes for so long is of a maker that is gone
POLL_SECONDS = 0.25
MEMORY_REASONS = ("out_of_memory", "out_of_gpu_memory")
ENDED = "The trial was ended before its first update. Nothing of it is left."
BUSY = "A run trains or waits on {}, so a trial would not measure the time and memory of your run. Try it afterwards."


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
    """Make a trial: {state: asking, phase, seconds} again and again, and at last what came of it (see `_found`,
    `_failed`). To close this generator ends it. Raises: RunBusy, if the device is taken; and as `launcher.start`."""
    device = devices.chosen(config.device)
    if device is None:
        raise InvalidConfig([Problem("device", f"There is no {config.device} here.")])
    outputs, started_at, memory = make_outputs(outputs), time.monotonic(), 0
    run, process = _start(config, outputs, spawn)
    try:
        while process.poll() is None:
            status, updates = run.status_on_disk(), run.metrics()
            memory = max(memory, _held_bytes(process.pid))
            if status.ended or len(updates) >= UPDATES or (updates and updates[-1].seconds_of_phases > LONG_SECONDS):
                break
            phase = status.phase or "starting"
            if phase == "training":
                phase = f"making update {len(updates) + 1}"
            yield {"state": "asking", "phase": phase, "seconds": time.monotonic() - started_at}
            time.sleep(POLL_SECONDS)
        if run.metrics():
            yield _found(config, run, device, memory, time.monotonic() - started_at)
        else:
            yield _failed(config, run, process)
    finally:
        if process.poll() is None:  # by force: nothing that it would save is wanted
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own
        process.wait()
        shutil.rmtree(run.path, ignore_errors=True)


def clear(outputs: Path) -> None:
    """Take away the folder of a trial whose maker is gone. Raises: RunBusy, OSError."""
    run = RunDirectory(Path(outputs) / launcher.TRIAL)
    if run.path.is_symlink() or not run.path.is_dir() or time.time() - run.path.stat().st_mtime < LEFT_SECONDS:
        return
    with launcher.one_at_a_time(Path(outputs)):
        if not run.is_alive():
            shutil.rmtree(run.path, ignore_errors=True)


def timed(outputs: Path) -> list[Finished]:
    """What the trials of an outputs folder took, but for those of settings that there are no more."""
    times = []
    for item in _remembered(outputs):
        with contextlib.suppress(InvalidConfig):
            times.append(Finished(yaml_io.from_dict(item.config), item.update_seconds, None, item.memory_bytes))
    return times


def _start(
    config: RunConfig, outputs: Path, spawn: launcher.Spawn | None
) -> tuple[RunDirectory, subprocess.Popen[bytes]]:
    tried = _for_trial(admission.admit(config, outputs))
    slot = queue.slot_of(tried)
    run = RunDirectory(outputs / launcher.TRIAL)

    def publish() -> None:
        write_atomically(run.status_path, Status(started_at=time.time(), updated_at=time.time()).model_dump_json())
        run.publish(tried)

    with launcher.one_at_a_time(outputs):
        if launcher.is_busy(outputs, slot):
            raise RunBusy(BUSY.format(slot))
        if not run.is_alive() and not run.path.is_symlink():
            shutil.rmtree(run.path, ignore_errors=True)
        try:
            run.path.mkdir(mode=0o700)
        except FileExistsError:
            raise RunBusy("Another trial is running. Wait for it, or stop it.") from None
        run.control_path.mkdir()
        return run, launcher.give_worker(run, spawn, publish)


def _for_trial(config: RunConfig) -> RunConfig:
    """The same work in each update, and as little else as can be: few fixed prompts, no checkpoint on the way."""
    few_prompts, traces = min(4, config.evaluation.num_prompts), min(1, config.evaluation.traces)
    evaluation = {"num_prompts": few_prompts, "samples_per_prompt": 1, "every": 100_000, "text": None, "traces": traces}
    return config.model_copy(
        update={
            "kind": "trial",
            "max_minutes": WITH_DOWNLOAD if checks.asks_hub(config) else MOST_MINUTES,
            "ppo": config.ppo.model_copy(update={"num_updates": UPDATES + 1}),  # an evaluation follows the last
            "evaluation": config.evaluation.model_copy(update=evaluation),
            "stop": StopConfig(),
            "trackers": (),
            "checkpoint": config.checkpoint.model_copy(update={"every": 0}),
        }
    )


def _held_bytes(pid: int) -> int:
    with contextlib.suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def _more_measuring(run: RunDirectory) -> float:
    """Seconds that a run takes longer to measure the reference, of which a trial takes a part."""
    events = {event.kind: event for event in run.all_events()}
    scale, reference, model = (events.get(kind) for kind in (SCORE_SCALE, REFERENCE, "model"))
    if not scale or not reference or not model or not scale.data.get("samples"):
        return 0.0
    samples = RunConfig.scale_samples(model.figures["parameters"] < SMALL_MODEL)
    return (scale.time - reference.time) * (samples / scale.data["samples"] - 1)


def _found(config: RunConfig, run: RunDirectory, device: devices.Device, memory: int, seconds: float) -> dict[str, Any]:
    """What a trial came to: its figures, the estimate that follows from them, and where memory is short what would
    help: `better`, a configuration as plain data."""
    updates, outputs = run.metrics(), run.path.parent
    if device.kind != "cpu":  # what counts is the memory of the device
        peak = max((item.memory_gb or 0.0) * estimates.GB for item in updates)
        memory = int(peak + LIBRARY_BYTES[device.kind])
    update_seconds = updates[-1].seconds_of_phases  # the first one warms up
    learning = sum(update.seconds_of_phases for update in updates)
    trial = Trial(
        config=config.model_dump(mode="json"), at=time.time(), update_seconds=update_seconds, memory_bytes=memory
    )
    write_atomically(outputs / FILE, Trials(trials=(trial, *_remembered(outputs))[:MOST]).model_dump_json())
    estimate = estimates.estimate(config, outputs, device=device, finished=timed(outputs))
    return {
        "state": "done",
        "updates": len(updates),
        "seconds_per_update": update_seconds,
        "seconds_before": max(0.0, seconds + _more_measuring(run) - learning),
        "seconds": estimate.seconds,
        "memory_gb": memory / estimates.GB,
        "free_gb": device.free_bytes / estimates.GB,
        "device": device.name,
        "verdict": estimate.verdict,
        "advice": estimate.advice,
        "better": estimate.better,
    }


def _failed(config: RunConfig, run: RunDirectory, process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Why there was no update, and what would help."""
    status = run.status_on_disk()
    outcome = {"state": "failed", "message": "", "advice": "", "better": None}
    if not run.config_path.is_file() or status.reason == "stopped" or heartbeat.killed_path(run.path).exists():
        return {**outcome, "state": "stopped", "message": ENDED}
    reason, message = status.reason, status.message
    if not status.ended:
        reason, message = exit_reasons.of_death(process.wait(), status, run.path)
    if "worker.log" in message and (lines := run.log_tail().strip().splitlines()):  # which goes with the folder
        message = f"{message.split('.')[0]}. It said: {lines[-1].strip()[:300]}"
    if reason not in MEMORY_REASONS:
        return {**outcome, "message": message}
    advice, better = estimates.remedy(config, run.path.parent)
    if advice in message:
        advice = ""
    return {**outcome, "message": message, "advice": advice, "better": better}


def _remembered(outputs: Path) -> tuple[Trial, ...]:
    remembered = read_record(Path(outputs) / FILE, Trials)
    if remembered:
        return remembered.trials
    return ()
