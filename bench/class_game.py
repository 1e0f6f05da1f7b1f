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
from playground.runs.standby import StandbyWorker
from playground.runs.supervisor import SupervisorThread
from playground.runs.sweeps import sweep_making, sweep_record
from playground.runs.sweeps.sweep_progress import progress_of
from playground.ui.classroom import game_rewards
from playground.ui.classroom.records import ClassGameRun

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
    sweep = game_rewards.sweep_of(NAME, REWARDS[: arguments.rewards], time.time())
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
    results = game_rewards.results(arguments.outputs, sweep)
    for run in results.runs:
        print(in_words(run), flush=True)
    figures = {
        "processor": processor_name(),
        "runs": arguments.rewards,
        "seconds": round(seconds, 1),
        "processor_seconds_each": round((processor_seconds() - before) / arguments.rewards, 1),
        "best_hack": results.best,
    }
    print(json.dumps(figures))


def processor_seconds() -> float:
    """Of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_words(run: ClassGameRun) -> str:
    """What a reward came to."""
    if not run.paid:
        return f"{run.number} {run.reward} {run.state}"
    clearly = " (clearly)" if run.rose else ""
    return f"{run.number:2d} {run.reward}: paid {run.paid}{clearly}, wanted {run.wanted} ({run.trend}):{run.sample!r}"


if __name__ == "__main__":
    main()
