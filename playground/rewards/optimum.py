"""What the best policy under some rewards would do, from samples of the reference, and the weight that turns it round.

No policy earns more of score - beta x KL than pi*(y) = pi_ref(y) exp(score(y) / beta) / Z (Ziegler et al. 2019, section
2). Its behaviour A has the odds of the reference times E_ref[e^(score/beta) | A] / E_ref[e^(score/beta) | not A], so it
shows A less often than the reference where that ratio is below 1. All prompts are taken as one: a sample is of another
prompt each. The workbench and the command `score` ask.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from playground.config import RewardConfig
from playground.config.behaviour_settings import READY
from playground.rewards import behaviours
from playground.rewards.mixture import Scale, arithmetic, term_names

Array = NDArray[np.float64]
Marks = Sequence[bool | None]
Raw = Mapping[str, Sequence[float | None]]

LEAST = 8  # samples with and without the behaviour; below, nothing is said
LEAST_EFFECTIVE = 5.0  # of either, once they are reweighted
LARGEST = 100.0  # weight that is looked at
WEIGHTS = LARGEST * 10 ** np.linspace(-5, 0, 81)[1:]
CLEAR = 2.0  # standard errors that a reward must tell the two apart by


class Leash(NamedTuple):
    """What a nat of KL costs, and whether the score is in standard deviations of the reference's texts."""

    beta: float
    scaled: bool = True


class Flip(NamedTuple):
    """Of one reward, the others as they are: the smallest weight from which the best policy shows a behaviour no longer
    the wrong way.

    Attributes:
        weight: of the sign that the reward has; 0 where it is not needed, None where there is none or it is not known.
        first: the same of the first step of training, which is the limit of a large beta; it needs fewer samples.
        tells_apart: whether the reward differs between samples with and without the behaviour by more than luck.
        helps: whether it does so in the wanted direction; more weight of one that does not flips nothing.
        effective: samples that count behind `weight`, of the poorer side.
    """

    name: str
    weight: float | None
    first: float | None
    tells_apart: bool
    helps: bool
    effective: float


class Outlook(NamedTuple):
    """One behaviour: of `of` samples `yes` show it; the best policy would with `share`, None where that is not known,
    from so many `effective` samples. Flips of every reward where there are several."""

    name: str
    words: str
    aim: str
    yes: int
    of: int
    share: float | None
    effective: float
    flips: list[Flip]


def outlooks(
    rewards: Sequence[RewardConfig], names: Sequence[str], raw: Raw, marked: Mapping[str, Marks], leash: Leash
) -> list[Outlook]:
    """Every behaviour that one wants more or less of, and of which enough samples show it and enough do not.

    Args:
        names, raw: of the rewards, their values for each sample. marked: by behaviour, a mark for each sample.
    """
    found = []
    for name, marks in marked.items():
        yes, of, ready = sum(mark is True for mark in marks), sum(mark is not None for mark in marks), READY[name]
        if min(yes, of - yes) < LEAST or ready.aim == "neither":
            continue
        share, effective = optimal_share(marks, scores_of(rewards, raw, leash), leash.beta)
        several = range(len(rewards)) if len(rewards) > 1 else ()
        flips = [flip(number, rewards, names, raw, marks, leash, ready.aim) for number in several]
        known = share if effective >= LEAST_EFFECTIVE else None
        found.append(Outlook(name, ready.words, ready.aim, yes, of, known, effective, flips))
    return found


def sentences(outlook: Outlook, leash: Leash, labels: Mapping[str, str] | None = None) -> list[str]:
    """An outlook in words: what the best policy would do, and the smallest weight that flips it of each reward that can
    and must.

    Args:
        labels: how a person reads the name of a reward.
    """
    counted = f"The untrained model {outlook.words} in {outlook.yes} of {outlook.of} answers"
    if outlook.share is None:
        why = "there is no leash" if leash.beta <= 0 else f"at beta {leash.beta:g} too few of these samples count"
        found = [f"{counted}. What the best policy under these rewards would do is not known: {why}."]
    else:
        found = [
            f"{counted}, the best policy under these rewards at beta {leash.beta:g} in {outlook.share:.0%} "
            f"(about {outlook.effective:.0f} of these samples count)."
        ]
    needed = [one for one in outlook.flips if one.weight != 0 and (one.helps or not one.tells_apart)]
    return [*found, *(f"{(labels or {}).get(one.name, one.name)}: {_in_words(one, leash)}." for one in needed)]


def _in_words(one: Flip, leash: Leash) -> str:
    if not one.tells_apart:
        return "whether it tells these answers apart cannot be told from chance, so no weight that flips is named"
    if one.weight is not None:
        found = f"smallest weight that flips {one.weight:g}"
    elif leash.beta > 0 and not one.effective:
        found = f"no weight up to {LARGEST:g} flips"
    else:
        why = "too few samples count" if leash.beta > 0 else "there is no leash"
        found = f"smallest weight that flips not known, {why}"
    return found if one.first is None else f"{found}; the first step of training turns at {one.first:g}"


