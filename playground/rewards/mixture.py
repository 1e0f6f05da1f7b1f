"""From an entry of `rewards` to its function, the weighted sum of rewards, and the scales that make it a score.

Knows only functions of text (see rules.py). The trainer, the model service and the page score through this;
`training.rewards.learned_rewards` adds the kinds that need a model.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any, NamedTuple

from playground import config
from playground.config import local_only
from playground.errors import PlaygroundError, RewardFailed, RewardNotFinite
from playground.rewards import expressions, rules

MAX_NAME_CHARACTERS = 60
SAME = 1e-12  # a variance up to which all values are the same
ADDED_UP = config.ScoreConfig()  # learned rewards add up like all others
RawValues = dict[str, list[float | None]]  # by term, a value for each completion; None = no opinion


class Term(NamedTuple):
    """One entry of a mixture: a function of text, and what happens to its values before they are summed up. `learned`:
    one of those that `score.combine` makes one reward of."""

    weight: float
    function: rules.Reward
    normalise: bool = False
    cap: float | None = None
    learned: bool = False


class TermScale(NamedTuple):
    """What a term was on the reference's samples: mean and sd of its raw values, and its mean contribution."""

    mean: float = 0.0
    sd: float = 1.0
    contribution: float = 0.0


class Scored(NamedTuple):
    """Of a batch: the weighted sums, each term's raw values, and what each term adds to the sums.

    A completion without any opinion has no sum, and None for each contribution; otherwise a term without an opinion
    contributes 0, and the contributions of a completion add up to its sum. `disagreement`: of an ensemble, the standard
    deviation of what its learned rewards say of each completion, weighted; else empty.
    """

    totals: list[float | None]
    terms: RawValues
    contributions: RawValues
    disagreement: Sequence[float | None] = ()


def build(spec: config.RewardConfig, facts: rules.PromptFacts | None = None) -> rules.Reward:
    """The reward function that a configuration entry names, of every kind that needs no model. `facts`: what a function
    in Python gets beside the texts, and the questions of a file of claims.

    Raises: RewardFailed, if this process serves others, and the kind is for a person's own machine only.
    """
    refusal = local_only.refusal(spec.kind)
    if refusal:
        raise RewardFailed(refusal)
    facts = facts or rules.PromptFacts()
    if isinstance(spec, config.ExpressionReward):
        return expressions.reward_of(spec.expression, facts.questions)
    if isinstance(spec, config.PythonReward):
        from playground.rewards.python_function import PythonFunction  # processes and pipes, only where they are needed

        return PythonFunction(spec.code, spec.time_limit, spec.file, spec.function, facts)
    return rules.rule(spec, facts.questions, facts.columns)


