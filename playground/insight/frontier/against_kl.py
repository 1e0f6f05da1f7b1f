"""A run's score on its fixed prompts against its KL, one evaluation after the other; beside it the best of n of the
reference and the best policies, both from texts that were drawn for it. And in a sentence how far the run is from what
these show. Pure.

The page (`ui/live/insight_serializer`), `show` and the overlay of several runs call it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.config import RunConfig, methods
from playground.insight import roads
from playground.insight.frontier import reweighting
from playground.insight.frontier.reweighting import Optimum, Point
from playground.insight.intervals import Interval, by_unit, interval
from playground.rewards.best_answers import expected_curve, kl_bound, kl_of_best
from playground.runs.folder.records import BEST_OF, Event, Sample, UpdateMetrics
from playground.runs.frontier_samples import FrontierSamples

RESAMPLES = 400  # other draws of the prompts
FEWEST_PROMPTS = 16  # of fewer, other draws are so much alike that an interval from them is too narrow
LEAST_EFFECTIVE = 30.0  # samples behind a point of the frontier; with fewer it is drawn grey and nothing is read off it
BETAS = tuple(2.0 ** (step / 4) for step in range(-20, 17))  # in sd of the reference's scores: 0.03 to 16


class Look(NamedTuple):
    """The fixed prompts at one moment: mean score and half its 95 % interval over prompts (None with one prompt, and
    where all score alike at every moment), and the KL to the reference in nats per completion."""

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
    """The evaluations of a run in their order; of several attempts at an update the last one counts. Of the best of n,
    what the best of fewer would be."""
    latest = {(item.update, item.prompt_id, item.seed): item for item in samples}
    scored = [(item, item.score, item.kl) for item in latest.values() if item.score is not None]
    if not scored:
        return []
    span = max(score for _, score, _ in scored) - min(score for _, score, _ in scored)
    found = []
    for update in sorted({item.update for item, _, kl in scored if kl is not None}):
        here = [(item.prompt_id, score, kl) for item, score, kl in scored if item.update == update and kl is not None]
        score = interval(map(fmean, by_unit((prompt, score) for prompt, score, _ in here).values()), span)
        found.append(Look(update, fmean(kl for _, _, kl in here), score.mean, score.half))
    events = list(events)
    if found and any(event.kind == BEST_OF for event in events):
        last, start = found[-1].update, found[0].score
        return [Look(last, one.kl, start + one.gain, one.half) for one in roads.way(samples, events)] or found
    return found


def final_beta(config: RunConfig, metrics: Sequence[UpdateMetrics]) -> float | None:
    """The beta that a run ended with; None without a KL penalty."""
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
    count = len(own)

    def share_of(rows: NDArray[np.int64]) -> float | None:
        best = reweighting.best_score(optima, float(kl[rows].mean()), rows)
        room = 0.0 if best is None else best - float(start[rows].mean())
        return float((own[rows] - start[rows]).mean()) / room if room > 0 else None

    share = share_of(np.arange(count))
    best = None if share is None else reweighting.best_score(optima, float(kl.mean()))
    draws = np.random.default_rng(0).integers(0, count, (RESAMPLES, count))
    enough = share is not None and count >= FEWEST_PROMPTS
    known = [one for one in map(share_of, draws) if one is not None] if enough else []
    sure = len(known) > 0.95 * RESAMPLES
    low, high = map(float, np.quantile(known, [0.025, 0.975])) if sure else (None, None)
    score = interval(own.tolist(), float(np.ptp(scores)))
    texts = own.size * drawn.each
    last = drawn.updates[-1]
    return Reached(last, texts, score.mean, score.half, float(kl.mean()), best, share if sure else None, low, high)


def _half_of_kl(scores: NDArray[np.float64], n: int) -> float | None:
    """Half the 95 % interval of the KL of the best of n, over the prompts [P, S]; None where it is the same for all,
    as its bound is where no two texts score alike."""
    each = [kl_of_best(row, n) for row in scores.tolist()]
    return interval(each, kl_bound(n) if len(set(each)) > 1 else 0.0).half


def trusted(optimum: Sequence[Point]) -> list[Point]:
    """The points behind which enough samples count, from the largest beta down to the first that lacks them."""
    known = [point.effective >= LEAST_EFFECTIVE for point in optimum]
    return list(optimum[: known.index(False)] if False in known else optimum)


def as_data(path: Sequence[Look], found: Possible | None) -> dict[str, Any]:
    """All of it as plain data."""
    shown = None
    if found is not None:
        lines = {name: [one._asdict() for one in getattr(found, name)] for name in ("best_of", "optimum")}
        shown = {**found._asdict(), **lines, "trusted": len(trusted(found.optimum))}
        shown["reached"] = found.reached._asdict() if found.reached else None
    return {"looks": [look._asdict() for look in path], "possible": shown, "sentence": sentence(path, found)}


def best_at(optimum: Sequence[Point], kl: float) -> float | None:
    """The highest score at a KL that these samples show; None beyond the points that can be trusted."""
    return reweighting.between([(point.kl, point.score) for point in trusted(optimum)], kl)


def sentence(path: Sequence[Look], found: Possible | None) -> str:
    """How far the run is from what its samples show to be possible at its KL; empty where that cannot be said yet."""
    if len(path) < 2 or found is None:
        return ""
    (update, kl, score, half), by, best = path[-1], "", best_at(found.optimum, path[-1].kl)
    if reached := found.reached:
        update, kl, score, half, best = reached.update, reached.kl, reached.score, reached.half, reached.best
        by = f" by {reached.texts:,} texts drawn after update {update}"
    at = f"At {_nats(kl)} the run scores {Interval(score, half, 1).in_words()}{by}"
    if best is None:
        why = f"fewer than {LEAST_EFFECTIVE:.0f} of the drawn texts count there"
        shown = f". What is possible at that distance is not known: {why}"
    else:
        shown = f"; these samples show {best:.2f} to be possible there"
        if reached and reached.share is not None and reached.low is not None and reached.high is not None:
            bounds = f"{100 * reached.low:.0f} to {100 * reached.high:.0f} %"
            shown += f", so it has {100 * reached.share:.0f} % of the gain (95 % interval {bounds})"
        elif reached:
            shown += "; what share of the gain it has cannot be told from chance"
    return f"{at}{shown}. {_best_of_words(kl, score, found.best_of)}"


def _best_of_words(kl: float, score: float, best_of: Sequence[BestOf]) -> str:
    """The smallest n whose best answer scores as much as the run."""
    better = next((one for one in best_of if one.score >= score), None)
    if better and better.n == 1:
        return "A single answer of the reference scores as much."
    one = better or best_of[-1]
    nearer = ", nearer to it" if better and better.kl + (better.kl_half or 0.0) < kl else ""
    at = _nats(one.kl, one.kl_half)
    return f"The best of {one.n} answers of the reference scores {one.score:.2f}, at {at}{nearer}."


def _nats(kl: float, half: float | None = None) -> str:
    return f"{kl:.3g} nats" if half is None else f"{kl:.3g} \u00b1 {half:.2g} nats"
