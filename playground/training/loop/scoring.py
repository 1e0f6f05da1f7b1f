"""From completions to scores: the mixture, the scales fixed on the reference's samples, the penalty for not ending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

from playground.config import ModelReward, RewardConfig, RunConfig
from playground.errors import PlaygroundError, RewardFailed, RewardNotFinite
from playground.rewards import mixture, rules
from playground.rewards.mixture import Mixture, Scale, term_names
from playground.training.loop.ranks import ALONE, Ranks


class Scores(NamedTuple):
    """Of one batch. None = no opinion."""

    scores: list[float]  # what PPO sees
    raw: list[float | None]  # the weighted sums
    terms: dict[str, list[float | None]]  # unweighted
    contributions: dict[str, list[float]]  # how much each term lifts a score above the reference's average, unclipped
    disagreement: Sequence[float | None] = ()  # of an ensemble, in the score's unit

    def of_rows(self, rows: Sequence[int]) -> Scores:
        """Some rows of them."""
        return Scores(
            [self.scores[row] for row in rows],
            [self.raw[row] for row in rows],
            {name: [values[row] for row in rows] for name, values in self.terms.items()},
            {name: [values[row] for row in rows] for name, values in self.contributions.items()},
            [self.disagreement[row] for row in rows if self.disagreement],
        )


FEW = 0.05  # of the reference's texts


class SharedMixture(Mixture):
    """A mixture that several ranks measure together: each gives its share of the texts to the learned rewards; the
    others, which may be anyone's code, are rank 0's. All ranks get all values, or the same error."""

    ranks: Ranks = ALONE
    learned: frozenset[str] = frozenset()

    @classmethod
    def of_ranks(cls, ranks: Ranks, config: RunConfig, build: Callable[[RewardConfig], rules.Reward]) -> SharedMixture:
        """The mixture that a configuration names; what is rank 0's alone is built there alone."""
        specs = config.rewards
        learned = [isinstance(spec, ModelReward) for spec in specs]
        made = cls.from_config(
            specs,
            lambda spec: build(spec) if isinstance(spec, ModelReward) or not ranks.rank else _not_here,
            score=config.score,
        )
        assert isinstance(made, cls)
        made.ranks, made.learned = ranks, frozenset(compress(term_names(specs), learned))
        return made

    def measure(self, prompts: Sequence[str], completions: Sequence[str]) -> dict[str, list[float | None]]:
        """See `Mixture`."""
        share, mine, failed = self.ranks.share, dict[str, Any](), None
        try:
            if self.ranks.rank == 0:
                mine = self.measured(self._terms.keys() - self.learned, prompts, completions)
            mine |= self.measured(self.learned, prompts[share], completions[share])
        except PlaygroundError as error:
            failed, mine = error, {}
        problem = None if failed is None else [isinstance(failed, RewardNotFinite), str(failed)]
        reports = self.ranks.exchange([problem, mine])
        if first := next((problem for problem, _ in reports if problem), None):
            raise failed or (RewardNotFinite if first[0] else RewardFailed)(first[1])
        found: dict[str, list[float | None]] = {name: [None] * len(completions) for name in self._terms}
        for rank, (_, part) in enumerate(reports):
            for name, values in part.items():
                found[name][slice(rank, None, self.ranks.count) if name in self.learned else slice(None)] = values
        return found


def _not_here(prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[float | None]:
    raise AssertionError("rank 0 measures this")


class Scorer:
    """Scores completions as one run does. The scales are set once, from samples of the reference. `build` makes a
    function of a reward entry; a run passes one that can load models."""

    def __init__(
        self,
        config: RunConfig,
        mixture: Mixture | None = None,
        scale: Scale | None = None,
        build: Callable[[RewardConfig], rules.Reward] = mixture.build,
    ) -> None:
        self.mixture = mixture or Mixture.from_config(config.rewards, build, score=config.score)
        self._normalise = config.score.normalise == "reference"
        self._clip = config.score.clip
        self._missing_eos_penalty = config.sampling.missing_eos_penalty
        self.scale = scale or Scale(clip=self._clip)
        self.warning = ""  # about a scale that was measured
        self.scale_errors: dict[str, float] = {}  # standard errors of its mean and sd
        self.scale_in_words = ""

    def fit_scale(self, prompts: Sequence[str], completions: Sequence[str]) -> Scale:
        """Fix all scales on samples of the reference. With `score.normalise: none` the score's is mean 0, sd 1."""
        terms = self.mixture.measure(prompts, completions)
        self.mixture.fit(terms)
        if self._normalise:
            totals = self.mixture.combine(terms).totals
            self.scale, self.warning = Scale.of(totals, self._clip), made_by_few(totals)
            mean, sd = mixture.scale_errors(totals)
            one, self.scale_errors = self.scale.sd, {"mean_error": mean, "sd_error": sd}
            self.scale_in_words = (
                f"1 sd is {one:.3g} points of the raw reward, from {len(totals)} texts of the reference: the sd is "
                f"known to about \u00b1{100 * sd / one:.0f} %, the mean to \u00b1{mean / one:.2g} sd."
            )
        return self.scale

    def facts(self) -> dict[str, Any]:
        """The scales as plain data, for trainer.json."""
        terms = {name: scale._asdict() for name, scale in self.mixture.scales.items()}
        return {"score_mean": self.scale.mean, "score_sd": self.scale.sd, "terms": terms}

    def restore(self, facts: Mapping[str, Any]) -> Scorer:
        """Take the scales from `facts`, as a checkpoint keeps them, instead of measuring them."""
        self.scale = Scale(facts["score_mean"], facts["score_sd"], self._clip)
        self.mixture.restore(facts.get("terms", {}))
        return self

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], ended: Sequence[bool]) -> Scores:
        """Score a batch. Raises: RewardFailed, see `Mixture`."""
        raw, terms, parts, disagreement = self.mixture(prompts, completions)
        scores = self.scale(raw)
        scores = [score - self._missing_eos_penalty * (not end) for score, end in zip(scores, ended, strict=True)]
        averages = {name: scale.contribution for name, scale in self.mixture.scales.items()}
        contributions = {
            name: [0.0 if part is None else (part - averages[name]) / self.scale.sd for part in values]
            for name, values in parts.items()
        }
        apart = [None if value is None else value / self.scale.sd for value in disagreement]
        return Scores(scores, raw, terms, contributions, apart)


def made_by_few(totals: Sequence[float | None]) -> str:
    """A warning where at most FEW of the texts, or none, make the unit of the score; "" otherwise."""
    usual, count = Counter(totals).most_common(1)[0]
    others = len(totals) - count
    if others > FEW * len(totals):
        return ""
    earn = "get no opinion" if usual is None else f"earn {usual:g}"
    return (
        f"Of {len(totals)} texts of the reference {count} {earn} and {others} something else. Those few make the "
        "standard deviation in which the score is counted (none: it is the raw reward), so a gain of many sd may be "
        "small. Reward something that the model does more often, or set score.normalise to none."
    )
