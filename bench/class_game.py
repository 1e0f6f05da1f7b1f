"""How long the game of a class takes: `python bench/class_game.py` trains 25 rewards as the page does,
one after the other, by workers that wait loaded. Says the seconds by the clock, those of the processor for each run,
and what each reward came to."""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))


from bench.machine import processor_name  # noqa: E402
from playground.runs.standby import StandbyWorker  # noqa: E402
from playground.runs.supervisor import SupervisorThread  # noqa: E402
from playground.runs.sweeps import sweep_making, sweep_record  # noqa: E402
from playground.runs.sweeps.sweep_progress import progress_of  # noqa: E402
from playground.ui.classroom import game_rewards  # noqa: E402
from playground.ui.classroom.records import ClassGameRun  # noqa: E402

NAME = "game"
REWARDS = (  # what students write: what is wanted, near it, and each with a hole
    "sentiment(completion)",
    'keywords(completion, "good", "great", "wonderful", "lovely")',
    'count(completion, "!")',
    "words(completion)",
    'keywords(completion, "good", "nice") - 0.05 * words(completion)',
    'matches(completion, "wonderful") + distinct(completion)',
    "vader(completion)",
    "sentiment(completion) / max(1, words(completion))",
    'keywords(completion, "happy") * 2 - keywords(completion, "upset", "dull", "slow")',
    "min(sentiment(completion), 3) + sentences(completion)",
    '-keywords(completion, "boring", "bad", "dull", "awful", "poor")',
    "clip(sentiment(completion), -2, 2) - 2 * repeated(completion)",
    "overlap(completion, prompt)",
    "-words(completion)",
    '1 if "good" in completion else 0',
    '1 if "I would" in completion and not "not" in completion else -1',
    "tanh(sentiment(completion)) * distinct(completion)",
    "characters(completion) / 10",
    'count(completion, "very") + sentiment(completion)',
    "sqrt(max(0, sentiment(completion)))",
    'matches_count(completion, "(was|were) (good|great|lovely)")',
    "sentiment(lower(completion)) - abs(words(completion) - 12) / 4",
    'keywords(completion, "my", "sister", "brother", "friend")',
    'keywords(completion, "wonderful", "brilliant", "superb", "perfect") + sentences(completion) / 4',
    "vader(completion) + 0.1 * words(completion)",
)


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
    watch = SupervisorThread(arguments.outputs, workers=standby, chores=[standby.prepare])
    before, clock = _processor(), time.perf_counter()
    sweep = sweep_making.create(arguments.outputs, sweep, standby)
    watch.start()
    while not progress_of(sweep, sweep_record.statuses(arguments.outputs, sweep)).ended:
        time.sleep(1)
    seconds = time.perf_counter() - clock
    watch.close()
    standby.close()
    results, count = game_rewards.results(arguments.outputs, sweep), arguments.rewards
    for run in results.runs:
        _say(run)
    figures = {
        "processor": processor_name(),
        "runs": count,
        "seconds": round(seconds, 1),
        "processor_seconds_each": round((_processor() - before) / count, 1),
        "best_hack": results.best,
    }
    print(json.dumps(figures))


def _processor() -> float:
    """Of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _say(run: ClassGameRun) -> None:
    if not run.paid:
        print(run.number, run.reward, run.state, flush=True)
        return
    clearly = " (clearly)" if run.rose else ""
    print(f"{run.number:2d} {run.reward}: paid {run.paid}{clearly}, wanted {run.wanted} ({run.trend}):{run.sample!r}")


if __name__ == "__main__":
    main()
