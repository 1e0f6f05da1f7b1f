"""Preference pairs for the training of a reward model: written by a pocket model and judged by a pocket annotator, or
read from a file (`playground.data.preferences`) or a dataset; then split into a part to learn from and a held-out one.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple

import torch

from playground.config import ModelReward, PairsConfig, RewardTrainingConfig, RunConfig, SamplingConfig
from playground.data import dialogues, preferences
from playground.data.preferences import MIN_PAIRS, Counts, Pair
from playground.errors import PairsUnusable, PromptsUnusable
from playground.pocket import corpus
from playground.pocket import prompt_sets as pocket_prompts
from playground.pocket.annotators import ANNOTATORS, Annotator, rng_of
from playground.setup import catalog, describe
from playground.training.data import hub_data
from playground.training.data.prompts import Prompt
from playground.training.data.random_streams import derived_seed, generator
from playground.training.loop import evaluation
from playground.training.models import loading
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.rewards.formats import recorded

WRITING_BATCH = 256  # completions that are written at once
ASKED_AT_ONCE = 512  # prompts that are drawn at once; those that are alike in length are answered together
MOST_PROMPTS = 8  # for each pair that is wanted, before a taste is taken not to show on them
DEFAULT_WRITER = "pocket-2m"
MAX_TESTED = 200
BUILT_IN = Path(__file__).with_name("built_in_pairs.jsonl")


class ExamplePairs(NamedTuple):
    """Pairs of a good and a bad completion. `source` says in words where they come from; `generic`: built in."""

    source: str
    pairs: list[Pair]
    generic: bool = False


class PairSet(NamedTuple):
    """Pairs to learn from, pairs to test on, whose prompts are others, and what became of the rows."""

    training: list[Pair]
    held_out: list[Pair]
    counts: Counts
    name: str

    def facts(self) -> dict[str, Any]:
        """What a reward model's card says of them."""
        return {
            "source": self.name,
            **dataclasses.asdict(self.counts),
            "training": len(self.training),
            "held_out": len(self.held_out),
            "in_words": self.counts.in_words(),
        }


def load(config: RewardTrainingConfig, device: torch.device, between: Callable[[], None] = lambda: None) -> PairSet:
    """The pairs that a configuration asks for. `between` is called between batches of writing; it may raise.

    Raises: PairsUnusable; ModelNotFound: their writer is not there.
    """
    source, limit = config.pairs.source, config.pairs.limit
    if source in ANNOTATORS:
        writer = config.pairs.writer or pocket_writer(config.base)
        pairs, counts = annotated(config.pairs, writer, config.seed, device, between)
    else:
        in_file = preferences.is_file_name(source)
        pairs, counts = preferences.read_file(source) if in_file else _read_dataset(config.pairs)
        if config.pairs.share:
            whole = len(pairs)
            pairs = [pair for pair in pairs if dialogues.is_in_share(pair.prompt, config.pairs.share)]
            counts.other_share, counts.kept = whole - len(pairs), len(pairs)
        order = torch.randperm(len(pairs), generator=generator(config.seed, "drawn pairs")).tolist()
        pairs = [pairs[index] for index in sorted(order[:limit])]
        counts.not_drawn, counts.kept = counts.kept - len(pairs), len(pairs)
    training, held_out = split(pairs, config.pairs.held_out, config.seed)
    if config.pairs.bootstrap is not None:
        luck = generator(config.seed, "bootstrap", config.pairs.bootstrap)
        rows = torch.randint(len(training), (len(training),), generator=luck)
        training = [training[row] for row in rows.tolist()]
    return PairSet(training, held_out, counts, describe.source_label(source))


