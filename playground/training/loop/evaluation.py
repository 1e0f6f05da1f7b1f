"""The fixed prompts, answered with the same random numbers before, during and after training: with a small vocabulary
one for each token at each position, so that a model that has moved a little mostly keeps its tokens; with a large one,
where so many would cost too much, one for each position (see docs/ppo.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from playground.training.loop.ranks import ALONE, Ranks
from playground.training.loop.sampling import Episodes, Keep, drawn_from, sample
from playground.training.loop.scoring import Scorer
from playground.training.loop.token_figures import CloseLook, Pays, figures_of
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.models.token_pieces import Pieces

MOST_NOISE = 8192  # tokens of a vocabulary that each get a random number; the shipped models have 1,280


class Evaluated(NamedTuple):
    """One evaluation."""

    samples: list[Sample]
    scores: list[float]  # of every answer that was written for them
    figures: list[TokenFigures]  # the first of the samples token by token


Judge = Callable[[Sequence[str], Sequence[str]], Mapping[str, Sequence[float | None]]]
Watch = Callable[[Sequence[str], Sequence[str], Sequence[bool]], Mapping[str, Sequence[bool | None]]]


class Generation(NamedTuple):
    """How answers are written and compared. `between`: called before every token and micro-batch; may raise."""

    tokens: Tokens
    sampling: SamplingConfig
    micro_batch_size: int
    between: Callable[[], None] = lambda: None


def answer(
    policy: LanguageModel,
    reference: LanguageModel | None,
    prompts: list[Prompt],
    seeds: list[int],
    how: Generation,
    close: CloseLook | None = None,
) -> tuple[Episodes, list[float]]:
    """One completion for each prompt and seed, which depends on its own seed only.

    Returns the episodes, and for each the exact KL of every position, summed, in nats: of the distribution that was
    drawn from (see top k and top p) to the whole `reference`; 0 with None, where the policy is the reference. Its mean
    is that of k1; it is never negative and varies far less. `close` sees each token of some of them.
    """
    sampling, longest = how.sampling, how.sampling.max_new_tokens
    draws = TokenNoise(seeds, longest) if policy.vocabulary <= MOST_NOISE else uniforms(seeds, longest)
    keep = Keep(hidden=reference is not None or close is not None)
    episodes = sample(policy, how.tokens, [prompt.ids for prompt in prompts], draws, sampling, how.between, keep)
    if reference is None:
        if close is not None:
            part = alone(policy, episodes, sorted(close.rows), sampling.temperature)
            own, _ = drawn_from(part.own, sampling.top_k, sampling.top_p)
            close.take(episodes, part._replace(own=own, theirs=own))
        return episodes, [0.0] * len(episodes)
    kl, packed = torch.zeros_like(episodes.log_probs), episodes.packed()
    both = compared(policy, reference, episodes, packed, sampling.temperature, how.micro_batch_size, how.between)
    for part in both:
        own, _ = drawn_from(part.own, sampling.top_k, sampling.top_p)
        put(kl, part.rows, part.mask, full_kl(own, part.theirs))
        if close is not None:
            close.take(episodes, part._replace(own=own))
    return episodes, kl.sum(1).tolist()


def reference_questions(training: list[Prompt], seed: int, count: int) -> tuple[list[Prompt], list[int]]:
    """Prompts and seeds of the samples that fix the scale of a run's score."""
    asked = [training[number % len(training)] for number in range(count)]
    return asked, [derived_seed(seed, "scale", number) for number in range(count)]


class FixedAnswer(NamedTuple):
    """One completion for a fixed prompt, and how far the policy was from the reference in it."""

    completion: str
    ended: bool
    tokens: int
    kl: float


class Questions(NamedTuple):
    """What is asked in every evaluation."""

    numbers: list[int]  # of the fixed prompts, which may come more than once
    prompts: list[Prompt]
    seeds: list[int]
    watched: range  # rows of those that are seen token by token


def answers_of(episodes: Episodes, kls: list[float], tokens: Tokens) -> list[FixedAnswer]:
    """Episodes in words."""
    columns = episodes.texts(tokens), episodes.ended.tolist(), episodes.lengths.tolist(), kls
    return [FixedAnswer(*row) for row in zip(*columns, strict=True)]


