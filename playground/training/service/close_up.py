"""One completion token by token, asked of the model service: the figures that a look at the fixed prompts keeps, of an
answer that none has kept.

The answer is written again with its own seed; then it is the same computation as at a look. `questions` calls it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.rewards.best_answers import best_rows
from playground.runs.folder.token_records import TokenFigures
from playground.sources.weight_files import read_json
from playground.training.data.prompts import Prompt
from playground.training.loop import evaluation
from playground.training.loop.token_figures import CloseLook, Pays, figures_of
from playground.training.models import checkpoint_files
from playground.training.models.language_model import Critic, LanguageModel
from playground.training.models.token_pieces import Pieces
from playground.training.service.subjects import Subject


def figures(subject: Subject, prompt: Prompt, side: str, seed: int) -> dict[str, Any]:
    """The completion of a prompt with a seed by one side (`reference`: the model before training), token by token."""
    model = subject.policy if side == "policy" and subject.policy else subject.reference
    anchor = None if model is subject.anchor else subject.anchor
    tries = subject.tries if side == "policy" else 1
    pays = pays_of(subject, model)
    close = CloseLook(range(tries), pays.critic if pays else None)
    seeds = [evaluation.answered(seed, number) for number in range(tries)]
    how = evaluation.Generation(subject.tokens, subject.sampling, 1)
    episodes, kl = evaluation.answer(model, anchor, [prompt] * tries, seeds, how, close)
    completions, ended = episodes.texts(subject.tokens), episodes.ended.tolist()
    scores = subject.scorer([prompt.text] * tries, completions, ended).scores if subject.scorer else [0.0] * tries
    row = best_rows(scores, tries)[0]
    found = figures_of(close.seen[row], scores[row], pays, Pieces(subject.tokens))
    record = TokenFigures(update=0, stage="after", prompt_id=0, seed=seed, **found)  # which says what a reader may ask
    of_a_look = record.model_dump(exclude={"attempt", "update", "stage", "prompt_id"})
    score = scores[row] if subject.scorer else None
    return {**of_a_look, "completion": completions[row], "score": score, "kl_sum": kl[row]}


def pays_of(subject: Subject, model: LanguageModel) -> Pays | None:
    """How the run of a subject would pay the tokens of a text now. A critic foresees what the policy will earn, so only
    the policy's texts have values; TRL's is asked by its own trainer alone."""
    config, folder = subject.config, subject.checkpoint
    if config is None or folder is None:
        return None
    known = read_json(folder / "trainer.json").get("kl_coef")  # of TRL it is that of the configuration
    has_values = model is subject.policy and config.has_critic and not config.by_trl
    critic = _critic(config, model, folder) if has_values else None
    return Pays.of(config, config.kl.coef if known is None else float(known), critic)


def _critic(config: RunConfig, policy: LanguageModel, folder: Path) -> Critic:
    critic = Critic(policy, separate=config.separate_critic)
    checkpoint_files.restore_critic(folder, critic)
    return critic
