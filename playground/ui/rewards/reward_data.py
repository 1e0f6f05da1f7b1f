"""What the panel "Train a reward model" shows, read from disk: which there are, and one of them in full.

Plain data; knows the trainings' folders and nothing of gradio. `routes` serves it to static/rewards/training.js.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playground import redaction
from playground.config import RewardTrainingConfig, yaml_io
from playground.errors import InvalidConfig, PlaygroundError, RunExists
from playground.runs import launcher, reward_models
from playground.runs.reward_models import RewardTraining
from playground.setup import catalog, checks, limits
from playground.setup.limits import LIMITS, Limits

MAX_POINTS = 400  # of a curve; more cannot be seen
LOG_BYTES = 4000


def overview(outputs: Path) -> dict[str, Any]:
    """All reward models, the newest first; the one in training, and whether a PPO run is on beside it."""
    living = reward_models.living(outputs)
    busy = next(iter(launcher.living_runs(outputs)), None)
    return {
        "living": living.id if living else None,
        "run": busy.id if busy else None,
        "models": [_row(item) for item in reward_models.trainings(outputs)],
    }


def _row(training: RewardTraining) -> dict[str, Any]:
    status, card = training.status(), training.card()
    return {
        "name": training.id,
        "state": status.state,
        "started_at": status.started_at,
        "accuracy": card["accuracy"] if card else None,
    }


def detail(outputs: Path, name: str, *, with_log: bool = False) -> dict[str, Any]:
    """One training: what was asked for, where it is, its curve, and its report once there is one.

    Args:
        with_log: whether who asks may read logs, which can name folders of the machine.

    Raises:
        RunNotFound: there is none of that name. InvalidConfig: its config.yaml is damaged.
    """
    training = reward_models.find(outputs, name)
    config, status = training.config(), training.status()
    steps = training.steps()
    failed = status.state in ("failed", "interrupted")
    return {
        "name": training.id,
        "pairs": _last_part(config.pairs.source),
        "base": _last_part(config.base),
        "settings": _settings(config.model_dump(mode="json")),
        "state": status.state,
        "phase": status.phase,
        "message": redaction.without_folders(status.message),
        "step": status.update,
        "num_steps": status.num_updates,
        "seconds": round(status.seconds_at_work(), 1),
        "ended": status.ended,
        "training": _curve([item for item in steps if not item.held_out]),
        "held_out": _curve([item for item in steps if item.held_out]),
        "card": _card(training),
        "log": training.log_tail(LOG_BYTES) if failed and with_log else "",
    }


def _last_part(source: str) -> str:
    """Of a path of this machine its last part; any other name as it is."""
    return Path(source).name if Path(source).is_absolute() else source


def _settings(config: dict[str, Any]) -> str:
    """The settings that matter for reading a report, in one line."""
    pairs = config["pairs"]
    length = f"{config['max_steps']} steps" if config["max_steps"] else f"{config['epochs']:g} epochs"
    answer = [f"{pairs['limit']} pairs", length]
    if pairs["source"] in [item.name for item in catalog.ANNOTATORS]:
        answer += [f"{100 * pairs['flip']:.0f} % wrong answers"] if pairs["flip"] else []
        answer += [f"sharpness {pairs['sharpness']:g}"] if pairs["sharpness"] else []
    return ", ".join([*answer, f"seed {config['seed']}"])


def _curve(steps: list[reward_models.StepMetrics]) -> dict[str, list[Any]]:
    every = max(1, -(-len(steps) // MAX_POINTS))
    kept = [item for index, item in enumerate(steps) if index % every == 0 or index == len(steps) - 1]
    return {
        "step": [item.step for item in kept],
        "loss": [item.loss for item in kept],
        "accuracy": [item.accuracy for item in kept],
    }


def _card(training: RewardTraining) -> dict[str, Any] | None:
    card = training.card()
    if card is None:
        return None
    return {
        **{name: card.get(name) for name in ("name", "template", "max_length", "report")},
        "base": _last_part(str(card.get("base", ""))),
        "counts": card["pairs"]["in_words"],
    }


def started(data: Any, outputs: Path, replace: bool, capped: Limits = LIMITS["local"]) -> dict[str, Any]:
    """Start a training from the panel's flat values ({"pairs.limit": 400, ...}): its name, or what is wrong.

    `exists`: there is a reward model of that name, and the person has to confirm that it is replaced.
    """
    nested: dict[str, Any] = {}
    for field, value in data.items() if isinstance(data, dict) else ():
        group, _, last = str(field).rpartition(".")
        (nested.setdefault(group, {}) if group else nested)[last] = None if value == "" and field != "name" else value
    exists = False
    try:
        config = yaml_io.validated(nested, RewardTrainingConfig)
        if beyond := limits.check_reward_training(config, capped):
            raise InvalidConfig(beyond)
        checks.check_reward_training(config)
        checks.require_in_reach(config)
        training, _ = reward_models.start(config, outputs, replace)
        return {"name": training.id, "exists": False, "problems": []}
    except InvalidConfig as error:
        problems = [item._asdict() for item in error.problems]
    except PlaygroundError as error:
        exists = isinstance(error, RunExists)
        problems = [{"field": "name" if exists else "", "message": str(error)}]
    return {"name": None, "exists": exists, "problems": problems}