@dataclass
class FixedPrompts:
    """The fixed prompts of a run, and what is asked about their answers; of several ranks each answers some."""

    config: RunConfig
    tokens: Tokens
    prompts: list[Prompt]
    scorer: Scorer
    between: Callable[[], None] = lambda: None
    ranks: Ranks = ALONE
    ahead: tuple[list[FixedAnswer], CloseLook] | None = None  # of the next evaluation, written with other texts
    judge: Judge = lambda prompts, completions: {}  # values by monitor
    true: Callable[[str], str | None] = lambda prompt: None  # answer to a prompt, where answers are checked
    watch: Watch = lambda prompts, completions, ended: {}  # yes or no by behaviour

    @property
    def count(self) -> int:
        """Answers of one evaluation."""
        return len(self.prompts) * self.config.evaluation.samples_per_prompt

    def questions(self) -> Questions:
        """Each fixed prompt as often as it is asked, with the seeds of its answers."""
        each = self.config.evaluation.samples_per_prompt
        pairs = [(number, sample_number) for number in range(len(self.prompts)) for sample_number in range(each)]
        numbers = [number for number, _ in pairs]
        seeds = [derived_seed(self.config.seed, "evaluation", *pair) % 2**31 for pair in pairs]
        watched = range(0, len(pairs), each)[: self.config.evaluation.token_samples]
        return Questions(numbers, [self.prompts[number] for number in numbers], seeds, watched)

    def evaluate(
        self,
        stage: Stage,
        update: int,
        policy: LanguageModel,
        reference: LanguageModel | None,
        tries: int = 1,
        pays: Pays | None = None,
    ) -> Evaluated:
        """Answer all of them and score the answers. `tries`: how many are written for each that is given, which is the
        best-scored one. `pays`: how training pays the tokens of a text, where it does."""
        numbers, prompts, seeds, watched_rows = self.questions()
        mine = self.ranks.deal(len(prompts), first=watched_rows)
        near = {row: at for at, row in enumerate(mine) if row in watched_rows and self.ranks.rank == 0}
        if self.ahead is None:
            closes = [CloseLook(near.values(), pays.critic if pays else None) for _ in range(tries)]
            answers = self._written(policy, reference, mine, prompts, seeds, closes)
        else:
            (answers, close), self.ahead = self.ahead, None
            closes = [close]
        texts = [prompt.text for prompt in prompts for _ in range(tries)]
        scores = self.scorer(texts, [one.completion for one in answers], [one.ended for one in answers])
        rows = best_rows(scores.scores, tries)
        best = [answers[row] for row in rows]
        kl = [answer.kl for answer in best]
        if tries > 1:
            starts = range(0, len(answers), tries)
            kl = [kl_of_best(scores.scores[start : start + tries], tries) for start in starts]
        given = [prompt.text for prompt in prompts], [answer.completion for answer in best]
        judged, watched = self.judge(*given), self.watch(*given, [answer.ended for answer in best])
        samples = [
            Sample(
                update=update,
                stage=stage,
                prompt_id=number,
                prompt=prompt.text,
                completion=best[at].completion,
                seed=seed,
                score=scores.scores[row],
                scores={name: values[row] for name, values in scores.terms.items()},
                judges={name: values[at] for name, values in judged.items()},
                behaviours={name: marks[at] for name, marks in watched.items()},
                answer=self.true(prompt.text),
                kl=kl[at],
                tokens=best[at].tokens,
                ended=best[at].ended,
            )
            for at, (row, seed, number, prompt) in enumerate(zip(rows, seeds, numbers, prompts, strict=True))
        ]
        figures, pieces = [], Pieces(self.tokens)
        for at, here in near.items():
            seen = figures_of(closes[rows[at] % tries].seen[here], scores.scores[rows[at]], pays, pieces)
            one = samples[at]
            figures.append(TokenFigures(update=update, stage=stage, prompt_id=one.prompt_id, seed=one.seed, **seen))
        return Evaluated(samples, scores.scores, figures)

    def _written(
        self,
        policy: LanguageModel,
        reference: LanguageModel | None,
        mine: list[int],
        prompts: list[Prompt],
        seeds: list[int],
        closes: list[CloseLook],
    ) -> list[FixedAnswer]:
        """Answers to all questions, as many to each as there are `closes`; this rank writes those to `mine`."""
        how = Generation(self.tokens, self.config.sampling, self.config.ppo.micro_batch_size, self.between)
        rounds = []
        for number, close in enumerate(closes):
            written = []
            if mine:
                chosen = [prompts[row] for row in mine], [answered(seeds[row], number) for row in mine]
                found = answer(policy, reference, *chosen, how, close if close.rows else None)
                written = answers_of(*found, self.tokens)
            parts = self.ranks.exchange([*zip(mine, written, strict=True)])
            rounds.append({row: FixedAnswer(*one) for part in parts for row, one in part})
        return [answers[row] for row in range(len(prompts)) for answers in rounds]


def answered(seed: int, number: int) -> int:
    """The seed of one of several answers to the same question; the first has the question's own."""
    return derived_seed(seed, "another answer", number) % 2**31 if number else seed