class Mixture:
    """Several reward functions with weights. A term without an opinion contributes nothing to the sum.

    Args:
        functions: by name, what makes a `Term`: (weight, function) and, if wanted, normalise and cap.
        what: what to call one of them in an error: "reward", or "judge" where they only watch.
        score: how the learned ones among them become one.

    Attributes:
        scales: of each term; as `fit` or `restore` fixed them.
    """

    def __init__(
        self,
        functions: Mapping[str, tuple[Any, ...]],
        what: str = "reward",
        score: config.ScoreConfig = ADDED_UP,
    ) -> None:
        self._what, self._score = what, score
        self._terms = {name: Term(*entry) for name, entry in functions.items()}
        self._fitted = not any(term.normalise for term in self._terms.values())
        self.scales = {name: TermScale() for name in self._terms}

    @classmethod
    def from_config(
        cls,
        specs: Sequence[config.RewardConfig],
        build: Callable[[config.RewardConfig], rules.Reward] = build,
        what: str = "reward",
        score: config.ScoreConfig = ADDED_UP,
    ) -> Mixture:
        """The mixture that a configuration names. `build` makes the function of an entry; training passes one that can
        load models."""
        terms = {
            name: Term(spec.weight, build(spec), spec.normalise, spec.cap, isinstance(spec, config.ModelReward))
            for name, spec in zip(term_names(specs), specs, strict=True)
        }
        return cls(terms, what, score)

    def __call__(self, prompts: Sequence[str], completions: Sequence[str]) -> Scored:
        """Score a batch. Raises: RewardFailed, RewardNotFinite; see `values_of`."""
        return self.combine(self.measure(prompts, completions))

    def measure(self, prompts: Sequence[str], completions: Sequence[str]) -> RawValues:
        """Each term's raw values. Raises: see `__call__`."""
        return self.measured(self._terms, prompts, completions)

    def measured(self, names: Iterable[str], prompts: Sequence[str], completions: Sequence[str]) -> RawValues:
        """The raw values of some terms. Raises: see `__call__`."""
        columns = set(names)
        return {
            name: values_of(f"{self._what} `{name}`", term.function, prompts, completions)
            for name, term in self._terms.items()
            if name in columns
        }

    def fit(self, terms: Mapping[str, Sequence[float | None]]) -> None:
        """Fix the scales from the raw values on samples of the reference. Once; see `Scorer.fit_scale`."""
        self._fitted = True
        for name in self._terms:
            scale = Scale.of(terms[name])
            self.scales[name] = TermScale(scale.mean, scale.sd)
        for name, values in self.combine(terms).contributions.items():
            self.scales[name] = self.scales[name]._replace(contribution=mean_known(values) or 0.0)

    def restore(self, scales: Mapping[str, Mapping[str, float]]) -> None:
        """The scales as a run recorded them: name -> the fields of `TermScale`."""
        scales_of = {name: TermScale(**scales[name]) for name in self._terms if name in scales}
        self.scales |= scales_of
        self._fitted = self._fitted or len(scales_of) == len(self._terms)

    def combine(self, terms: Mapping[str, Sequence[float | None]]) -> Scored:
        """Raw values -> sums and contributions: each value normalised (if its term says so), capped, weighted."""
        if not self._fitted:
            raise RuntimeError("a term must be normalised, but its scale on the reference was neither fitted nor given")
        weighed = {name: [self._contribution(name, value) for value in terms[name]] for name in self._terms}
        disagreement: list[float | None] = []
        learned = [name for name, term in self._terms.items() if term.learned]
        if self._score.combine != "sum" and learned:
            opinions = [*zip(*(weighed[name] for name in learned), strict=True)]
            disagreement = [spread_known(row) for row in opinions]
            shares = [shares_of(row, self._score) for row in opinions]
            weighed |= {name: [row[place] for row in shares] for place, name in enumerate(learned)}
        rows = zip(*weighed.values(), strict=True)
        totals = [_of_known(sum, row) for row in rows]
        contributions = {
            name: [
                0.0 if part is None and total is not None else part for part, total in zip(parts, totals, strict=True)
            ]
            for name, parts in weighed.items()
        }
        return Scored(totals, {name: list(terms[name]) for name in self._terms}, contributions, disagreement)

    def _contribution(self, name: str, value: float | None) -> float | None:
        if value is None:
            return None
        term, scale = self._terms[name], self.scales[name]
        if term.normalise:
            value = (value - scale.mean) / scale.sd
        if term.cap is not None:
            value = min(max(value, -term.cap), term.cap)
        return term.weight * value


@dataclass(frozen=True)
class Scale:
    """score = (raw - mean) / sd, clipped. `mean` and `sd` are those of the reference's samples, or 0 and 1."""

    mean: float = 0.0
    sd: float = 1.0
    clip: float | None = None

    @classmethod
    def of(cls, totals: Sequence[float | None], clip: float | None = None) -> Scale:
        """The scale of raw totals. Where they do not vary there is nothing to scale by, and sd is 1."""
        known = [value for value in totals if value is not None]
        if not known:
            return cls(0.0, 1.0, clip)
        mean = math.fsum(known) / len(known)
        variance = math.fsum((value - mean) ** 2 for value in known) / len(known)
        if variance > SAME:
            return cls(mean, math.sqrt(variance), clip)
        return cls(mean, 1.0, clip)

    def __call__(self, totals: Sequence[float | None]) -> list[float]:
        """Raw totals -> scores. No opinion becomes 0: as good as the reference's average."""
        scores = [0.0 if value is None else (value - self.mean) / self.sd for value in totals]
        limit = self.clip
        if limit is None:
            limit = math.inf
        return [min(max(score, -limit), limit) for score in scores]


