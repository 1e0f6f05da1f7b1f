"""A run's score on its fixed prompts against its KL, look by look; beside it the best of n of the reference and the
best policies, both from texts that were drawn for it. And in a sentence how far the run is from what these show. Pure.

The page (`ui/live/wire_frontier`), `show` and the overlay of several runs call it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.config import RunConfig, methods
from playground.insight import roads
from playground.insight.before_after import decimals, mean_and_half
from playground.insight.frontier import reweighting
from playground.insight.frontier.reweighting import Optimum, Point
from playground.rewards.best_answers import expected_curve, kl_bound, kl_of_best
from playground.runs.folder.records import BEST_OF, Event, Sample, UpdateMetrics
from playground.runs.frontier_samples import FrontierSamples

RESAMPLES = 400  # other draws of the prompts
FEWEST_PROMPTS = 16  # of fewer, other draws are so much alike that an interval from them is too narrow
LEAST_EFFECTIVE = 30.0  # samples behind a point of the frontier; with fewer it is drawn grey and nothing is read off it
BETAS = tuple(2.0 ** (step / 4) for step in range(-20, 17))  # in sd of the reference's scores: 0.03 to 16


class Look(NamedTuple):
    """The fixed prompts at one moment: mean score and half its 95 % interval over prompts (None with one prompt, and
    where all score alike at every look), and the KL to the reference in nats per completion."""

    update: int
    kl: float
    score: float
    half: float | None


class BestOf(NamedTuple):
    """The best of n answers of the reference: what it scores on average, and how far it is, with half the 95 % interval
    over prompts (None where that is not known)."""

    n: int
    kl: float
    score: float
    kl_half: float | None = None


class Reached(NamedTuple):
    """What the drawn texts of the newest policy show of it, saved after `update`: mean score (`half`: half of its 95 %
    interval over prompts) and KL, the `best` score at that KL, and the `share` of the gain to it that the policy has,
    with its 95 % interval; None where these texts cannot tell."""

    update: int
    texts: int
    score: float
    half: float | None
    kl: float
    best: float | None
    share: float | None
    low: float | None
    high: float | None


class Possible(NamedTuple):
    """What drawn texts show to be possible. `updates`: whose texts, by when they were saved; `texts` of the reference
    on so many `prompts`; `start` is what they score on average. `reached`: None where no policy was trained."""

    start: float
    best_of: list[BestOf]
    optimum: list[Point]
    updates: list[int]
    texts: int
    prompts: int
    reached: Reached | None = None


def looks(samples: Sequence[Sample], events: Iterable[Event] = ()) -> list[Look]:
    """The looks of a run in their order; of several attempts at an update the last one counts. Of the best of n, what
    the best of fewer would be."""
    latest = {(item.update, item.prompt_id, item.seed): item for item in samples}
    scores: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    drift: dict[int, list[float]] = defaultdict(list)
    for item in latest.values():
        if item.score is not None and item.kl is not None:
            scores[item.update][item.prompt_id].append(item.score)
            drift[item.update].append(item.kl)
    found = []
    seen = [item.score for item in latest.values() if item.score is not None]
    for update, by_prompt in sorted(scores.items()):
        mean, half = mean_and_half([fmean(values) for values in by_prompt.values()], max(seen) - min(seen))
        found.append(Look(update, fmean(drift[update]), mean, None if math.isnan(half) else half))
    events = list(events)
    if found and any(event.kind == BEST_OF for event in events):
        last, start = found[-1].update, found[0].score
        return [Look(last, one.kl, start + one.gain, one.half) for one in roads.way(samples, events)] or found
    return found


def leash(config: RunConfig, metrics: Sequence[UpdateMetrics]) -> float | None:
    """The beta that a run ended with; None without a leash."""
    if methods.unused(config.method, "kl.coef"):
        return None
    return (metrics[-1].kl_coef if metrics else config.kl.coef) or None


def possible(drawn: FrontierSamples, beta: float | None = None) -> Possible:
    """What the texts that were drawn for a run show; `beta` is one more point of the optimum, the run's own."""
    scores = np.array(drawn.scores)
    reference = scores[:, : drawn.each]
    best = expected_curve(reference.ravel().tolist(), drawn.each)
    best_of = [BestOf(n, kl, score, _half_of_kl(reference, n)) for n, score, kl in zip(*best, strict=True)]
    ratios = np.zeros((len(drawn.updates), *scores.shape))  # of each policy to the reference, which is all that counts
    if drawn.log_ratios:
        ratios[1:] = drawn.log_ratios
    spread = math.sqrt(float(reference.var(axis=1, ddof=1).mean())) if drawn.each > 1 else 0.0
    betas = [*([beta] if beta else []), *(spread * step for step in BETAS)]
    optimum = reweighting.curve(ratios, scores, betas) if spread > 0 else []
    reached = None
    if drawn.log_ratios:
        optima = [reweighting.reweighted(ratios, scores, point.beta) for point in trusted(optimum)]
        reached = _reached(drawn, scores, optima)
    return Possible(float(reference.mean()), best_of, optimum, drawn.updates, reference.size, len(reference), reached)


