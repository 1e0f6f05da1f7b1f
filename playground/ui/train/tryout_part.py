"""The check before a start on the Train page: the model, the prompts as tokens, eight completions and their scores,
one trial update. The same as `python -m playground try`.

The work is done by `runs.preflight` and `runs.trial`; static/train/tryout.js draws. `train_page` asks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from playground.config import RunConfig, yaml_io
from playground.errors import PlaygroundError
from playground.runs import preflight, trial
from playground.runs.model_service import ModelService
from playground.ui.train import form, reward_form

Read = Callable[[], RunConfig]


def looked_at(part: str, read: Read, outputs: Path, service: ModelService) -> Iterator[dict[str, Any]]:
    """What static/train/tryout.js shows of one of the first three parts: `asking`, then `done` or `error`."""
    try:
        config = read()
        yield _asking(part, "looking at it")
        if part == "model":
            yield _done(part, preflight.about_model(config, outputs))
        elif part == "prompts":
            yield _done(part, preflight.prompts_read(config, service))
        elif part == "answers":
            for found in preflight.answers(config, outputs, service):
                yield _done(part, _labelled(config, found)) if "samples" in found else _asking(part, found["phase"])
    except PlaygroundError as error:
        yield form.failed(form.message_of(error), part=part)


def tried(read: Read, outputs: Path) -> Iterator[dict[str, Any]]:
    """The same of the trial update. `change` is what would make it fit, for the form."""
    try:
        config = read()
        for found in trial.make(config, outputs):
            if found["state"] == "asking":
                yield _asking("update", found["phase"], found["seconds"])
                continue
            better = found.pop("better")
            change = form.change(yaml_io.from_dict(better), config) if better else None
            shown = {**found, "change": change, "num_updates": config.ppo.num_updates}
            done = found["state"] == "done"
            yield _done("update", shown) if done else {**shown, **form.failed(found["message"], part="update")}
    except PlaygroundError as error:
        yield form.failed(form.message_of(error), part="update")


def _labelled(config: RunConfig, found: dict[str, Any]) -> dict[str, Any]:
    labels = [*reward_form.term_labels(config.rewards).values(), *reward_form.term_labels(config.judges).values()]
    rewards = [{**item, "label": label} for item, label in zip(found["rewards"], labels, strict=True)]
    return {**found, "rewards": rewards}


def _asking(part: str, phase: str, seconds: float = 0.0) -> dict[str, Any]:
    return {"part": part, "state": "asking", "phase": phase, "seconds": seconds}


def _done(part: str, found: dict[str, Any]) -> dict[str, Any]:
    return {"part": part, "found": found, "state": "done", "at": time.time()}