def scale_errors(totals: Sequence[float | None]) -> tuple[float, float]:
    """Standard errors of the mean and of the sd of raw totals, which are the scale of a score: sd / sqrt(n), and by the
    delta method sqrt((m4 - sd^4) / n) / (2 sd), with m4 the fourth moment about the mean."""
    known = [value for value in totals if value is not None]
    scale = Scale.of(known)
    moments = [math.fsum((value - scale.mean) ** power for value in known) / max(1, len(known)) for power in (2, 4)]
    if moments[0] <= SAME:
        return 0.0, 0.0
    spread = max(0.0, moments[1] - moments[0] ** 2)
    return scale.sd / math.sqrt(len(known)), math.sqrt(spread / len(known)) / (2 * scale.sd)


def shares_of(opinions: Sequence[float | None], score: config.ScoreConfig) -> list[float | None]:
    """What each of several learned rewards adds to what an ensemble says of a completion: their mean, the lowest of
    them, or mean - caution * sd, so that the parts add up to it. Who has no opinion is left out (None)."""
    known = [value for value in opinions if value is not None]
    if not known:
        return [*opinions]
    mean, spread = fmean(known), pstdev(known)
    if score.combine == "min":
        lowest = opinions.index(min(known))
        return [value if value is None or place == lowest else 0.0 for place, value in enumerate(opinions)]
    price = 0.0
    if score.combine == "cautious" and spread:
        price = score.caution / spread
    return [None if value is None else (value - price * (value - mean) ** 2) / len(known) for value in opinions]


def spread_known(values: Iterable[float | None]) -> float | None:
    """Standard deviation of the values that are there; None if none is."""
    return _of_known(pstdev, values)


def arithmetic(specs: Sequence[config.RewardConfig], score: config.ScoreConfig = ADDED_UP) -> Mixture:
    """A mixture that combines values which are measured elsewhere."""
    return Mixture.from_config(specs, build=lambda spec: lambda prompts, completions, **columns: [], score=score)


def term_names(specs: Iterable[config.RewardConfig]) -> list[str]:
    """A name for each reward, no two alike: its kind, the last part of a model's source, or what a function is called;
    numbered from 2."""
    names: list[str] = []
    for spec in specs:
        plain: str = spec.kind
        if isinstance(spec, config.ModelReward):
            plain = spec.source.rstrip("/\\").replace("\\", "/").rpartition("/")[2][:MAX_NAME_CHARACTERS] or spec.kind
        elif isinstance(spec, config.PythonReward):
            plain = spec.name[:MAX_NAME_CHARACTERS]
        name, number = plain, 2
        while name in names:
            name, number = f"{plain} {number}", number + 1
        names.append(name)
    return names


def mean_known(values: Iterable[float | None]) -> float | None:
    """Mean of the values that are there; None if none is."""
    return _of_known(fmean, values)


def _of_known(figure: Callable[[Sequence[float]], float], values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if known:
        return figure(known)
    return None


def values_of(
    what: str, function: rules.Reward, prompts: Sequence[str], completions: Sequence[str]
) -> list[float | None]:
    """What a reward says of a batch, checked: one finite number or None for each completion.

    Args:
        what: what to call it in an error, for example "reward `length`".

    Raises:
        RewardFailed: it raised, or returned something else. RewardNotFinite: a value is infinite or not a number.
    """
    try:
        returned = function(prompts=prompts, completions=completions)
        values = None if returned is None else list(returned)
    except PlaygroundError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise  # the worker has advice for this
        raise RewardFailed(f"The {what} failed: {type(error).__name__}: {error}") from error
    if values is None:
        raise RewardFailed(f"The {what} returned nothing; it must return one number for each completion.")
    if len(values) != len(completions):
        raise RewardFailed(f"The {what} returned {len(values)} values for {len(completions)} completions.")
    checked = []
    for value in values:
        try:
            number = None if value is None else float(value)
        except (TypeError, ValueError):
            words = f"{str(value)[:40]!r} for a completion; it must be a number or None."
            raise RewardFailed(f"The {what} returned {words}") from None
        if number is not None and not math.isfinite(number):
            raise RewardNotFinite(f"The {what} returned {number}; each must be a finite number or None.")
        checked.append(number)
    return checked