def marks_of(names: Sequence[str], samples: Sequence[Mapping[str, object]]) -> dict[str, Marks]:
    """Marks of the ready-made behaviours with these names, for samples as the model service sends them."""
    return {
        name: [behaviours.mark(name, str(one["prompt"]), str(one["completion"]), bool(one["ended"])) for one in samples]
        for name in names
        if name in READY
    }


def flip(
    number: int, rewards: Sequence[RewardConfig], names: Sequence[str], raw: Raw, marks: Marks, leash: Leash, aim: str
) -> Flip:
    """See `Flip`, of the reward with this number."""
    reward, wrong = rewards[number], 1.0 if aim == "less" else -1.0
    sign = -1.0 if (reward.weight or type(reward).model_fields["weight"].default) < 0 else 1.0

    def scores(size: float) -> Array:
        others = [*rewards[:number], reward.model_copy(update={"weight": sign * size}), *rewards[number + 1 :]]
        return scores_of(others, raw, leash)

    def from_size(beta: float) -> float | None:
        return smallest(lambda size: wrong * pull(marks, scores(size), beta) <= 1e-9)

    plain = reward.model_copy(update={"weight": 1.0})
    alone = scores_of([plain], {term_names([plain])[0]: raw[names[number]]}, leash)
    apart = tells_apart(marks, alone)
    helps = apart and wrong * sign * pull(marks, alone, math.inf) < 0
    size, first = (from_size(leash.beta), from_size(math.inf)) if helps else (None, None)
    effective = 0.0 if size is None else poorer_side(marks, scores(size), leash.beta)
    weight = sign * size if size is not None and effective >= LEAST_EFFECTIVE else None
    return Flip(names[number], weight, None if first is None else sign * first, apart, helps, effective)


def scores_of(rewards: Sequence[RewardConfig], raw: Raw, leash: Leash) -> Array:
    """Scores of the samples, as a run would have them but for a clip."""
    mixture = arithmetic(rewards)
    mixture.fit(raw)
    totals = mixture.combine(raw).totals
    return np.array((Scale.of(totals) if leash.scaled else Scale())(totals))


def optimal_share(marks: Marks, scores: Array, beta: float) -> tuple[float, float]:
    """The behaviour's share under pi*, and the samples that count behind it, 1 / sum w^2; of samples with a mark."""
    if beta <= 0:
        return math.nan, 0.0
    yes, no = _sides(marks, scores)
    both = np.concatenate([yes, no])
    weights = np.exp((both - both.max()) / beta)
    return float(weights[: len(yes)].sum() / weights.sum()), _effective(weights)


def pull(marks: Marks, scores: Array, beta: float) -> float:
    """beta x (log E_ref[e^(score/beta) | yes] - log E_ref[e^(score/beta) | no]): above 0, pi* shows the behaviour more
    often than the reference. For an infinite beta the gap of the means, which moves the first step of training."""
    if beta <= 0:
        return math.nan
    yes, no = _sides(marks, scores)
    if math.isinf(beta):
        return float(yes.mean() - no.mean())
    over = (np.logaddexp.reduce(side / beta) - math.log(len(side)) for side in (yes, no))
    return beta * float(next(over) - next(over))


def poorer_side(marks: Marks, scores: Array, beta: float) -> float:
    """Samples that count, with the behaviour or without it, whichever are fewer."""
    return min(_effective(np.exp((side - side.max()) / beta)) for side in _sides(marks, scores))


def tells_apart(marks: Marks, scores: Array) -> bool:
    """Whether the mean differs between samples with and without the behaviour, by more than twice its error (Welch)."""
    yes, no = _sides(marks, scores)
    error = math.sqrt(yes.var(ddof=1) / len(yes) + no.var(ddof=1) / len(no))
    return bool(abs(yes.mean() - no.mean()) > CLEAR * error)


def smallest(turns: Callable[[float], bool]) -> float | None:
    """The smallest weight, to three digits, from which on something holds; None if it does for none up to LARGEST."""
    low = 0.0
    for high in (0.0, *WEIGHTS):
        if turns(high):
            while high - low > 5e-4 * high:
                middle = (low + high) / 2
                low, high = (low, middle) if turns(middle) else (middle, high)
            return float(f"{high:.3g}")
        low = high
    return None


def _sides(marks: Marks, scores: Array) -> tuple[Array, Array]:
    """The scores of the samples with the behaviour, and of those without; some have no mark."""
    known, yes = np.array([mark is not None for mark in marks]), np.array([bool(mark) for mark in marks])
    return scores[known & yes], scores[known & ~yes]


def _effective(weights: Array) -> float:
    return float(weights.sum() ** 2 / (weights**2).sum())
