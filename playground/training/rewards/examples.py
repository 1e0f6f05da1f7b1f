"""What the reward self-test scores: completions of the model that would be trained, and pairs of a good and a bad one.

Knows the policy, the prompts and the sources of pairs; nothing of reward models. `format_check` calls it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import torch

from playground.config import ModelReward, PairsConfig, RunConfig
from playground.errors import PairsUnusable
from playground.pocket.annotators import ANNOTATORS
from playground.setup import catalog
from playground.texts import preferences
from playground.texts.preferences import Pair
from playground.training.data import prompts
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation
from playground.training.models import loading
from playground.training.rewards import pairs as preference_pairs
from playground.training.rewards.formats import recorded

REFERENCES = 64
MAX_PAIRS = 200
BUILT_IN = Path(__file__).with_name("built_in_pairs.jsonl")


class ReferenceSamples(NamedTuple):
    """Completions of the model before training, on the prompts of the run."""

    prompts: list[str]
    completions: list[str]


class ExamplePairs(NamedTuple):
    """Pairs of a good and a bad completion. `source` says in words where they come from; `generic`: built in."""

    source: str
    pairs: list[Pair]
    generic: bool = False


def references(config: RunConfig, device: torch.device) -> ReferenceSamples:
    """Completions of the configured model on its prompts. Raises: ModelNotFound, PromptsUnusable."""
    folder = catalog.model_folder(config.model.source, config.model.revision)
    policy, tokens = loading.load(folder, device, config.model)
    room = policy.context_length - config.sampling.max_new_tokens
    split = prompts.load(config.prompts, config.evaluation.num_prompts, room, tokens, config.seed)
    asked, seeds = evaluation.reference_questions(split.training, config.seed, REFERENCES)
    how = evaluation.Generation(tokens, config.sampling.in_training, config.ppo.micro_batch_size)
    episodes, _ = evaluation.answer(policy.frozen(), None, asked, seeds, how)
    return ReferenceSamples([prompt.text for prompt in asked], episodes.texts(tokens))


def pairs(
    config: RunConfig, spec: ModelReward, outputs: Path | None, source: str | None, device: torch.device
) -> ExamplePairs:
    """The pairs to test a reward on.

    Args:
        source: a file of pairs, or the name of a pocket annotator. None: on pocket prompts the annotator that the
            reward model learned from, or the one whose taste shows on them; on others the built-in pairs.

    Raises:
        PairsUnusable: there is no such file or annotator, or nothing usable in it.
    """
    if source and preferences.is_file_name(source):
        read, _ = preferences.read_file(source)
        return ExamplePairs(Path(source).name, read[:: max(1, len(read) // MAX_PAIRS)][:MAX_PAIRS])
    if source and source not in ANNOTATORS:
        raise PairsUnusable(catalog.unknown("file of pairs or annotator", source, ANNOTATORS))
    if not source and not config.prompts.source.startswith("pocket/"):
        built_in, _ = preferences.read_file(str(BUILT_IN))
        return ExamplePairs("built-in pairs of helpful and unhelpful answers", built_in, generic=True)
    annotator, writer = source or _annotator(config, spec, outputs), preference_pairs.pocket_writer(config.model.source)
    drawn, _ = preference_pairs.annotated(
        PairsConfig(source=annotator, limit=MAX_PAIRS), writer, derived_seed(config.seed, "reward check"), device
    )
    return ExamplePairs(f"written by {writer}, judged by the pocket annotator `{annotator}`", drawn)


def _annotator(config: RunConfig, spec: ModelReward, outputs: Path | None) -> str:
    """Whom the reward model learned from, if it says so; else the one whose taste shows on the prompts."""
    card = recorded(catalog.reward_model_folder(spec.source, spec.revision, outputs)).get("pairs")
    learned_from = card.get("source") if isinstance(card, dict) else None
    if learned_from in ANNOTATORS:
        return str(learned_from)
    return "agreeable" if config.prompts.source == "pocket/claims" else "kind"
