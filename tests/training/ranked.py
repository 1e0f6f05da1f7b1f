"""Runs of a tiny model that two processes compute: `python -m tests.training.ranked RANK STORE FOLDER` is one of them.

Each case of `CASES` is trained to its end by both; rank 0 writes a run directory, and both write the weights that they
end with. For tests of what the ranks learn; how a worker starts and ends its helpers is tested with real workers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors.torch import save_file

from playground.config import RunConfig
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.process import family, helper
from playground.training.process.equipment import Equipment
from playground.training.process.family import Place
from playground.training.process.session import Session
from playground.training.ranks.leaving import OtherLeft
from playground.training.ranks.many import ManyRanks
from playground.training.ranks.ranks import ALONE, Ranks
from tests.faults import resuming

GROUPS = {"method": "grpo", "ppo__samples_per_prompt": 2, "ppo__minibatch_size": 4}
CASES: dict[str, dict[str, Any]] = {
    "texts of different lengths": {"sampling__max_new_tokens": 24, "ppo__learning_rate": 3e-4, "evaluation__traces": 1},
    "llama": {},
    "gpt2": {},
    "adaptive leash": {"kl": {"controller": "adaptive", "coef": 0.3, "target": 0.5}},
    "separate critic": {"model__critic": "separate"},
    "LoRA": {"model__adapter": {"kind": "lora", "r": 2, "alpha": 4}},
    "groups, top k": {**GROUPS, "sampling__top_k": 5},
    "reward model": {"rewards": [{"kind": "model", "source": "pocket-honest"}, {"kind": "length"}]},
    "one step an update": {"ppo__num_epochs": 1, "ppo__minibatch_size": 4},
}  # fmt: skip


def config_of(folder: Path, case: str) -> RunConfig:
    model = "pocket-1m" if "lengths" in case else folder / ("gpt2" if case == "gpt2" else "llama")
    return resuming.config(model, **CASES[case])


def trained_alone(folder: Path, case: str) -> Session:
    run = RunDirectory.create(folder / "alone", config_of(folder, case), slug(case))
    return trained(run, ALONE)


def trained(run: RunDirectory, ranks: Ranks) -> Session:
    made = run.config()
    writer = RunWriter(run, made.ppo.num_updates, run.status().attempt)
    session = Session(run, made, writer, ranks.between, ranks)
    session.begin()
    session.evaluate_if_due()
    session.train()
    ranks.first()
    writer.finish("finished")
    return session


def slug(case: str) -> str:
    return case.lower().replace(", ", "-").replace(" ", "-")


def weights_of(mine: Equipment) -> dict[str, Any]:
    assert hasattr(mine.trainer, "trained")
    return {name: weight.detach().clone() for name, weight in mine.trainer.trained().items()}


def main(rank: int, store: str, folder: Path) -> None:
    first = family.connected(Place(rank, 2, "cpu", store), lambda: None, lambda error: {})
    for case in CASES:
        ranks = ManyRanks(dist.PrefixStore(case, first._store), rank, 2, first.device, lambda error: {})
        if rank:
            mine: Equipment = helper.help_with(config_of(folder, case), folder / "two", ranks, ranks.between)
        else:
            mine = trained(RunDirectory.create(folder / "two", config_of(folder, case), slug(case)), ranks)
        save_file(weights_of(mine), folder / f"{slug(case)}-{rank}.safetensors")
    for who in range(2):
        store_of_case = dist.PrefixStore(f"leaves {who}", first._store)
        told = left(ManyRanks(store_of_case, rank, 2, first.device, explained), folder, who)
        (folder / f"left-{who}-{rank}.json").write_text(json.dumps(told), encoding="utf-8")


def explained(error: BaseException) -> dict[str, str]:
    return {"reason": type(error).__name__, "message": str(error)}


def left(ranks: ManyRanks, folder: Path, who: int) -> dict[str, Any]:
    """What a rank finds where rank `who` fails in the middle of the third update."""
    mine = Equipment(config_of(folder, "llama"), folder / "two", ranks, lambda: fail())

    def fail() -> None:
        if ranks.rank == who and mine.trainer.updates_done == 2:
            raise MemoryError("no room")
        ranks.between()

    before: dict[str, Any] = {}
    try:
        with ranks.leaving_together():
            mine.share_state()
            mine.fit_scale()
            while True:
                before = weights_of(mine)
                mine.trainer.update()
    except MemoryError as error:
        return {"raised": str(error)}
    except OtherLeft as error:
        after = weights_of(mine)
        return {"told": error.told, "unchanged": all(torch.equal(before[name], after[name]) for name in after)}


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    family.disconnect()
