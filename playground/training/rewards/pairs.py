"""Preference pairs for the training of a reward model: written by a pocket model and judged by a pocket annotator, or
read from a file or a dataset; then drawn, and split into a part to learn from and a held-out part.

The reading and counting is in `playground.texts.preferences`. `reward_trainer` calls this.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import torch

from playground.config import PairsConfig, RewardTrainingConfig, SamplingConfig
from playground.errors import PairsUnusable, PromptsUnusable
from playground.pocket import corpus
from playground.pocket import prompt_sets as pocket_prompts
from playground.pocket.annotators import ANNOTATORS, Annotator, rng_of
from playground.setup import catalog
from playground.texts import preferences
from playground.texts.preferences import MIN_PAIRS, Counts, Pair
from playground.training.data import hub_data
from playground.training.data.prompts import Prompt
from playground.training.data.random_streams import derived_seed, generator
from playground.training.loop import evaluation
from playground.training.models import loading
from playground.training.models.language_model import LanguageModel, Tokens

WRITING_BATCH = 256  # completions that are written at once
ASKED_AT_ONCE = 512  # prompts that are drawn at once; those that are alike in length are answered together
MOST_PROMPTS = 8  # for each pair that is wanted, before a taste is taken not to show on them
DEFAULT_WRITER = "pocket-2m"
COLUMNS = ("prompt", "chosen", "rejected")


class PairSet(NamedTuple):
    """Pairs to learn from, pairs to test on (whose prompts are none of the others'), and what became of the rows."""

    training: list[Pair]
    held_out: list[Pair]
    counts: Counts
    name: str


def load(config: RewardTrainingConfig, device: torch.device, between: Callable[[], None] = lambda: None) -> PairSet:
    """The pairs that a configuration asks for.

    Args:
        between: called between batches of writing; may raise to break off.

    Raises:
        PairsUnusable: they cannot be read, or are too few. ModelNotFound: their writer is not there.
    """
    source = config.pairs.source
    if source in ANNOTATORS:
        pairs, counts = annotated(config.pairs, writer_of(config), config.seed, device, between)
    else:
        pairs, counts = (
            preferences.read_file(source) if preferences.is_file_name(source) else _read_dataset(config.pairs)
        )
        pairs = _drawn(pairs, config.pairs.limit, config.seed)
        counts.not_drawn, counts.kept = counts.kept - len(pairs), len(pairs)
    training, held_out = split(pairs, config.pairs.held_out, config.seed)
    return PairSet(training, held_out, counts, source)


def writer_of(config: RewardTrainingConfig) -> str:
    """The model whose completions the pocket annotators compare."""
    return config.pairs.writer or pocket_writer(config.base)


def pocket_writer(model: str) -> str:
    """The model itself where it is one of the pocket world, else the one that writes there by default."""
    pocket = model.startswith("pocket-") and model in [known.name for known in catalog.MODELS]
    return model if pocket else DEFAULT_WRITER


def annotated(
    config: PairsConfig, writer: str, seed: int, device: torch.device, between: Callable[[], None] = lambda: None
) -> tuple[list[Pair], Counts]:
    """Two completions of each prompt by one model, judged, until `limit` pairs are there: where the annotator likes
    both equally well, other prompts are drawn. Depends on the configuration and the seed only.

    Raises:
        PairsUnusable: too few are left. ModelNotFound: see `loading.load`.
    """
    model, tokens = loading.load(catalog.model_folder(writer), device)
    annotator = Annotator(config.source, config.flip, config.sharpness, config.majority)
    counts = Counts()
    pairs: dict[Pair, None] = {}
    questions = _questions(config, seed)
    while len(pairs) < config.limit and (drawn := list(islice(questions, min(config.limit, ASKED_AT_ONCE)))):
        between()
        batch = [(number, text) for number, text in drawn if annotator.cares(text)]
        counts.rows += len(drawn)
        counts.no_preference += len(drawn) - len(batch)
        if not batch:
            continue
        asked = [Prompt(text, tokens.encode(text)) for _, text in batch for _ in range(2)]
        seeds = [derived_seed(seed, "pair", number, side) for number, _ in batch for side in range(2)]
        written = _written(model, tokens, asked, seeds, between)
        for place, (number, text) in enumerate(batch):
            if len(pairs) == config.limit:
                counts.not_drawn += 1
            else:
                first, second = written[2 * place : 2 * place + 2]
                _add(pairs, counts, annotator, text, first, second, rng_of(seed, number))
    counts.kept = len(pairs)
    if len(pairs) < MIN_PAIRS:
        raise PairsUnusable(
            f"pairs.limit: too few pairs are left of {config.limit}; at least {MIN_PAIRS} are needed. "
            f"{counts.in_words()} Raise the limit, or choose prompts on which the taste shows."
        )
    return list(pairs), counts


def _written(
    model: LanguageModel, tokens: Tokens, asked: list[Prompt], seeds: list[int], between: Callable[[], None]
) -> list[str]:
    """A completion of each prompt; what it is depends on its own seed only, so they are written shortest prompt first,
    with little padding."""
    texts = [""] * len(asked)
    by_length = sorted(range(len(asked)), key=lambda place: len(asked[place].ids))
    for start in range(0, len(asked), WRITING_BATCH):
        places = by_length[start : start + WRITING_BATCH]
        prompts, own = [asked[place] for place in places], [seeds[place] for place in places]
        how = evaluation.Generation(tokens, SamplingConfig(), len(prompts), between)
        episodes, _ = evaluation.answer(model, None, prompts, own, how)
        for place, text in zip(places, episodes.texts(tokens), strict=True):
            texts[place] = text
    return texts


def _questions(config: PairsConfig, seed: int) -> Iterator[tuple[int, str]]:
    """Prompts with their numbers, `limit` at a time, at most MOST_PROMPTS for each pair that is wanted."""
    name = config.prompts or ANNOTATORS[config.source].prompts
    for again in range(MOST_PROMPTS):
        texts = pocket_prompts.prompts(name, config.limit, derived_seed(seed, "pair prompts", *[again][:again]))
        yield from enumerate(texts, again * config.limit)


def _add(
    pairs: dict[Pair, None], counts: Counts, annotator: Annotator, prompt: str, first: str, second: str, rng: Any
) -> None:
    """Judge one pair of completions and keep it, or count why not. Where both are as good and a slip is to be had, the
    first is judged against that."""
    if not first.strip() or not second.strip():
        counts.empty += 1
        return
    judged = annotator.judge(prompt, first, second, rng)
    if judged is None and ANNOTATORS[annotator.name].slips and (slip := corpus.slip(rng, prompt, first)):
        second = slip
        judged = annotator.judge(prompt, first, second, rng)
    if first.strip() == second.strip():
        counts.equal += 1
        return
    if judged is None:
        counts.no_preference += 1
        return
    if judged.first:
        pair = Pair(prompt, first, second, judged.better, judged.share)
    else:
        pair = Pair(prompt, second, first, not judged.better, 1 - judged.share)
    if pair in pairs:
        counts.duplicate += 1
    pairs[pair] = None


def split(pairs: list[Pair], share: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Pairs to learn from and pairs to test on. Pairs with one prompt stay together, so the test is on new prompts.

    Raises:
        PairsUnusable: there are too few different prompts for two parts.
    """
    prompts = list(dict.fromkeys(pair.prompt for pair in pairs))
    order = torch.randperm(len(prompts), generator=generator(seed, "held-out pairs")).tolist()
    by_prompt: dict[str, int] = {}
    for pair in pairs:
        by_prompt[pair.prompt] = by_prompt.get(pair.prompt, 0) + 1
    wanted, held_out_prompts, found = max(1, round(share * len(pairs))), set(), 0
    for position in order:
        if found >= wanted:
            break
        held_out_prompts.add(prompts[position])
        found += by_prompt[prompts[position]]
    training = [pair for pair in pairs if pair.prompt not in held_out_prompts]
    held_out = [pair for pair in pairs if pair.prompt in held_out_prompts]
    if not training:
        raise PairsUnusable(
            f"pairs.held_out: with {len(prompts)} different prompts no pair is left to learn from. Lower it, or add "
            "pairs with other prompts."
        )
    return training, held_out


def without_long(pairs: PairSet, fits: Callable[[Pair], bool]) -> PairSet:
    """The same without pairs that are too long for the model, counted.

    Raises:
        PairsUnusable: nothing is left of one of the parts.
    """
    training = [pair for pair in pairs.training if fits(pair)]
    held_out = [pair for pair in pairs.held_out if fits(pair)]
    gone = len(pairs.training) + len(pairs.held_out) - len(training) - len(held_out)
    counts = dataclasses.replace(pairs.counts, too_long=gone, kept=pairs.counts.kept - gone)
    if not training or not held_out:
        raise PairsUnusable(
            f"max_length: almost all completions are longer than the model can read. {counts.in_words()} Raise it, or "
            "choose a base with a longer context."
        )
    return PairSet(training, held_out, counts, pairs.name)


def _drawn(pairs: list[Pair], limit: int, seed: int) -> list[Pair]:
    """At most `limit` pairs, by luck, in their own order."""
    if len(pairs) <= limit:
        return pairs
    order = torch.randperm(len(pairs), generator=generator(seed, "drawn pairs")).tolist()
    return [pairs[position] for position in sorted(order[:limit])]


def _read_dataset(config: PairsConfig) -> tuple[list[Pair], Counts]:
    """The pairs of a dataset: its id on the hub, or a folder laid out as one there.

    Raises:
        PairsUnusable: there is none, or no such subset or split, or it has no such columns.
    """
    try:
        rows = hub_data.Rows(config.source, config.subset, config.split)
        columns = [name for name in COLUMNS if name in rows.columns]
        complete = {"chosen", "rejected"} <= set(columns)
        table = rows.rows(columns)[0] if complete else [dict.fromkeys(rows.columns)]  # which says what is missing
    except PromptsUnusable as error:
        raise PairsUnusable(str(error).replace("prompts.", "pairs.", 1)) from error
    return preferences.from_rows(table, config.source)
