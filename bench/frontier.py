"""How near PPO comes to the best that any policy could do: `make frontier`.

Of all policies with the same KL to the reference none has a higher score than a reweighting of the reference,
pi*(y | x) = pi_ref(y | x) exp(score(x, y) / beta) / Z(x), for some beta (Ziegler et al. 2019, section 2). Nobody can
sample from it, but what it would score can be estimated: completions are drawn from the reference and from every
trained policy, and each is weighed by how likely pi* would have written it against how likely the mixture of all of
them was to (multiple importance sampling with the balance heuristic, Veach and Guibas 1995, eq. 10).

Each seed has a frontier of its own: 256 completions fix the scale of the score, others with another seed, and the
prompts are those that runs of this seed were not trained on.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from bench import results, results_page  # noqa: E402
from playground.analysis.against_kl import Optimum, between, reweighted  # noqa: E402
from playground.config import SamplingConfig  # noqa: E402
from playground.runs.folder.directory import RunDirectory  # noqa: E402
from playground.setup import catalog  # noqa: E402
from playground.training.data.prompts import Prompt, unseen  # noqa: E402
from playground.training.data.random_streams import derived_seed  # noqa: E402
from playground.training.loop import evaluation  # noqa: E402
from playground.training.loop.passes import whole_log_probs  # noqa: E402
from playground.training.loop.scoring import Scorer  # noqa: E402
from playground.training.models import loading  # noqa: E402
from playground.training.models.language_model import LanguageModel, Tokens  # noqa: E402
from playground.training.process.tuning import limit_threads  # noqa: E402

Array = NDArray[np.float64]
PRESETS = ("kinder-reviews", "without-critic", "autopilot")  # one reward, one set of prompts
PROMPTS, EACH = 60, 100  # completions of each prompt from the reference and from every run
BETAS = tuple(0.25 * 2 ** (step / 8) for step in range(-6, 25))  # 0.15 to 2 sd of score per nat
EPISODES_AT_ONCE, SCORED_AT_ONCE = 800, 100
RESAMPLES = 400


def best_score(optima: Sequence[Optimum], kl: float, prompts: Any = slice(None)) -> float | None:
    """The highest score that a policy at `kl` nats can have, between the two nearest points of the frontier; None
    beyond the last of them.

    Args:
        optima: for several betas. prompts: which of them count, and how often.
    """
    return between([(float(item.kl[prompts].mean()), float(item.score[prompts].mean())) for item in optima], kl)


def share(optima: Sequence[Optimum], score: Array, kl: Array) -> tuple[float, float]:
    """The share of the frontier's score that a policy has, at its own KL; and its standard error, which comes from
    drawing the prompts anew (bootstrap), since policy and frontier are measured on the same ones.

    Args:
        score, kl: of the policy, means for each prompt [P].
    """

    def of(prompts: Any) -> float:
        return float(score[prompts].mean()) / best_score(optima, float(kl[prompts].mean()), prompts)

    drawn = np.random.default_rng(0).integers(len(score), size=(RESAMPLES, len(score)))
    return of(slice(None)), statistics.stdev(map(of, drawn))


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
    for k, model in enumerate(models):
        for first in range(0, len(prompts), at_once):
            part = slice(first, first + at_once)
            asked = [prompt for prompt in prompts[part] for _ in range(each)]
            seeds = [derived_seed(k, "frontier", first * each + number) for number in range(len(asked))]
            reference = models[0] if k else None
            episodes, found = evaluation.answer(
                model, reference, asked, seeds, evaluation.Generation(tokens, sampling, SCORED_AT_ONCE)
            )
            texts[part, k] = np.array(episodes.texts(tokens), dtype=object).reshape(-1, each)
            ended[part, k] = episodes.ended.numpy().reshape(-1, each)
            kl[k, part] = np.array(found).reshape(-1, each)
            for other, judge in enumerate(models):
                log_probs[other, part, k] = whole_log_probs(
                    judge, episodes, sampling.temperature, SCORED_AT_ONCE
                ).reshape(-1, each)
        print(f"drew from {k + 1} of {len(models)} policies", file=sys.stderr, flush=True)
    return Drawn(
        texts.reshape(-1).tolist(), ended.reshape(-1).tolist(), log_probs.reshape(len(models), len(prompts), -1), kl
    )


# -- runs -------------------------------------------------------------------------------------------------------------


def finished(preset: str, seed: int, outputs: Path) -> RunDirectory | None:
    """The newest run of a preset, as it is today, that `make results` has left finished; None without one."""
    config = catalog.preset(preset).model_copy(update={"seed": seed})
    runs = [RunDirectory(path.parent) for path in (outputs / f"{preset}-seed{seed}").glob("*/config.yaml")]
    alike = [run for run in runs if run.config() == config and run.status().state == "finished"]
    return max(alike, key=lambda run: run.status().started_at or 0, default=None)


def measure(runs: dict[str, RunDirectory], num_prompts: int, each: int) -> tuple[list[dict[str, Any]], list[Any]]:
    """Draw, weigh, compare.

    Args:
        runs: by preset, of one seed: with the same model, prompts and rewards, and so the same scale of the score.

    Returns:
        the points of the frontier, and a line for each run.
    """
    first, device = next(iter(runs.values())).config(), torch.device("cpu")
    reference, tokens = loading.load(catalog.model_folder(first.model.source), device)
    limit_threads(reference)
    models, scorer = [reference], Scorer(first)
    scales = set()
    for run in runs.values():
        config, checkpoint = run.config(), run.latest_checkpoint()
        assert checkpoint is not None
        for name in ("seed", "model", "reference", "prompts", "rewards", "score", "sampling"):
            assert getattr(config, name) == getattr(first, name), f"{run.path} is of another {name}"
        models.append(loading.load(checkpoint, device)[0])
        scales.add(scorer.restore(json.loads((checkpoint / "trainer.json").read_text())).scale)
    assert len(scales) == 1, f"the runs count their scores in different units: {scales}"
    texts = unseen(first.prompts, first.evaluation.num_prompts, first.seed)[:num_prompts]
    drawn = draw(models, tokens, [Prompt(text, tokens.encode(text)) for text in texts], each, first.sampling)
    asked = [text for text in texts for _ in range(len(models) * each)]
    scores = np.array(scorer(asked, drawn.texts, drawn.ended).scores).reshape(len(texts), len(models), each)
    optima = [reweighted(drawn.log_probs, scores.reshape(len(texts), -1), beta) for beta in BETAS]
    rows = []
    for k, preset in enumerate(runs, start=1):
        own, kl = scores[:, k].mean(1), drawn.kl[k].mean(1)
        nearest = min(optima, key=lambda item: abs(item.kl.mean() - kl.mean()))
        part, part_error = share(optima, own, kl)
        rows.append(
            {
                "preset": preset,
                "seed": first.seed,
                "score": mean(own),
                "score_se": error(own),
                "kl": mean(kl),
                "kl_se": error(kl),
                "best": round(best_score(optima, float(kl.mean())), 4),
                "share": round(part, 4),
                "share_se": round(part_error, 4),
                **effective(nearest),
            }
        )
    return list(map(told, BETAS, optima)), rows


def told(beta: float, optimum: Optimum) -> dict[str, float]:
    """One point of the frontier: means over prompts, standard errors over prompts, and how much is behind them."""
    objective = beta * optimum.log_partition
    return {
        "beta": round(beta, 4),
        "score": mean(optimum.score),
        "score_se": error(optimum.score),
        "kl": mean(optimum.kl),
        "kl_se": error(optimum.kl),
        "objective": mean(objective),
        "objective_se": error(objective),
        **effective(optimum),
    }


def effective(optimum: Optimum) -> dict[str, float]:
    """How many samples are behind a point of the frontier: of the median prompt, and of the poorest twentieth."""
    median, poor = np.quantile(optimum.effective, [0.5, 0.05])
    return {"effective_median": round(float(median), 1), "effective_p5": round(float(poor), 1)}


def mean(values: Array) -> float:
    """Over prompts."""
    return round(float(values.mean()), 4)


def error(values: Array) -> float:
    """Standard error of that mean."""
    return round(float(values.std(ddof=1)) / math.sqrt(len(values)), 4)


def main() -> None:
    """Take the runs that `make results` left, train what is missing, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--outputs", type=Path, default=PROJECT / "outputs" / "results")
    parser.add_argument("--prompts", type=int, default=PROMPTS)
    parser.add_argument("--each", type=int, default=EACH, help="completions of a prompt from each policy")
    parser.add_argument("--json", type=Path, default=results_page.FRONTIER)
    parser.add_argument("--page", type=Path, default=results_page.PAGE)
    arguments = parser.parse_args()
    report: dict[str, Any] = {
        "machine": results.machine(),
        "prompts": arguments.prompts,
        "each": arguments.each,
        "frontiers": [],
        "runs": [],
    }
    for seed in arguments.seeds:
        runs = {preset: finished(preset, seed, arguments.outputs) for preset in PRESETS}
        found = {preset: run or results.train(preset, seed, arguments.outputs)[0] for preset, run in runs.items()}
        points, rows = measure(found, arguments.prompts, arguments.each)
        report["frontiers"].append({"seed": seed, "points": points})
        report["runs"] += rows
    report["runs"].sort(key=lambda row: (PRESETS.index(row["preset"]), row["seed"]))
    arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    arguments.page.write_text(results_page.page(results_page.read(results_page.PRESETS), report))
    print(f"wrote {arguments.page}")


if __name__ == "__main__":
    main()
