"""A trained reward model as its folder looks, without any training: for the catalog, the command line and the page."""

import json
from pathlib import Path
from typing import Any

from playground.config import RewardTrainingConfig
from playground.runs.folder.writer import RunWriter
from playground.runs.reward_models import RewardTraining, StepMetrics

REPORT: dict[str, Any] = {"num_pairs": 60, "accuracy": 0.9, "accuracy_low": 0.8, "accuracy_high": 0.95}
REPORT |= {"true_accuracy": 0.95, "loss": 0.3, "margin_mean": 2.0, "score_mean": 0.1, "score_sd": 1.5}
REPORT |= {"margins": {"edges": [-1.0, 0.0, 1.0, 2.0], "counts": [6, 14, 40]}}


def step(number: int, **changes: Any) -> StepMetrics:
    return StepMetrics(
        **{"step": number, "loss": 1 / number, "accuracy": 1 - 0.5 / number, "seconds": number, **changes}
    )


def card_of(config: RewardTrainingConfig) -> dict[str, Any]:
    pairs = {"source": config.pairs.source, "kept": 300, "in_words": "300 of 400 pairs are used."}
    return {
        "format": 1,
        "name": config.name,
        "base": config.base,
        "template": "plain",
        "max_length": 128,
        "accuracy": REPORT["accuracy"],
        "report": REPORT,
        "trained_at": 5.0,
        "pairs": pairs,
    }


def write_finished(training: RewardTraining, config: RewardTrainingConfig, writer: RunWriter) -> None:
    """Two steps, a look at the held-out pairs, and the card."""
    for metrics in (step(1), step(2), step(2, held_out=True, accuracy=0.9)):
        writer.metrics(metrics)
        writer.set_status(update=metrics.step, num_updates=2)
    training.card_path.write_text(json.dumps(card_of(config)), encoding="utf-8")
    writer.finish("finished", message="Right on 90.0% of 60 held-out pairs.")


def finished(outputs: Path, name: str, **changes: Any) -> RewardTraining:
    """A training that has ended well."""
    config = RewardTrainingConfig(name=name, **changes)
    training = RewardTraining(outputs / "reward-models" / name)
    training.control_path.mkdir(parents=True)
    training.config_path.write_text(config.to_yaml(), encoding="utf-8")
    write_finished(training, config, RunWriter(training, 2))
    return training
