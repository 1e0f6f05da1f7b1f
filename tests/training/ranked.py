"""Runs of a tiny model that two processes compute: `python -m tests.training.ranked RANK STORE FOLDER` is one of them.

Each case of `CASES` is trained to its end by both; rank 0 writes a run directory, and both write the weights that they
end with. For tests of what the ranks learn; how a worker starts and ends its helpers is tested with real workers.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch.distributed as dist
from safetensors.torch import save_file

from playground.config import RunConfig
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.training.loop.ranks import ALONE, Ranks
from playground.training.process import rank_processes
from playground.training.process.equipment import Equipment
from playground.training.process.rank_processes import Member
from playground.training.process.session import Session
from tests.faults import resuming

GROUPS = {"method": "grpo", "ppo__samples_per_prompt": 2, "ppo__minibatch_size": 4}
CASES: dict[str, dict[str, Any]] = {
    "texts of different lengths": {"sampling__max_new_tokens": 24, "ppo__learning_rate": 3e-4, "evaluation__traces": 1},
    "llama": {},
    "adaptive KL penalty": {"kl": {"controller": "adaptive", "coef": 0.3, "target": 0.5}},
    "separate critic": {"model__critic": "separate"},
    "LoRA": {"model__adapter": {"kind": "lora", "r": 2, "alpha": 4}},
    "groups, top k": {**GROUPS, "sampling__top_k": 5},
    "reward model": {"rewards": [{"kind": "model", "source": "pocket-honest"}, {"kind": "length"}]},
}  # fmt: skip


def config_of(folder: Path, case: str) -> RunConfig:
    model = "pocket-1m" if "lengths" in case else folder / "llama"
    return resuming.config(model, **CASES[case])


def trained_alone(folder: Path, case: str) -> Session:
    run = RunDirectory.create(folder / "alone", config_of(folder, case), slug(case))
    return trained(run, ALONE)


def trained(run: RunDirectory, ranks: Ranks) -> Session:
    made = run.config()
    writer = RunWriter(run, made.ppo.num_updates, run.status().attempt)
    session = Session(run, made, writer, lambda: None, ranks)
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
    ranks = rank_processes.connected(Member(rank, 2, "cpu", store))
    for case in CASES:
        if rank:
            mine: Equipment = rank_processes.help_with(config_of(folder, case), folder / "two", ranks)
        else:
            mine = trained(RunDirectory.create(folder / "two", config_of(folder, case), slug(case)), ranks)
        save_file(weights_of(mine), folder / f"{slug(case)}-{rank}.safetensors")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
    dist.destroy_process_group()
