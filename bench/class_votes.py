"""Measure what a class's votes teach: 40 pairs, one voter who finds the kinder text better and errs in one vote of ten,
a reward model, a policy that it pays, and a blind vote on that by the same voter.

The reward model is tested on fresh pairs that the voter's taste tells apart, without errors.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

import torch  # noqa: E402

from playground.config import ModelReward, yaml_io  # noqa: E402
from playground.pocket.annotators import kindness  # noqa: E402
from playground.rewards.agreement import wilson  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.runs.reward_models import RewardTraining  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.rewards import learned_rewards, pair_trainer  # noqa: E402
from playground.training.service import pair_drawing  # noqa: E402
from playground.training.service.subjects import Subjects  # noqa: E402
from playground.ui.classroom import ballots, judges  # noqa: E402
from playground.ui.classroom.room import Answer, Step  # noqa: E402
from playground.ui.classroom.votes import before_and_after  # noqa: E402

SLIPS = 0.1
FRESH, FRESH_SEED = 150, 10_000


def main() -> None:
    """One line for each seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--voters", type=int, default=1, help="each votes on all pairs")
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "class-votes")
    parser.add_argument("--judges-only", action="store_true")
    parser.add_argument("--set", action="append", default=[], help="path=value for every run")
    asked = parser.parse_args()
    subjects = Subjects()
    fresh = drawn(subjects, FRESH, FRESH_SEED)
    for seed in asked.seeds:
        outputs = asked.outputs / f"seed{seed}-{time.time_ns() % 10**9}"
        pairs = drawn(subjects, asked.pairs, seed)
        row: dict[str, Any] = {"seed": seed, **judge_of(pairs, asked.voters, seed, outputs, fresh)}
        if not asked.judges_only:
            row |= policy_of(seed, outputs, asked.voters, asked.set)
        print(json.dumps(row), flush=True)


def drawn(subjects: Subjects, count: int, seed: int) -> list[dict[str, Any]]:
    """Pairs as the desk has them drawn."""
    question = {"source": "pocket-2m", "count": count, "seed": seed, "sides": ["policy", "policy"]}
    *_, found = pair_drawing.pairs(subjects, question)
    return list(found["pairs"])


def difference(pair: Mapping[str, Any]) -> float:
    """How much kinder the second text is."""
    return kindness(pair["prompt"], pair["second"]) - kindness(pair["prompt"], pair["first"])


def voted(step: Step, voters: int, seed: int) -> list[Answer]:
    """All votes on a step: the kinder text, but for errors; where both are as kind, that both are as good."""
    luck, votes = random.Random(f"voters {seed}"), []
    for number in range(voters):
        person = f"voter {seed} {number}"
        for pair in ballots.pairs_of(person, step):
            left = difference({"prompt": pair.prompt, "second": pair.left, "first": pair.right})
            if luck.random() < SLIPS:
                left = -left
            votes.append(Answer(pair.number, person, "tie" if not left else "left" if left > 0 else "right"))
    return votes


def judge_of(
    pairs: list[dict[str, Any]], voters: int, seed: int, outputs: Path, fresh: list[dict[str, Any]]
) -> dict[str, Any]:
    """A reward model trained on the votes, and how often it is right."""
    step = Step(1, "vote", ballots.data_of("", pairs, each=len(pairs)), "open", 1)
    rows = ballots.rows(step, ballots.counted(step, voted(step, voters, seed)))
    training = RewardTraining(outputs / catalog.REWARD_MODELS / "judge")
    training.path.mkdir(parents=True)
    file = outputs / "votes.jsonl"
    file.write_text(judges.jsonl(rows))
    config = judges.judge_settings("judge", file, len(rows)).model_copy(update={"seed": seed, "device": "cpu"})
    processor = time.process_time()
    card = pair_trainer.train(config, training)
    seconds = time.process_time() - processor
    reward = learned_rewards.builder(torch.device("cpu"), outputs)(ModelReward(source="judge"))
    told = [pair for pair in fresh if difference(pair)]
    first, second = (
        reward([pair["prompt"] for pair in told], [pair[side] for pair in told]) for side in ("first", "second")
    )
    right = fmean(
        ((two or 0) - (one or 0)) * difference(pair) > 0 for one, two, pair in zip(first, second, told, strict=True)
    )
    low, high = wilson(right, len(told))
    return {
        "rows": len(rows),
        "accuracy": round(right, 3),
        "interval": [round(low, 3), round(high, 3)],
        "fresh": len(told),
        "own_held_out": round(card["accuracy"], 2),
        "judge_processor_seconds": round(seconds, 1),
    }


def policy_of(seed: int, outputs: Path, voters: int, overrides: list[str]) -> dict[str, Any]:
    """A policy that the reward model has paid, before the same voter who does not know which text is which."""
    preset = catalog.preset(judges.POLICY_PRESET)
    config = yaml_io.from_dict({**judges.policy_settings(preset, "judge"), "seed": seed})
    file = outputs / "policy.yaml"
    file.write_text(config.to_yaml())
    command = [sys.executable, "-m", "playground", "train", str(file), "--outputs", str(outputs), "--run-id", "policy"]
    sets = [part for override in overrides for part in ("--set", override)]
    clock = time.perf_counter()
    subprocess.run([*command, *sets, "--json"], cwd=PROJECT, check=True, stdout=subprocess.DEVNULL)
    run = RunDirectory.open(outputs / "policy")
    pairs = before_and_after(run)
    step = Step(2, "vote", ballots.data_of("", pairs, sides=ballots.BEFORE_AFTER, each=len(pairs)), "open", 1)
    rate = ballots.win_rate(step, voted(step, voters, seed + 1000))
    after = [sample for sample in run.samples() if sample.stage == "after"]
    return {
        "win_rate": round(rate.mean, 3),
        "win_interval": [round(bound, 3) for bound in rate.share_bounds or ()],
        "win_pairs": len(pairs),
        "kl": round(fmean(sample.kl or 0.0 for sample in after), 2),
        "seconds": round(time.perf_counter() - clock, 1),
        "texts": [sample.completion for sample in after[:3]],
    }


if __name__ == "__main__":
    main()
