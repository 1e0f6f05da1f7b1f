"""A rank of a run that is not rank 0: `python -m playground.training.process.helper`, with RANK in the environment.

It holds models, scorer and trainer as rank 0 does, and no run directory: rank 0 tells it the configuration, then what
to do, step by step, until it is told that this was all. family.py starts it, or a launcher does.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playground.config import RunConfig
from playground.errors import LESS_MEMORY
from playground.safety import redaction
from playground.training.process import family, job
from playground.training.process.ending import StopRequested
from playground.training.ranks.leaving import OtherLeft, OtherLost

if TYPE_CHECKING:
    from playground.training.process.equipment import Equipment
    from playground.training.ranks.ranks import Ranks

FAILED = 1


def main() -> int:
    """Help until there is no more to do. Exit code: 0, also where the ranks have left for a reason that was told."""
    redaction.cover_streams()
    _end_with_rank_0()
    place = family.launched()
    if place is None or place.rank == 0:
        print("A helper is started by a worker, or by a launcher such as torchrun.")
        return job.UNUSABLE
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))  # of a launcher that ends all ranks

    def waiting() -> None:
        if asked:
            raise StopRequested

    def between() -> None:
        waiting()
        ranks.between()

    try:
        ranks = family.connected(place, waiting, lambda error: family.reason_of(error, lambda: LESS_MEMORY))
        with ranks.leaving_together():
            told = ranks.first()
            help_with(RunConfig.model_validate(told["config"]), Path(told["outputs"]), ranks, between)
        family.disconnect()
    except (OtherLeft, StopRequested):
        return 0
    except OtherLost:
        return FAILED
    except BaseException as error:  # told to rank 0, which says it to the person; here the story goes into the log
        traceback.print_exc()
        return 0 if isinstance(error, Exception) else FAILED
    return 0


def help_with(config: RunConfig, outputs: Path, ranks: Ranks, between: Callable[[], None]) -> Equipment:
    """Do what rank 0 tells, until it tells of the end."""
    from playground.training.loop import slow_motion
    from playground.training.loop.trainer import PPOTrainer
    from playground.training.process.equipment import COMPARE, LOOK, SCALE, STATE, UPDATE, Equipment
    from playground.training.process.session import prepare

    mine = Equipment(config, outputs, ranks, between, prepare)

    def update(told: dict[str, Any]) -> None:
        for changed, fields in told["changes"]:
            mine.trainer.change(RunConfig.model_validate(changed), fields)
        slow_motion.look_on(mine.trainer, asked=told["trace"])
        assert isinstance(mine.trainer, PPOTrainer), "`RunConfig` allows no other with several ranks"
        mine.trainer.update()

    steps: dict[str, Callable[[dict[str, Any]], object]] = {
        SCALE: lambda told: mine.fit_scale(told["samples"]),
        STATE: lambda told: mine.share_state(),
        LOOK: lambda told: mine.looked(told["stage"]),
        UPDATE: update,
        COMPARE: lambda told: mine.compare_ranks(),
    }
    while told := ranks.first():
        steps[told["do"]](told)
    return mine


def _end_with_rank_0() -> None:
    """A thread that ends this process when rank 0 is gone, whatever the main thread waits for."""
    descriptor = os.environ.pop(family.LIFELINE_VARIABLE, "")
    if descriptor:
        os.set_inheritable(int(descriptor), False)
        threading.Thread(target=functools.partial(_wait, int(descriptor)), daemon=True).start()


def _wait(descriptor: int) -> None:
    with contextlib.suppress(OSError):
        os.read(descriptor, 1)
    os._exit(FAILED)


if __name__ == "__main__":
    job.be(main)