def example_pairs(
    config: RunConfig, spec: ModelReward, outputs: Path | None, source: str | None, device: torch.device
) -> ExamplePairs:
    """The pairs to test a reward on: those of a file or a pocket annotator. With neither, on pocket prompts those of
    the annotator that the model learned from, or whose taste shows; on others built-in ones. Raises: PairsUnusable."""
    if source and preferences.is_file_name(source):
        read, _ = preferences.read_file(source)
        return ExamplePairs(Path(source).name, read[:: max(1, len(read) // MAX_TESTED)][:MAX_TESTED])
    if source and source not in ANNOTATORS:
        raise PairsUnusable(catalog.unknown("file of pairs or annotator", source, ANNOTATORS))
    if not source and not config.prompts.source.startswith("pocket/"):
        built_in, _ = preferences.read_file(str(BUILT_IN))
        return ExamplePairs("built-in pairs of helpful and unhelpful answers", built_in, generic=True)
    if not source:
        card = recorded(catalog.reward_model_folder(spec.source, spec.revision, outputs)).get("pairs")
        source = str(card.get("source")) if isinstance(card, dict) else ""
    if source not in ANNOTATORS:
        source = "agreeable" if config.prompts.source == "pocket/claims" else "kind"
    writer, seed = pocket_writer(config.model.source), derived_seed(config.seed, "reward check")
    drawn, _ = annotated(PairsConfig(source=source, limit=MAX_TESTED), writer, seed, device)
    return ExamplePairs(f"written by {writer}, judged by the pocket annotator `{source}`", drawn)


def pocket_writer(model: str) -> str:
    """The model itself where it is one of the pocket world, else the one that writes there by default."""
    if model.startswith("pocket-") and model in [model.name for model in catalog.MODELS]:
        return model
    return DEFAULT_WRITER


def annotated(
    config: PairsConfig, writer: str, seed: int, device: torch.device, between: Callable[[], None] = lambda: None
) -> tuple[list[Pair], Counts]:
    """Two completions of each prompt by one model, judged, until `limit` pairs are there: where the annotator likes
    both equally well, other prompts are drawn. Depends on the configuration and the seed only.

    Raises: PairsUnusable: too few are left. ModelNotFound: see `loading.load`.
    """
    model, tokens = loading.load(catalog.model_folder(writer), device)
    annotator = Annotator(config.source, config.flip, config.sharpness, config.majority)
    pairs: dict[Pair, None] = {}
    left_out: Counter[str] = Counter()
    rows, questions = 0, _questions(config, seed)
    while len(pairs) < config.limit and (drawn := list(islice(questions, min(config.limit, ASKED_AT_ONCE)))):
        rows += len(drawn)
        prompts_drawn = [(number, text) for number, text in drawn if annotator.cares(text)]
        left_out["no_preference"] += len(drawn) - len(prompts_drawn)
        written = _written(model, tokens, prompts_drawn, seed, between)
        for number, text in prompts_drawn:
            pair: Pair | str = "not_drawn"
            if len(pairs) < config.limit:
                pair = _judged(annotator, text, written[number, 0], written[number, 1], rng_of(seed, number))
            if isinstance(pair, str):
                left_out[pair] += 1
            elif pair in pairs:
                left_out["duplicate"] += 1
            else:
                pairs[pair] = None
    counts = Counts(rows=rows, kept=len(pairs), **left_out)
    if len(pairs) < MIN_PAIRS:
        raise PairsUnusable(
            f"pairs.limit: too few pairs are left of {config.limit}; at least {MIN_PAIRS} are needed. "
            f"{counts.in_words()} Raise the limit, or choose prompts on which the preference shows."
        )
    return list(pairs), counts


def _written(
    model: LanguageModel, tokens: Tokens, prompts_drawn: list[tuple[int, str]], seed: int, between: Callable[[], None]
) -> dict[tuple[int, int], str]:
    """Two completions of each numbered prompt, by number and side. What one is depends on its own seed only, so they
    are written shortest prompt first, with little padding."""
    jobs = [((number, side), Prompt(text, tokens.encode(text))) for number, text in prompts_drawn for side in range(2)]
    jobs.sort(key=lambda job: len(job[1].ids))
    completions: dict[tuple[int, int], str] = {}
    for start in range(0, len(jobs), WRITING_BATCH):
        keys, prompts = zip(*jobs[start : start + WRITING_BATCH], strict=True)
        seeds = [derived_seed(seed, "pair", *key) for key in keys]
        how = evaluation.Generation(tokens, SamplingConfig(), len(prompts), between)
        episodes, _ = evaluation.answer(model, None, list(prompts), seeds, how)
        completions.update(zip(keys, episodes.texts(tokens), strict=True))
    return completions


def _questions(config: PairsConfig, seed: int) -> Iterator[tuple[int, str]]:
    """Prompts with their numbers, `limit` at a time, at most MOST_PROMPTS for each pair that is wanted."""
    name = config.prompts or ANNOTATORS[config.source].prompts
    for again in range(MOST_PROMPTS):
        texts = pocket_prompts.prompts(name, config.limit, derived_seed(seed, "pair prompts", *[again][:again]))
        yield from enumerate(texts, again * config.limit)


def _judged(annotator: Annotator, prompt: str, first: str, second: str, rng: Any) -> Pair | str:
    """The pair that an annotator makes of two completions, or for which reason it makes none. Where both are as good
    and a slip is to be had, the first is judged against that."""
    if not first.strip() or not second.strip():
        return "empty"
    judged = annotator.judge(prompt, first, second, rng)
    if judged is None and ANNOTATORS[annotator.name].slips and (slip := corpus.slip(rng, prompt, first)):
        second = slip
        judged = annotator.judge(prompt, first, second, rng)
    if first.strip() == second.strip():
        return "equal"
    if judged is None:
        return "no_preference"
    if judged.first:
        return Pair(prompt, first, second, judged.better)
    return Pair(prompt, second, first, not judged.better)


def split(pairs: list[Pair], share: float, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Pairs to learn from and pairs to test on. Those of one dialogue stay together, so the test is on new ones.

    Raises: PairsUnusable, if there are too few different prompts for two parts.
    """
    openings = dialogues.names_of([pair.prompt for pair in pairs])
    sizes = Counter(openings)
    names = list(sizes)
    order = [names[i] for i in torch.randperm(len(names), generator=generator(seed, "held-out pairs")).tolist()]
    reached = list(accumulate(sizes[name] for name in order))
    kept_aside = set(order[: bisect_left(reached, max(1, round(share * len(pairs)))) + 1])
    parts: dict[bool, list[Pair]] = {True: [], False: []}
    for name, pair in zip(openings, pairs, strict=True):
        parts[name in kept_aside].append(pair)
    if not parts[False]:
        raise PairsUnusable(
            f"pairs.held_out: with {len(names)} different prompts no pair is left to learn from. Lower it, or add "
            "pairs with other prompts."
        )
    return parts[False], parts[True]


def shortened(pairs: PairSet, longest: int, length: Callable[[str], int]) -> PairSet:
    """The same with prompts of at most so many tokens, cut at a turn, without those that cannot be. `length`: of a
    prompt, in tokens. Raises: PairsUnusable, if a part is empty."""

    def cut(pair: Pair) -> Pair:
        texts = [pair.prompt, *dialogues.shorter(pair.prompt)]
        return pair._replace(prompt=next((text for text in texts if length(text) <= longest), pair.prompt))

    training, held_out = ([*map(cut, part)] for part in (pairs.training, pairs.held_out))
    return without_long(
        PairSet(training, held_out, pairs.counts, pairs.name), lambda pair: length(pair.prompt) <= longest
    )


def without_long(pairs: PairSet, fits: Callable[[Pair], bool]) -> PairSet:
    """The same without pairs that are too long for the model, counted. Raises: PairsUnusable, if a part is empty."""
    training, held_out = (list(filter(fits, part)) for part in (pairs.training, pairs.held_out))
    kept = len(training) + len(held_out)
    too_long = pairs.counts.too_long + pairs.counts.kept - kept
    counts = dataclasses.replace(pairs.counts, too_long=too_long, kept=kept)
    if not training or not held_out:
        raise PairsUnusable(
            f"max_length: almost all texts are longer than it, or than pairs.max_tokens. {counts.in_words()} Raise "
            "them, or choose a base with a longer context."
        )
    return PairSet(training, held_out, counts, pairs.name)


def _read_dataset(config: PairsConfig) -> tuple[list[Pair], Counts]:
    """The pairs of a dataset: its id on the hub, or a folder laid out as one there. Raises: PairsUnusable."""
    try:
        rows = hub_data.Rows(config.source, config.subset, config.split)
        columns = preferences.columns_of(rows.columns)
        table = [dict.fromkeys(rows.columns)]  # which says what is missing
        if {columns.chosen, columns.rejected} <= set(rows.columns):
            table, _ = rows.rows(columns.names)
    except PromptsUnusable as error:
        raise PairsUnusable(str(error).replace("prompts.", "pairs.", 1)) from error
    pairs, counts = preferences.from_rows(table, config.source)
    counts.taken = columns.in_words(rows.columns)
    return pairs, counts
