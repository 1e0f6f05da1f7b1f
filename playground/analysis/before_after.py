"""Before and after on the same prompts with the same random numbers: pairs of one (prompt_id, seed), gains, and how
certain they are. Prompts, not samples, are the independent units."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal, NamedTuple, TypeVar

from playground.analysis.intervals import FEW, by_unit, decimals, of_prompts, these_prompts
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import stamps
from playground.runs.folder.records import Sample, UpdateMetrics

T = TypeVar("T")
FEWEST_PROMPTS = 3  # with fewer an interval over prompts spans everything, and is not told


class BeforeAfter(NamedTuple):
    """One fixed prompt and random seed, answered before and after."""

    before: Sample
    after: Sample

    @property
    def gain(self) -> float | None:
        """After minus before, in the units of the score; None when either side has no score."""
        if self.before.score is None or self.after.score is None:
            return None
        return self.after.score - self.before.score


class Outcome(NamedTuple):
    """A run in numbers. `low` and `high` bound the mean gain with 95 % confidence, as do those of the KL, in nats per
    completion; not a number where that is not known. `same` of the `answers` with a score have that of before.
    `these_prompts`: the bounds hold for these prompts only (`intervals.of_prompts`)."""

    num_prompts: int
    samples_per_prompt: int
    score_before: float
    score_after: float
    gain: float
    low: float
    high: float
    kl: float
    kl_low: float
    kl_high: float
    unique_after: int
    ended_after: float
    length_before: float
    length_after: float
    answers: int = 0
    same: int = 0
    these_prompts: bool = False

    @property
    def tells_bounds(self) -> bool:
        """Whether those of the gain are worth telling."""
        return not math.isnan(self.low) and (self.these_prompts or self.num_prompts >= FEWEST_PROMPTS)


class Headline(NamedTuple):
    """The one gain and KL by which a run is known wherever it is shown: of its fixed prompts, from before training to
    the newest evaluation; of a run that has none with a score, of its training batches, whose bounds are not known."""

    source: Literal["fixed prompts", "training batch"]
    update: int
    gain: float
    low: float | None
    high: float | None
    kl: float | None


def first_answers(samples: Iterable[Sample]) -> dict[int, Sample]:
    """The first sample of each prompt, by the prompt's id."""
    samples_by_prompt: dict[int, Sample] = {}
    for item in samples:
        samples_by_prompt.setdefault(item.prompt_id, item)
    return samples_by_prompt


def pairs(samples: Sequence[Sample], update: int | None = None) -> list[BeforeAfter]:
    """Join the samples before training with those of a later moment, by default the newest, on (prompt_id, seed)."""
    before = {(item.prompt_id, item.seed): item for item in samples if item.stage == "before"}
    later = [item for item in samples if item.stage != "before"]
    if update is None:
        update = max((item.update for item in later), default=0)
    after = {(item.prompt_id, item.seed): item for item in later if item.update == update}
    return [BeforeAfter(before[key], after[key]) for key in before if key in after]


def across(run: Sequence[Sample], other: Sequence[Sample]) -> list[BeforeAfter]:
    """Join evaluations of two runs on the prompts' texts, the first answers with the first."""
    run_samples, other_samples = _by_text(run), _by_text(other)
    return [
        BeforeAfter(*pair)
        for text in other_samples
        for pair in zip(run_samples.get(text, ()), other_samples[text], strict=False)
    ]


def outcome(joined: Sequence[BeforeAfter]) -> Outcome | None:
    """Summary of the pairs, or None when there is nothing to compare."""
    gains = by_unit((pair.before.prompt_id, pair.gain) for pair in joined)
    if not gains:
        return None
    before, after = [pair.before for pair in joined], [pair.after for pair in joined]
    each = [step for values in gains.values() for step in values]
    scores = [item.score for item in (*before, *after) if item.score is not None]
    gain = of_prompts(gains.values(), max(scores) - min(scores))
    far = list(by_unit((item.prompt_id, item.kl) for item in after).values())
    farthest = [fmean(values) for values in far]
    span = 0.0  # all alike: known without measuring
    if len(set(farthest)) > 1:
        span = max(farthest)
    kl = of_prompts(far, span)
    return Outcome(
        num_prompts=len(gains),
        samples_per_prompt=round(fmean(map(len, gains.values()))),
        score_before=_mean(item.score for item in before),
        score_after=_mean(item.score for item in after),
        gain=gain.mean,
        low=gain.low,
        high=gain.high,
        kl=kl.mean,
        kl_low=max(kl.low, 0.0),
        kl_high=kl.high,
        unique_after=len({item.completion for item in after}),
        ended_after=_mean(item.ended for item in after),
        length_before=_mean(item.tokens for item in before),
        length_after=_mean(item.tokens for item in after),
        answers=len(each),
        same=each.count(0.0),
        these_prompts=these_prompts(list(gains.values())),
    )


