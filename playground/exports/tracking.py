"""The process that sends a run to one tracker while it trains: `python -m playground.exports.tracking RUN NAME`.

The launcher starts it beside the worker, which does not know of it: a tracker that is slow or hangs costs the run
nothing. It reads the run's folder, sends each update once over all attempts, and leaves when the run has ended. Where
the tracker fails, the run is given one sentence about it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
import traceback
from pathlib import Path

from playground import redaction
from playground.analysis.run_report import RunReport
from playground.errors import RunBusy
from playground.exports import trackers
from playground.runs import launcher
from playground.runs.children import TRACKERS
from playground.runs.folder import changes, requests, writer
from playground.runs.folder.directory import RunDirectory

LOOK_SECONDS = 1.0
READING_SHARE = 20  # times as long as the records took to read, between two looks
POLITENESS = 10  # of the process, so that training comes first


def follow(run: RunDirectory, name: str) -> None:
    """Send a run to a tracker until it has ended. Raises: whatever the tracker does; InvalidConfig, OSError."""
    with open(run.path / TRACKERS / f"{name}.sent", "a+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # that of an earlier attempt may still be at work
        file.seek(0)
        sent = int((file.read().split() or ["-1"])[-1])  # the last update that it has got
        folder = trackers.default_folder(run.path.parent, run.id, name)
        tracker = trackers.TRACKERS[name](RunReport.of(run), folder, requests.of(run).key or run.id)
        seen, pause = None, LOOK_SECONDS
        while True:
            status = run.status()
            if seen != (status.update, status.ended):
                seen, began = (status.update, status.ended), time.monotonic()
                report = RunReport.of(run)
                found = whole_steps(report, status.ended)
                pause = max(LOOK_SECONDS, READING_SHARE * (time.monotonic() - began))
                for update in filter(lambda update: update > sent, found):
                    tracker.log(report, update, found[update])
                    sent = update
                    print(sent, file=file, flush=True)
                if status.ended:
                    tracker.end(report)
                    return
            time.sleep(pause)


def whole_steps(report: RunReport, ended: bool) -> dict[int, dict[str, float]]:
    """The updates of which nothing more is to come: an evaluation follows the figures of its update."""
    found = trackers.steps(report)
    newest, config = max(found, default=0), report.config
    may_be_evaluated = newest % config.evaluation.every == 0 or config.stop.kl is not None
    if not ended and (may_be_evaluated or newest == config.ppo.num_updates):
        found.pop(newest, None)
    return found


def say(run: RunDirectory, sentence: str) -> None:
    """Have a warning among the messages of a run: its worker writes it down at the next update; if it has ended, we."""
    path = changes.request_warning(run, sentence)
    while path.exists():
        if run.status().ended:
            with contextlib.suppress(RunBusy), launcher.at_rest(run):
                writer.record(run, run.status_on_disk(), "warning", sentence)
                path.unlink(missing_ok=True)
        time.sleep(LOOK_SECONDS)


def main(folder: str, name: str) -> None:
    """See the module."""
    redaction.cover_streams()
    run = RunDirectory(Path(folder))
    try:
        follow(run, name)
    except Exception as error:  # of a library that is not ours, or the run is gone
        traceback.print_exc()
        why = redaction.redact(str(error).strip().partition("\n")[0] or type(error).__name__).rstrip(".")
        afterwards = f"`python -m playground export {run.id} --as {name}` hands all of it over afterwards."
        with contextlib.suppress(OSError):
            say(run, f"Sending this run to {name} has failed: {why}. The run goes on without it; {afterwards}")


if __name__ == "__main__":
    os.nice(POLITENESS)
    main(*sys.argv[1:])
