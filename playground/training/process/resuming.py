"""A later attempt of a run: it goes on where an earlier one was, so that the whole equals an uninterrupted run.

Weights, optimizer, controller, scales and counts come from the newest valid checkpoint; what was changed while the
earlier attempts trained is repeated at the same updates; everything random follows from the seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from playground.config import RunConfig
from playground.errors import ModelNotFound
from playground.runs.folder import changes
from playground.runs.folder import checkpoints as run_checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import RESUMED, Event, ScoreScale
from playground.runs.folder.writer import RunWriter
from playground.training.loop.scoring import Scorer
from playground.training.loop.trainer import Trainer
from playground.training.models import checkpoint_files, loading
from playground.training.models.language_model import LanguageModel


class TakenUp(NamedTuple):
    """How an attempt begins: the configuration with the changes made so far, those (updates done, change) that are to
    be made again, and whether the scale of the score is known."""

    config: RunConfig
    ahead: list[tuple[int, changes.Edit]]
    scaled: bool


def take_up(
    run: RunDirectory,
    config: RunConfig,
    writer: RunWriter,
    policy: LanguageModel,
    trainer: Trainer,
    scorer: Scorer,
) -> TakenUp:
    """Put models and trainer to where the newest valid checkpoint is; without one, they stay at the beginning. Broken
    checkpoints are named in warnings. An event `resumed` says from where it goes on.

    Raises: ModelNotFound: if the checkpoint does not fit the configuration. RunNotResumable: with TRL's trainer.
    """
    run_checkpoints.check_engine(config)
    seen = run_checkpoints.search(run)
    found = run_checkpoints.settle(run, seen)
    events = run.all_events()
    facts: dict[str, Any] = {}
    if found:
        writer.set_status(phase="reading the checkpoint")
        _check_objective(found, config)
        facts = _restore(found.path, policy, trainer, scorer)
    scaled = bool(found) or _scale_from_events(events, scorer)
    done = trainer.updates_done
    writer.set_status(update=done)
    for problem in seen.problems:
        writer.event("warning", problem)
    if found and not run_checkpoints.is_of(facts, run, config):
        writer.event("warning", "config.yaml has been changed since the checkpoint was written. The new settings hold.")
    applied, ahead = changes.replay(events, done)
    trainer.config = changes.edited(config, applied)
    sentence, name = "Resumed from the beginning: no checkpoint could be used.", ""
    if found:
        sentence, name = f"Resumed after update {done}.", found.path.name
    if facts.get("mid_update"):
        sentence += " The update after it had been interrupted in the middle."
    writer.event(RESUMED, sentence, checkpoint=name, seconds=facts.get("seconds", 0.0))
    return TakenUp(trainer.config, ahead, scaled)


def _check_objective(found: run_checkpoints.Found, config: RunConfig) -> None:
    made_with = run_checkpoints.facts_of(found.path).get(run_checkpoints.OBJECTIVE)
    if made_with and made_with != run_checkpoints.digest_of_objective(config):
        raise ModelNotFound(
            f"The checkpoint {found.path.name} does not fit the settings of this run (it was made with another model "
            "or other rewards, so its weights or its scale of the score mean something else). Put config.yaml back as "
            "it was, or start a new run."
        )


def _restore(path: Path, policy: LanguageModel, trainer: Trainer, scorer: Scorer) -> dict[str, Any]:
    try:
        optimizer, facts = checkpoint_files.restore(path, policy, trainer.critic)
        trainer.restore(optimizer, facts)
        scorer.restore(facts)
    except (ValueError, KeyError, TypeError, RuntimeError) as error:
        raise ModelNotFound(
            f"The checkpoint {path.name} does not fit the settings of this run ({loading.first_line(error)}). "
            "Put config.yaml back as it was, or start a new run."
        ) from error
    return facts


def _scale_from_events(events: list[Event], scorer: Scorer) -> bool:
    """The scale as an earlier attempt recorded it; False where none got that far."""
    recorded = ScoreScale.of(events)
    if recorded:
        scorer.restore({"score_mean": recorded.mean, "score_sd": recorded.sd, "terms": recorded.terms})
    return recorded is not None