def headline(joined: Sequence[BeforeAfter], outcome: Outcome | None) -> Headline | None:
    """The one gain and KL of a run by its fixed prompts; None where they say nothing."""
    if outcome is None:
        return None
    low, high, kl = (None if math.isnan(value) else value for value in (outcome.low, outcome.high, outcome.kl))
    return Headline("fixed prompts", joined[0].after.update, outcome.gain, low, high, kl)


def of_batches(metrics: Sequence[UpdateMetrics]) -> Headline | None:
    """The same of a run whose fixed prompts say nothing: from its first training batch to its newest."""
    scored = [item for item in metrics if item.score_mean is not None]
    if len(scored) < 2:
        return None
    first, last = scored[0], scored[-1]
    gain = (last.score_mean or 0.0) - (first.score_mean or 0.0)
    return Headline("training batch", last.update, gain, None, None, last.kl_to_reference)


def read_once(*files: str, size: int = 1024) -> Callable[[Callable[[RunDirectory], T]], Callable[[RunDirectory], T]]:
    """For a function of a run: what it found is kept for as long as these files of the run (names of its properties)
    are as they were, for the `size` runs that were asked for last."""

    def decorated(function: Callable[[RunDirectory], T]) -> Callable[[RunDirectory], T]:
        @functools.lru_cache(maxsize=size)
        def kept(path: Path, key: tuple[int, ...]) -> T:
            return function(RunDirectory(path))

        @functools.wraps(function)
        def asked(run: RunDirectory) -> T:
            return kept(run.path, stamps(*(getattr(run, file) for file in files)))

        return asked

    return decorated


def sentence(outcome: Outcome | None, batches: Headline | None, unit: str = "sd") -> str:
    """What a run has come to in one line: by its fixed prompts, else by its training batches; empty for neither."""
    if outcome is not None:
        return outcome_sentence(outcome, unit)
    if batches is None:
        return ""
    kl = ""
    if batches.kl is not None:
        kl = f", {batches.kl:z.1f} nats from the reference"
    return (
        f"By its training batches, since the fixed prompts have no scores: score "
        f"{batches.gain:+z.2f} {unit} from the first to update {batches.update}{kl}."
    )


def outcome_sentence(outcome: Outcome, unit: str = "sd", *, across: bool = False, other_kl: float | None = None) -> str:
    """One line for a person: the gain with its uncertainty, and what it cost. `across`: it is the gain over another
    run, whose distance from the reference is `other_kl`."""
    digits = 3 if 0 < outcome.kl_high < 0.05 else 1
    other = ""
    if other_kl is not None:
        other = f", the other {other_kl:z.{digits}f}"
    has_bounds = not across and not math.isnan(outcome.kl_high) and outcome.tells_bounds
    low, high = (f"{bound:.{digits}f}" for bound in (outcome.kl_low, outcome.kl_high))
    spread = ""
    if has_bounds and low != high:
        spread = f" ({low} to {high})"
    if across:
        unit = f"{unit} against the other run"
    gain = _gain(outcome, unit)
    if math.isnan(outcome.kl):
        return f"Score {gain}; how far it is from the reference was not measured."
    return f"Score {gain}; {outcome.kl:z.{digits}f} nats{spread} from the reference{other}."


def _gain(outcome: Outcome, unit: str) -> str:
    """How much, on how many prompts, and how sure that is."""
    digits = 2
    if outcome.tells_bounds:
        digits = decimals(outcome.high - outcome.gain)
    each = ""
    if outcome.samples_per_prompt > 1:
        each = f" x {outcome.samples_per_prompt} samples"
    which = "these " if outcome.these_prompts else ""
    bounds = f"{outcome.low:+z.{digits}f} to {outcome.high:+z.{digits}f}"
    sure = ""
    if outcome.tells_bounds:
        sure = f", 95 % interval {bounds}"
    few_differ = outcome.same and outcome.answers - outcome.same < FEW
    alike = ""
    if few_differ:
        alike = f" ({outcome.same} of {outcome.answers} answers score the same)"
    return f"{outcome.gain:+z.{digits}f} {unit} on {which}{outcome.num_prompts} prompts{each}{sure}{alike}"


def _by_text(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """The samples of an evaluation by their prompts' texts, each once, in the order of the prompts."""
    latest = {(item.prompt_id, item.seed): item for item in samples}
    by_text: dict[str, list[Sample]] = defaultdict(list)
    for _, item in sorted(latest.items()):
        by_text[item.prompt].append(item)
    return by_text


def _mean(values: Iterable[float | None]) -> float:
    numbers = [float(value) for value in values if value is not None]
    if numbers:
        return fmean(numbers)
    return math.nan
