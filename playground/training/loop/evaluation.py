"""The fixed prompts, answered with the same random numbers before, during and after training.

What is shared: with a small vocabulary a random number for each token at each position, so that a model that has moved
a little mostly keeps its tokens; with a large one, where so many numbers would cost too much, one for each position.
docs/ppo.md says what that is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch

from playground.config import RunConfig, SamplingConfig
from playground.ppo.kl import full_kl
from playground.rewards.best_answers import best_rows, kl_of_best
from playground.runs.folder.records import Sample, Stage
from playground.runs.folder.token_records import TokenFigures
from playground.training.data.prompts import Prompt
from playground.training.data.random_streams import TokenNoise, derived_seed, uniforms
from playground.training.loop.passes import alone, compared, put
from playground.training.loop.sampling import Episodes, drawn_from, sample
from playground.training.loop.scoring import Scorer
from playground.training.loop.token_figures import CloseLook, Pays, figures_of
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.models.token_pieces import Pieces
from playground.training.ranks.ranks import ALONE, Ranks

MOST_NOISE = 8192  # tokens of a vocabulary that each get a random number; the shipped models have 1,280


class Looked(NamedTuple):
    """A look at the fixed prompts: the samples, the score of every answer that was written for them, and the first of
    the samples token by token."""

    samples: list[Sample]
    scores: list[float]
    figures: list[TokenFigures]


Judge = Callable[[Sequence[str], Sequence[str]], Mapping[str, Sequence[float | None]]]
Watch = Callable[[Sequence[str], Sequence[str], Sequence[bool]], Mapping[str, Sequence[bool | None]]]


def answer(
    policy: LanguageModel,
    reference: LanguageModel | None,
    tokens: Tokens,
    prompts: list[Prompt],
    seeds: list[int],
    sampling: SamplingConfig,
    micro_batch_size: int,
    between: Callable[[], None] = lambda: None,
    close: CloseLook | None = None,
) -> tuple[Episodes, list[float]]:
    """One completion for each prompt and seed, and its KL to the reference.

    Args:
        close: sees each token of some of them.
        seeds: as many as prompts; the completion of a prompt depends on its own seed only.
        reference: None when the policy is the reference; then the KL is 0.

    Returns:
        the episodes, and for each the exact KL of every position, summed, in nats: of the distribution that was drawn
        from (see top k and top p) to the whole reference. Its mean over episodes is the KL of whole completions, as
        that of k1 is; it is never negative and varies far less.
    """
    longest = sampling.max_new_tokens
    draws = TokenNoise(seeds, longest) if policy.vocabulary <= MOST_NOISE else uniforms(seeds, longest)
    episodes = sample(
        policy, None, tokens, [prompt.ids for prompt in prompts], draws, sampling.temperature, between,
        top_k=sampling.top_k, top_p=sampling.top_p, keep_hidden=reference is not None or close is not None,
    )  # fmt: skip
    if reference is None:
        if close is not None:
            part = alone(policy, episodes, sorted(close.rows), sampling.temperature)
            own, _ = drawn_from(part.own, sampling.top_k, sampling.top_p)
            close.take(episodes, part._replace(own=own, theirs=own))
        return episodes, [0.0] * len(episodes)
    kl = torch.zeros_like(episodes.log_probs)
    for part in compared(
        policy, reference, episodes, episodes.packed(), sampling.temperature, micro_batch_size, between
    ):  # fmt: skip
        own, _ = drawn_from(part.own, sampling.top_k, sampling.top_p)
        put(kl, part.rows, part.mask, full_kl(own, part.theirs))
        if close is not None:
            close.take(episodes, part._replace(own=own))
    return episodes, kl.sum(1).tolist()


def reference_questions(training: list[Prompt], seed: int, count: int) -> tuple[list[Prompt], list[int]]:
    """Prompts and seeds of the samples that stand for the reference: they fix the scale of a run's score."""
    asked = [training[number % len(training)] for number in range(count)]
    return asked, [derived_seed(seed, "scale", number) for number in range(count)]


