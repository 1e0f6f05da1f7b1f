"""A rank of a run that is not rank 0: `python -m playground.training.process.helper`, with RANK in the environment.

It holds models, scorer and trainer as rank 0 does, and no run directory: rank 0 tells it the configuration, then what
to do, step by step, until it is told that this was all. family.py starts it, or a launcher does.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playground.config import RunConfig
from playground.errors import LESS_MEMORY
from playground.safety import redaction
from playground.training.process import family, job
from playground.training.process.ending import diagnosis

if TYPE_CHECKING:
    from playground.training.process.equipment import Equipment
    from playground.training.ranks.ranks import Ranks

FAILED = 1


def main() -> int:
    """Help until there is no more to do. Exit code: 0 then, else 1."""
    redaction.cover_streams()
    place = family.launched()
    if place is None or place.rank == 0:
        print("A helper is started by a worker, or by a launcher such as torchrun.")
        return job.UNUSABLE
    if place.store:
        threading.Thread(target=_end_with_rank_0, daemon=True).start()
    import torch.distributed as dist

    from playground.training.ranks.ranks import OtherLost

    ranks = family.connected(place)
    try:
        told = ranks.first()
        help_with(RunConfig.model_validate(told["config"]), Path(told["outputs"]), ranks)
        dist.destroy_process_group()  # the interpreter's end may abort where its threads still run
        return 0
    except OtherLost:
        return FAILED
    except BaseException as error:  # told to rank 0, which says it to the person; here the story goes into the log
        traceback.print_exc()
        with contextlib.suppress(RuntimeError):
            why = [place.rank, *diagnosis(error, lambda: LESS_MEMORY)]
            assert ranks.store is not None, "they are several"
            ranks.store.set(family.FAILURE, json.dumps(why))
        return FAILED


def help_with(config: RunConfig, outputs: Path, ranks: Ranks, between: Callable[[], None] = lambda: None) -> Equipment:
    """Do what rank 0 tells, until it tells of the end."""
    from playground.training.loop import slow_motion
    from playground.training.loop.trainer import PPOTrainer
    from playground.training.process.equipment import COMPARE, EVALUATE, SCALE, STATE, UPDATE, Equipment
    from playground.training.process.session import prepare

    mine = Equipment(config, outputs, ranks, between, prepare)

    def update(told: dict[str, Any]) -> None:
        for changed, fields in told["changes"]:
            mine.trainer.change(RunConfig.model_validate(changed), fields)
        slow_motion.record_if_due(mine.trainer, asked=told["trace"])
        assert isinstance(mine.trainer, PPOTrainer), "`RunConfig` allows no other with several ranks"
        mine.trainer.update()

    steps: dict[str, Callable[[dict[str, Any]], object]] = {
        SCALE: lambda told: mine.fit_scale(told["samples"]),
        STATE: lambda told: mine.share_state(),
        EVALUATE: lambda told: mine.evaluate(told["stage"]),
        UPDATE: update,
        COMPARE: lambda told: mine.compare_ranks(),
    }
    while told := ranks.first():
        steps[told["do"]](told)
    return mine


def _end_with_rank_0() -> None:
    """Rank 0 holds the other end of stdin and never writes to it: it is at its end when rank 0 is gone, whatever the
    main thread waits for."""
    os.read(0, 1)
    os._exit(FAILED)


if __name__ == "__main__":
    job.be(main)
