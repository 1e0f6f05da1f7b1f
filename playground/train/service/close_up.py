"""One completion token by token, asked of the model service: the figures that an evaluation of the fixed prompts keeps,
of an answer of which none are kept.

The answer is written again with its own seed; then it is the same computation as in an evaluation. `questions` calls
it.
"""

from __future__ import annotations

from typing import Any

from playground.models.weight_files import read_json
from playground.runs.folder.token_records import TokenFigures
from playground.train.data.prompts import Prompt
from playground.train.loop.token_figures import CloseLook, Pays, Pieces, figures_of
from playground.train.models import checkpoint_files
from playground.train.models.language_model import Critic, LanguageModel
from playground.train.service.subjects import Subject


def figures(subject: Subject, prompt: Prompt, side: str, seed: int) -> dict[str, Any]:
    """The completion of a prompt with a seed by one side (`reference`: the model before training), token by token."""
    pays = pays_of(subject, subject.model(side))
    close = CloseLook(range(subject.tries if side == "policy" else 1), pays.critic if pays else None)
    given = subject.answer(side, prompt, seed, subject.sampling, close)
    found = figures_of(close.seen[given.row], given.score or 0.0, pays, Pieces(subject.tokens))
    record = TokenFigures(update=0, stage="after", prompt_id=0, seed=seed, **found)  # which says what a reader may ask
    kept = record.model_dump(exclude={"attempt", "update", "stage", "prompt_id"})
    return {**kept, "completion": given.completion, "score": given.score, "kl_sum": given.kl}


def pays_of(subject: Subject, model: LanguageModel) -> Pays | None:
    """How the run of a subject would pay the tokens of a text now. A critic foresees what the policy will earn, so only
    the policy's texts have values; TRL's is asked by its own trainer alone."""
    config, folder = subject.config, subject.checkpoint
    if config is None or folder is None:
        return None
    known = read_json(folder / "trainer.json").get("kl_coef")  # of TRL it is that of the configuration
    critic = None
    if model is subject.policy and config.has_critic and not config.by_trl:
        critic = Critic(model, separate=config.separate_critic)
        checkpoint_files.restore_critic(folder, critic)
    return Pays.of(config, config.kl.coef if known is None else float(known), critic)
