"""A trained reward model as its folder looks, without any training: for the catalog, the command line and the page."""

import json

from playground.config import RewardTrainingConfig
from playground.runs.folder.writer import RunWriter
from playground.runs.reward_models import RewardTraining, StepMetrics
from tests.support import data_beside

CARD = data_beside(__file__, "reward_card.json")
REPORT = CARD["report"]


def step(number, **changes):
    return StepMetrics(
        **{"step": number, "loss": 1 / number, "accuracy": 1 - 0.5 / number, "seconds": number, **changes}
    )


def card_of(config):
    pairs = {**CARD["pairs"], "source": config.pairs.source}
    return {**CARD, "name": config.name, "base": config.base, "pairs": pairs}


def write_finished(training, config, writer):
    """Two steps, a look at the held-out pairs, and the card."""
    for metrics in (step(1), step(2), step(2, held_out=True, accuracy=0.9)):
        writer.metrics(metrics)
        writer.set_status(update=metrics.step, num_updates=2)
    training.card_path.write_text(json.dumps(card_of(config)), encoding="utf-8")
    writer.finish("finished", message="Right on 90.0% of 60 held-out pairs.")


def finished(outputs, name, **changes):
    config = RewardTrainingConfig(name=name, **changes)
    training = RewardTraining(outputs / "reward-models" / name)
    training.control_path.mkdir(parents=True)
    training.config_path.write_text(config.to_yaml(), encoding="utf-8")
    write_finished(training, config, RunWriter(training, 2))
    return training
