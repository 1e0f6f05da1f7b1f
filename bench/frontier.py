"""How near PPO comes to the best that any policy could do: `make frontier`.

Of all policies with the same KL to the reference none has a higher score than a reweighting of the reference,
pi*(y | x) = pi_ref(y | x) exp(score(x, y) / beta) / Z(x), for some beta (Ziegler et al. 2019, section 2). What it would
score is estimated: completions are drawn from the reference and from every trained policy, and each is weighed by how
likely pi* would have written it against how likely the mixture of all of them was to (multiple importance sampling with
the balance heuristic, Veach and Guibas 1995, eq. 10).

Each seed has a frontier of its own: 256 completions fix the scale of the score, others with another seed, and the
prompts are those that runs of this seed were not trained on.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench import results, tables
from bench.experiments import Cell, Figures, Row, machine, options, run_of
from playground.analysis.against_kl import Optimum, between, reweighted
from playground.config import SamplingConfig
from playground.runs.folder.directory import RunDirectory
from playground.training.data.prompts import Prompt, unseen
from playground.training.data.random_streams import derived_seed
from playground.training.loop import evaluation
from playground.training.loop.passes import whole_log_probs
from playground.training.models.language_model import LanguageModel, Tokens
from playground.training.process.tuning import limit_threads

Array = NDArray[np.float64]
PRESETS = ("kinder-reviews", "without-critic", "autopilot")  # one reward, one set of prompts
PROMPTS, EACH = 60, 100  # completions of each prompt from the reference and from every run
BETAS = tuple(0.25 * 2 ** (step / 8) for step in range(-6, 25))  # 0.15 to 2 sd of score per nat
EPISODES_AT_ONCE, SCORED_AT_ONCE = 800, 100
RESAMPLES = 400
ALIKE = ("model", "reference", "prompts", "rewards", "score", "sampling")  # parts that all runs share


def main() -> None:
    """Find or train the runs, measure, write the page."""
    parser = options(__doc__)
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    parser.add_argument("--each", type=int, default=EACH, help="completions of a prompt from each policy")
    arguments = parser.parse_args()
    rows, frontiers = [], []
    for seed in arguments.seeds:
        configs = {preset: Cell(preset, seed).config for preset in PRESETS}
        runs = {preset: run_of(config, arguments.outputs) for preset, config in configs.items()}
        points, of_seed = measure(runs, arguments.prompts, arguments.each)
        frontiers.append({"seed": seed, "points": points})
        rows += of_seed
    rows.sort(key=lambda row: (PRESETS.index(row["preset"]), row["seed"]))
    facts = {"machine": machine(), "prompts": arguments.prompts, "each": arguments.each}
    Figures("frontier").write(**facts, frontiers=frontiers, runs=rows)
    tables.write("results", results.page())


def best_score(optima: Sequence[Optimum], kl: float, prompts: Any = slice(None)) -> float | None:
    """The highest score that a policy at `kl` nats can have, between the two nearest points of the frontier; None
    beyond the last of them. `prompts`: which of them count, and how often."""
    points = [(float(optimum.kl[prompts].mean()), float(optimum.score[prompts].mean())) for optimum in optima]
    return between(points, kl)


def share(optima: Sequence[Optimum], score: Array, kl: Array) -> tuple[float, float]:
    """The share of the frontier's score that a policy has, at its own KL; and its standard error, which comes from
    drawing the prompts anew (bootstrap), since policy and frontier are measured on the same ones.

    Args:
        score, kl: of the policy, means for each prompt [P].
    """

    def of(prompts: Any) -> float:
        best = best_score(optima, float(kl[prompts].mean()), prompts)
        return float(score[prompts].mean()) / best

    resampled = np.random.default_rng(0).integers(len(score), size=(RESAMPLES, len(score)))
    return of(slice(None)), statistics.stdev(map(of, resampled))


# -- drawing ----------------------------------------------------------------------------------------------------------


class Drawn(NamedTuple):
    """`each` completions of each of P prompts from each of K policies, the reference first; S = K x each.

    Attributes:
        texts, ended: P x S, prompts in the outer loop, then policies. log_probs [K, P, S]: of whole completions, the
            end-of-text token included where there is one. kl [K, P, each]: exact at every position, summed, nats, of
            each policy's own completions.
    """

    texts: list[str]
    ended: list[bool]
    log_probs: Array
    kl: Array


def draw(
    models: Sequence[LanguageModel], tokens: Tokens, prompts: Sequence[Prompt], each: int, sampling: SamplingConfig
) -> Drawn:
    """Completions of every prompt from every model, the reference first, and what each model thinks of each."""
    shape = len(prompts), len(models), each
    texts, ended = np.empty(shape, dtype=object), np.empty(shape, dtype=bool)
    log_probs, kl = np.empty((len(models), *shape)), np.empty((len(models), len(prompts), each))
    at_once = max(1, EPISODES_AT_ONCE // each)
    how = evaluation.Generation(tokens, sampling, SCORED_AT_ONCE)
    for k, model in enumerate(models):
        reference = models[0] if k else None
        for first in range(0, len(prompts), at_once):
            part = slice(first, first + at_once)
            repeated = [prompt for prompt in prompts[part] for _ in range(each)]
            seeds = [derived_seed(k, "frontier", first * each + number) for number in range(len(repeated))]
            episodes, nats = evaluation.answer(model, reference, repeated, seeds, how)
            texts[part, k] = np.array(episodes.texts(tokens), dtype=object).reshape(-1, each)
            ended[part, k] = episodes.ended.numpy().reshape(-1, each)
            kl[k, part] = np.array(nats).reshape(-1, each)
            for number, judge in enumerate(models):
                values = whole_log_probs(judge, episodes, sampling.temperature, SCORED_AT_ONCE)
                log_probs[number, part, k] = values.reshape(-1, each)
        print(f"drew from {k + 1} of {len(models)} policies", file=sys.stderr, flush=True)
    by_prompt = log_probs.reshape(len(models), len(prompts), -1)
    return Drawn(texts.reshape(-1).tolist(), ended.reshape(-1).tolist(), by_prompt, kl)


# -- the runs of a seed -----------------------------------------------------------------------------------------------


def measure(runs: dict[str, RunDirectory], num_prompts: int, each: int) -> tuple[list[Row], list[Row]]:
    """Draw, weigh, compare: the points of the frontier, and a line for each run.

    Args:
        runs: by preset, of one seed: with the same model, prompts and rewards, and so the same scale of the score.
    """
    config = next(iter(runs.values())).config()
    for run in runs.values():
        for name in ALIKE:
            assert getattr(run.config(), name) == getattr(config, name), f"{run.path} is of another {name}"
    scales = {(facts["score_mean"], facts["score_sd"]) for facts in map(results.facts_of, runs.values())}
    assert len(scales) == 1, f"the runs count their scores in different units: {scales}"
    texts = unseen(config.prompts, config.evaluation.num_prompts, config.seed)[:num_prompts]
    drawn, scores = scored(list(runs.values()), texts, each)
    of_policies = scores.reshape(len(texts), -1, each)
    optima = [reweighted(drawn.log_probs, scores, beta) for beta in BETAS]
    rows = []
    for k, preset in enumerate(runs, start=1):
        line = of_run(optima, of_policies[:, k].mean(1), drawn.kl[k].mean(1))
        rows.append({"preset": preset, "seed": config.seed, **line})
    return [point(beta, optimum) for beta, optimum in zip(BETAS, optima, strict=True)], rows


def scored(runs: Sequence[RunDirectory], texts: Sequence[str], each: int) -> tuple[Drawn, Array]:
    """Completions from the reference and from all trained policies, with their scores [P, S]."""
    trained = [results.Trained.of(run) for run in runs]
    reference, tokens, scorer = trained[0].reference, trained[0].tokens, trained[0].scorer
    limit_threads(reference)
    models = [reference, *(models.policy for models in trained)]
    prompts = [Prompt(text, tokens.encode(text)) for text in texts]
    drawn = draw(models, tokens, prompts, each, runs[0].config().sampling)
    repeated = [text for text in texts for _ in range(len(models) * each)]
    scores = scorer(repeated, drawn.texts, drawn.ended).scores
    return drawn, np.array(scores).reshape(len(texts), -1)


def of_run(optima: Sequence[Optimum], score: Array, kl: Array) -> Row:
    """How near a policy is to the frontier, from its means for each prompt."""
    nearest = min(optima, key=lambda optimum: abs(optimum.kl.mean() - kl.mean()))
    part, part_error = share(optima, score, kl)
    return {
        **mean("score", score),
        **mean("kl", kl),
        "best": round(best_score(optima, float(kl.mean())), 4),
        "share": round(part, 4),
        "share_se": round(part_error, 4),
        **effective(nearest),
    }


def point(beta: float, optimum: Optimum) -> Row:
    """One point of the frontier: means over prompts, and how much is behind them."""
    objective = beta * optimum.log_partition
    means = {**mean("score", optimum.score), **mean("kl", optimum.kl), **mean("objective", objective)}
    return {"beta": round(beta, 4), **means, **effective(optimum)}


def effective(optimum: Optimum) -> Row:
    """How many samples are behind a point of the frontier: of the median prompt, and of the poorest twentieth."""
    median, poor = np.quantile(optimum.effective, [0.5, 0.05])
    return {"effective_median": round(float(median), 1), "effective_p5": round(float(poor), 1)}


def mean(name: str, values: Array) -> Row:
    """Over prompts, with its standard error."""
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    return {name: round(float(values.mean()), 4), f"{name}_se": round(error, 4)}


if __name__ == "__main__":
    main()
