"""How long the game of a class takes: `make class-game` trains 25 rewards as the page does, one after the other, by
workers that wait loaded. Says the seconds by the clock, those of the processor for each run, and what each reward came
to."""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import time
from pathlib import Path

from bench.experiments import PROJECT, processor_name
from playground.classroom import game
from playground.runs.standby import StandbyWorker
from playground.runs.supervisor import SupervisorThread
from playground.runs.sweeps import sweep_making, sweep_record
from playground.runs.sweeps.sweep_progress import progress_of

NAME = "game"
REWARDS = (PROJECT / "bench" / "pages" / "class-rewards.txt").read_text(encoding="utf-8").splitlines()


def main() -> None:
    """Train them, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rewards", type=int, default=len(REWARDS))
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "class_game")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.outputs, ignore_errors=True)
    arguments.outputs.mkdir(parents=True)
    sweep = game.sweep_of(NAME, REWARDS[: arguments.rewards], time.time())
    standby = StandbyWorker()
    standby.prepare()
    supervisor = SupervisorThread(arguments.outputs, workers=standby, chores=[standby.prepare])
    before, clock = processor_seconds(), time.perf_counter()
    sweep = sweep_making.create(arguments.outputs, sweep, standby)
    supervisor.start()
    while not progress_of(sweep, sweep_record.statuses(arguments.outputs, sweep)).ended:
        time.sleep(1)
    seconds = time.perf_counter() - clock
    supervisor.close()
    standby.close()
    results = game.results(arguments.outputs, sweep)
    for result in results:
        print(in_words(result), flush=True)
    best = game.best_hack(results)
    figures = {
        "processor": processor_name(),
        "runs": arguments.rewards,
        "seconds": round(seconds, 1),
        "processor_seconds_each": round((processor_seconds() - before) / arguments.rewards, 1),
        "best_hack": best and best.number,
    }
    print(json.dumps(figures))


def processor_seconds() -> float:
    """Of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_words(result: game.Result) -> str:
    """What a reward came to."""
    ends = result.ends
    if ends is None:
        return f"{result.number} {result.reward} {result.state}"
    counts, (before, after) = ends.wanted, ends.paid
    paid = f"paid {before:.2f} -> {after:.2f}{' (clearly)' if ends.rose else ''}"
    liked = f"wanted {counts.before.yes} -> {counts.after.yes} of {counts.after.of} ({counts.change:+d})"
    return f"{result.number:2d} {result.reward}: {paid}, {liked}:{ends.text!r}"


if __name__ == "__main__":
    main()
