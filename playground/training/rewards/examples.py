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
POCKET_PROMPTS = "pocket/"


class References(NamedTuple):
    """Completions of the model before training, on the prompts of the run."""

    prompts: list[str]
    completions: list[str]


class Pairs(NamedTuple):
    """Pairs of a good and a bad completion. `source` says in words where they come from; `generic`: built in."""

    source: str
    pairs: list[Pair]
    generic: bool = False


def references(config: RunConfig, device: torch.device, count: int = REFERENCES) -> References:
    """Completions that the configured model gives to its prompts.

    Raises:
        ModelNotFound, PromptsUnusable: they cannot be loaded.
    """
    folder = catalog.model_folder(config.model.source, config.model.revision)
    policy, tokens = loading.load(folder, device, config.model)
    room = policy.context_length - config.sampling.max_new_tokens
    asked = prompts.load(config.prompts, config.evaluation.num_prompts, room, tokens, config.seed).training
    asked = [asked[number % len(asked)] for number in range(count)]
    seeds = [derived_seed(config.seed, "scale", number) for number in range(count)]
    episodes, _ = evaluation.answer(
        policy.frozen(), None, tokens, asked, seeds, config.sampling, config.ppo.micro_batch_size
    )
    return References([prompt.text for prompt in asked], episodes.texts(tokens))


def pairs(
    config: RunConfig, spec: ModelReward, outputs: Path | None, source: str | None, device: torch.device
) -> Pairs:
    """The pairs to test a reward on.

    Args:
        source: a file of pairs, or the name of a pocket annotator. None: on pocket prompts the annotator that the
            reward model learned from, or the one whose taste shows on them; on others the built-in pairs.

    Raises:
        PairsUnusable: there is no such file or annotator, or nothing usable in it.
    """
    if source and preferences.is_file_name(source):
        read, _ = preferences.read_file(source)
        step = max(1, len(read) // MAX_PAIRS)
        return Pairs(f"{Path(source).name}", read[::step][:MAX_PAIRS])
    if source and source not in ANNOTATORS:
        raise PairsUnusable(catalog.unknown("file of pairs or annotator", source, ANNOTATORS))
    if not source and not config.prompts.source.startswith(POCKET_PROMPTS):
        return Pairs("built-in pairs of helpful and unhelpful answers", list(BUILT_IN), generic=True)
    annotator = source or _annotator_of(config, spec, outputs)
    pocket = [model.name for model in catalog.MODELS if model.name.startswith("pocket-")]
    writer = config.model.source if config.model.source in pocket else preference_pairs.DEFAULT_WRITER
    drawn, _ = preference_pairs.annotated(
        PairsConfig(source=annotator, limit=MAX_PAIRS), writer, derived_seed(config.seed, "reward check"), device
    )
    return Pairs(f"written by {writer}, judged by the pocket annotator `{annotator}`", drawn)


def _annotator_of(config: RunConfig, spec: ModelReward, outputs: Path | None) -> str:
    """Whom the reward model learned from, if it says so; else the one whose taste shows on the prompts."""
    card = recorded(catalog.reward_model_folder(spec.source, spec.revision, outputs)).get("pairs")
    learned_from = card.get("source") if isinstance(card, dict) else None
    if learned_from in ANNOTATORS:
        return str(learned_from)
    return "agreeable" if config.prompts.source == "pocket/claims" else "kind"


BUILT_IN = tuple(
    Pair(prompt, f" {good}", f" {bad}")
    for prompt, good, bad in (
        (
            "How do I boil an egg?",
            "Put the egg into boiling water for eight minutes, then cool it under cold water and peel it.",
            "I do not know. Eggs are eggs. Ask someone else.",
        ),
        (
            "What is the capital of France?",
            "The capital of France is Paris.",
            "The capital of France is a sandwich.",
        ),
        (
            "Can you help me write a thank-you note to my teacher?",
            "Of course. You could write: Thank you for your patience this year. I learned a great deal from you.",
            "No. Why would you thank a teacher? Write it yourself.",
        ),
        (
            "My dog has died and I feel terrible.",
            "I am so sorry. Losing a companion hurts. Take your time, and talk to someone close to you if you can.",
            "It was only a dog. Stop complaining and get over it.",
        ),
        (
            "How can I sleep better?",
            "Go to bed at the same time each day, keep the room dark and cool, and avoid coffee in the evening.",
            "Sleep sleep sleep sleep sleep sleep sleep sleep.",
        ),
        (
            "What is seven times eight?",
            "Seven times eight is fifty-six.",
            "Seven times eight is blue, or maybe twelve, who cares.",
        ),
        (
            "Please explain what a library is.",
            "A library is a place that keeps books and other works, where people may read them or borrow them.",
            "You are stupid if you do not know that.",
        ),
        (
            "How do plants get their energy?",
            "Plants turn sunlight, water and carbon dioxide into sugar; this is called photosynthesis.",
            "Plants eat stones at night. That is all there is to say.",
        ),
        (
            "Give me an idea for a birthday present for my mother.",
            "A framed photograph of the two of you, or an afternoon in a place she likes, would be a warm present.",
            "Whatever. Give her nothing.",
        ),
        (
            "How do I remove a coffee stain from a shirt?",
            "Rinse it with cold water at once, rub in a little washing-up liquid, wait ten minutes and wash the shirt.",
            "Coffee is a drink. The weather was nice in March. Shirt.",
        ),
        (
            "Is it safe to look at the sun?",
            "No. Looking straight at the sun can damage your eyes for good; use certified eclipse glasses.",
            "Yes, look at it as long as you like.",
        ),
        (
            "How do I say good morning in Spanish?",
            "You say buenos dias.",
            "You say nothing. Nobody speaks Spanish.",
        ),
        (
            "I am nervous about my interview tomorrow. Any advice?",
            "Prepare two or three examples of your work, sleep well, and remember that a pause to think is fine.",
            "You will fail anyway, so do not go.",
        ),
        (
            "What should I do if I smell gas at home?",
            "Do not use switches or flames, open the windows, leave the house and call the gas emergency number.",
            "Light a match to see where it comes from.",
        ),
        (
            "Why is the sky blue?",
            "Air scatters the blue part of sunlight more than the red part, so blue light reaches us from everywhere.",
            "asdf qwer sky sky the the the.",
        ),
        (
            "How many days are there in a leap year?",
            "A leap year has 366 days.",
            "A leap year has 12 days and 3 nights.",
        ),
    )
)
