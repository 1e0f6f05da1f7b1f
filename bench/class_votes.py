"""Measure what a class's votes teach: 40 pairs, one voter who finds the kinder text better and errs in one vote of ten,
a reward model, a policy that it pays, and a blind vote on that by the same voter: `make class-votes`.

The reward model is tested on fresh pairs that the voter's taste tells apart, without errors.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.experiments import PROJECT, Row, options, playground
from bench.results import CPU
from playground.config import ModelReward, yaml_io
from playground.pocket.annotators import kindness
from playground.rewards.agreement import wilson
from playground.runs.folder.directory import RunDirectory
from playground.runs.reward_models import RewardTraining
from playground.setup import catalog
from playground.training.rewards import learned_rewards, pair_trainer
from playground.training.service import pair_drawing
from playground.training.service.subjects import Subjects
from playground.ui.classroom import ballots, judges
from playground.ui.classroom.room import Answer, Step
from playground.ui.classroom.votes import before_and_after

SLIPS = 0.1
FRESH, FRESH_SEED = 150, 10_000
JUDGE = "judge"
Pair = Mapping[str, Any]


def main() -> None:
    """One line for each seed."""
    parser = options(__doc__, outputs=PROJECT / "outputs" / "class-votes")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--voters", type=int, default=1, help="each votes on all pairs")
    parser.add_argument("--judges-only", action="store_true")
    parser.add_argument("--set", action="append", default=[], help="path=value for every run")
    arguments = parser.parse_args()
    subjects = Subjects()
    fresh = [pair for pair in drawn(subjects, FRESH, FRESH_SEED) if difference(pair)]
    for seed in arguments.seeds:
        outputs = arguments.outputs / f"seed{seed}-{time.time_ns() % 10**9}"
        pairs = drawn(subjects, arguments.pairs, seed)
        row = {"seed": seed, **judge_of(pairs, arguments.voters, seed, outputs)}
        row |= accuracy(outputs, fresh)
        if not arguments.judges_only:
            row |= policy_of(seed, outputs, arguments.voters, arguments.set)
        print(json.dumps(row), flush=True)


def drawn(subjects: Subjects, count: int, seed: int) -> list[Pair]:
    """Pairs as the desk has them drawn."""
    question = {"source": "pocket-2m", "count": count, "seed": seed, "sides": ["policy", "policy"]}
    *_, answer = pair_drawing.pairs(subjects, question)
    return list(answer["pairs"])


def difference(pair: Pair) -> float:
    """How much kinder the second text is."""
    return kindness(pair["prompt"], pair["second"]) - kindness(pair["prompt"], pair["first"])


def voted(step: Step, voters: int, seed: int) -> list[Answer]:
    """All votes on a step: the kinder text, but for errors; where both are as kind, that both are as good."""
    luck, answers = random.Random(f"voters {seed}"), []
    for number in range(voters):
        person = f"voter {seed} {number}"
        for pair in ballots.pairs_of(person, step):
            kinder = difference({"prompt": pair.prompt, "second": pair.left, "first": pair.right})
            if luck.random() < SLIPS:
                kinder = -kinder
            choice = "left" if kinder > 0 else "right"
            answers.append(Answer(pair.number, person, choice if kinder else "tie"))
    return answers


def judge_of(pairs: Sequence[Pair], voters: int, seed: int, outputs: Path) -> Row:
    """A reward model trained on the votes."""
    step = Step(1, "vote", ballots.data_of("", pairs, each=len(pairs)), "open", 1)
    rows = ballots.rows(step, ballots.counted(step, voted(step, voters, seed)))
    training = RewardTraining(outputs / catalog.REWARD_MODELS / JUDGE)
    training.path.mkdir(parents=True)
    file = outputs / "votes.jsonl"
    file.write_text(judges.jsonl(rows), encoding="utf-8")
    config = judges.judge_settings(JUDGE, file, len(rows)).model_copy(update={"seed": seed, "device": "cpu"})
    processor = time.process_time()
    card = pair_trainer.train(config, training)
    seconds = time.process_time() - processor
    return {
        "rows": len(rows),
        "own_held_out": round(card["accuracy"], 2),
        "judge_processor_seconds": round(seconds, 1),
    }


def accuracy(outputs: Path, pairs: Sequence[Pair]) -> Row:
    """How often it is right on fresh pairs."""
    reward = learned_rewards.builder(CPU, outputs)(ModelReward(source=JUDGE))
    prompts = [pair["prompt"] for pair in pairs]
    first, second = (reward(prompts, [pair[side] for pair in pairs]) for side in ("first", "second"))
    gaps = [(late or 0) - (early or 0) for early, late in zip(first, second, strict=True)]
    right = fmean(gap * difference(pair) > 0 for gap, pair in zip(gaps, pairs, strict=True))
    interval = [round(bound, 3) for bound in wilson(right, len(pairs))]
    return {"accuracy": round(right, 3), "interval": interval, "fresh": len(pairs)}


def policy_of(seed: int, outputs: Path, voters: int, overrides: Sequence[str]) -> Row:
    """A policy that the reward model has paid, before the same voter who does not know which text is which."""
    preset = catalog.preset(judges.POLICY_PRESET)
    config = yaml_io.from_dict({**judges.policy_settings(preset, JUDGE), "seed": seed})
    file = outputs / "policy.yaml"
    file.write_text(config.to_yaml(), encoding="utf-8")
    changes = [word for override in overrides for word in ("--set", override)]
    clock = time.perf_counter()
    playground("train", file, "--outputs", outputs, "--run-id", "policy", *changes, "--json")
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