def _reached(drawn: FrontierSamples, scores: NDArray[np.float64], optima: Sequence[Optimum]) -> Reached:
    """Of the newest policy; the interval comes from other draws of the prompts (bootstrap, percentiles)."""
    own, start = scores[:, -drawn.each :].mean(1), scores[:, : drawn.each].mean(1)
    kl = np.array(drawn.log_ratios[-1])[:, -drawn.each :].mean(1)

    def best_and_share(rows: NDArray[np.int64]) -> tuple[float, float] | None:
        points = sorted((float(item.kl[rows].mean()), float(item.score[rows].mean())) for item in optima)
        far = float(kl[rows].mean())
        if not points or far > points[-1][0]:
            return None
        best = float(np.interp(far, [point[0] for point in points], [point[1] for point in points]))
        room = best - float(start[rows].mean())
        return (best, float((own[rows] - start[rows]).mean()) / room) if room > 0 else None

    count = len(own)
    mean, half = mean_and_half(own.tolist(), float(scores.max() - scores.min()))
    found = best_and_share(np.arange(count))
    draws = np.random.default_rng(0).integers(0, count, (RESAMPLES, count))
    known = [one[1] for one in map(best_and_share, draws) if one] if found and count >= FEWEST_PROMPTS else []
    sure = len(known) > 0.95 * RESAMPLES
    low, high = map(float, np.quantile(known, [0.025, 0.975])) if sure else (None, None)
    best, share = found or (None, None)
    return Reached(
        drawn.updates[-1], own.size * drawn.each, mean, None if math.isnan(half) else half, float(kl.mean()), best,
        share if sure else None, low, high,
    )  # fmt: skip


def _half_of_kl(scores: NDArray[np.float64], n: int) -> float | None:
    """Half the 95 % interval of the KL of the best of n, over the prompts [P, S]; None where it is the same for all,
    as its bound is where no two texts score alike."""
    each = [kl_of_best(row, n) for row in scores.tolist()]
    half = mean_and_half(each, kl_bound(n) if len(set(each)) > 1 else 0.0)[1]
    return None if math.isnan(half) else half


def trusted(optimum: Sequence[Point]) -> list[Point]:
    """The points behind which enough samples count, from the tightest leash up to the first that lacks them."""
    known = [point.effective >= LEAST_EFFECTIVE for point in optimum]
    return list(optimum[: known.index(False)] if False in known else optimum)


def as_data(path: Sequence[Look], found: Possible | None) -> dict[str, Any]:
    """All of it as plain data."""
    told = None
    if found is not None:
        lines = {name: [one._asdict() for one in getattr(found, name)] for name in ("best_of", "optimum")}
        told = {**found._asdict(), **lines, "trusted": len(trusted(found.optimum))}
        told["reached"] = found.reached._asdict() if found.reached else None
    return {"looks": [look._asdict() for look in path], "possible": told, "sentence": sentence(path, found)}


def best_at(optimum: Sequence[Point], kl: float) -> float | None:
    """The highest score at a KL that these samples show; None beyond the points that can be trusted."""
    points = trusted(optimum)
    if not points or kl > points[-1].kl:
        return None
    return float(np.interp(kl, [point.kl for point in points], [point.score for point in points]))


def sentence(path: Sequence[Look], found: Possible | None) -> str:
    """How far the run is from what its samples show to be possible at its KL; empty where that cannot be said yet."""
    if len(path) < 2 or found is None:
        return ""
    end, reached = path[-1], found.reached
    if reached:
        end = Look(reached.update, reached.kl, reached.score, reached.half)
    by = f" by {reached.texts:,} texts drawn after update {reached.update}" if reached else ""
    told = f"At {_nats(end.kl)} the run scores {_score(end.score, end.half)}{by}"
    best = reached.best if reached else best_at(found.optimum, end.kl)
    beaten = _best_of_words(end, found)
    if best is None:
        why = f"fewer than {LEAST_EFFECTIVE:.0f} of the drawn texts count there"
        return f"{told}. What is possible at that distance is not known: {why}. {beaten}".strip()
    return f"{told}; {_share_words(best, reached)}. {beaten}"


def _share_words(best: float, reached: Reached | None) -> str:
    """What is possible, and what share of the gain to it was reached, where drawn texts of the policy tell."""
    told = f"these samples show {best:.2f} to be possible there"
    if not reached:
        return told
    if reached.share is None or reached.low is None or reached.high is None:
        return f"{told}; what share of the gain it has cannot be told from chance"
    return (
        f"{told}, so it has {100 * reached.share:.0f} % of the gain (95 % interval {100 * reached.low:.0f} to "
        f"{100 * reached.high:.0f} %)"
    )


def _best_of_words(end: Look, found: Possible) -> str:
    better = next((one for one in found.best_of if one.score >= end.score), None)
    if better is None:
        last = found.best_of[-1]
        return (
            f"The best of {last.n} answers of the reference scores {last.score:.2f}, at {_nats(last.kl, last.kl_half)}."
        )
    if better.n == 1:
        return "A single answer of the reference scores as much."
    told = f"The best of {better.n} answers of the reference scores {better.score:.2f}, at "
    told += _nats(better.kl, better.kl_half)
    return f"{told}, nearer to it." if better.kl + (better.kl_half or 0.0) < end.kl else f"{told}."


def _nats(kl: float, half: float | None = None) -> str:
    return f"{kl:.3g} nats" if half is None else f"{kl:.3g} \u00b1 {half:.2g} nats"


def _score(score: float, half: float | None) -> str:
    digits = decimals(half or 0.0)
    return f"{score:.{digits}f}" if half is None else f"{score:.{digits}f} \u00b1 {half:.{digits}f}"