def evaluation_seeds(config: RunConfig, num_prompts: int) -> list[int]:
    """One seed for each (prompt, sample), prompts in the outer loop."""
    each = config.evaluation.samples_per_prompt
    numbers = [(prompt, sample_number) for prompt in range(num_prompts) for sample_number in range(each)]
    return [derived_seed(config.seed, "evaluation", *pair) % 2**31 for pair in numbers]


def evaluate(
    config: RunConfig,
    policy: LanguageModel,
    reference: LanguageModel | None,
    tokens: Tokens,
    prompts: list[Prompt],
    scorer: Scorer,
    stage: Stage,
    update: int,
    between: Callable[[], None] = lambda: None,
    judge: Judge = lambda prompts, completions: {},
    watch: Watch = lambda prompts, completions, ended: {},
    tries: int = 1,
    pays: Pays | None = None,
    ranks: Ranks = ALONE,
) -> Looked:
    """Answer all fixed prompts and score the answers; of several ranks each answers some.

    Args:
        pays: how training pays the tokens of a text, where it does.
        judge: texts -> values by judge, for what only watches. watch: texts, and whether they ended by themselves ->
            yes or no by behaviour. tries: how many answers are written for each that is
            given, which is the one with the best score; the first of them is the one that would be given without.
    """
    seeds = evaluation_seeds(config, len(prompts))
    each = config.evaluation.samples_per_prompt
    asked = [(number, prompt) for number, prompt in enumerate(prompts) for _ in range(each)]
    written: list[tuple[str, bool, int, float]] = []  # completion, ended, tokens, KL; all first answers, all second
    watched_rows = range(0, len(asked), each)[: config.evaluation.token_samples]
    mine = ranks.deal(len(asked), first=watched_rows)
    near = {row: place for place, row in enumerate(mine) if row in watched_rows and ranks.rank == 0}
    looks: list[CloseLook] = []
    for number in range(tries):
        looks.append(CloseLook(near.values(), pays.critic if pays else None))
        answers: list[tuple[str, bool, int, float]] = []
        if mine:
            chosen = [asked[row][1] for row in mine], [answered(seeds[row], number) for row in mine]
            episodes, kls = answer(
                policy, reference, tokens, *chosen, config.sampling, config.ppo.micro_batch_size, between,
                looks[-1] if near else None,
            )  # fmt: skip
            answers += zip(episodes.texts(tokens), episodes.ended.tolist(), episodes.lengths.tolist(), kls, strict=True)
        by_row = dict(pair for part in ranks.exchange([*zip(mine, answers, strict=True)]) for pair in part)
        written += [by_row[row] for row in range(len(asked))]
    texts = [prompt.text for _, prompt in asked]
    by_question = [row for place in range(len(asked)) for row in range(place, len(written), len(asked))]
    completions, ended, lengths, kls = map(list, zip(*(written[row] for row in by_question), strict=True))
    scores = scorer([text for text in texts for _ in range(tries)], completions, ended)
    rows = best_rows(scores.scores, tries)
    given = [completions[row] for row in rows]
    judged, watched = judge(texts, given), watch(texts, given, [ended[row] for row in rows])
    samples = [
        Sample(
            update=update,
            stage=stage,
            prompt_id=number,
            prompt=prompt.text,
            completion=completions[row],
            seed=seed,
            score=scores.scores[row],
            scores={name: values[row] for name, values in scores.terms.items()},
            judges={name: values[place] for name, values in judged.items()},
            behaviours={name: marks[place] for name, marks in watched.items()},
            kl=kls[row] if tries == 1 else kl_of_best(scores.scores[place * tries : (place + 1) * tries], tries),
            tokens=lengths[row],
            ended=ended[row],
        )
        for place, (row, seed, (number, prompt)) in enumerate(zip(rows, seeds, asked, strict=True))
    ]
    pieces = Pieces(tokens)
    figures = [
        TokenFigures(
            update=update, stage=stage, prompt_id=samples[place].prompt_id, seed=samples[place].seed,
            **figures_of(looks[rows[place] % tries].seen[here], scores.scores[rows[place]], pays, pieces),
        )
        for place, here in near.items()
    ]  # fmt: skip
    return Looked(samples, scores.scores, figures)


def answered(seed: int, number: int) -> int:
    """The seed of one of several answers to the same question; the first has the question's own."""
    return derived_seed(seed, "another answer", number) % 2**31 if number else seed
