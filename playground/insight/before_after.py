"""Before and after on the same prompts with the same random numbers: pairs, gains and how sure one can be of them.

Source of the pairing: common random numbers; a pair is one (prompt_id, seed). The interval treats prompts, not
samples, as the independent units. The page, the command line and docs tables call it.
"""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from playground.rewards.agreement import t95 as t95
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample, UpdateMetrics

FEW = 10  # values that differ from the commonest; with fewer Student's interval is far too narrow


class Pair(NamedTuple):
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
    completion; not a number where that is not known. `same` of the `answers` with a score have that of before."""

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


class Headline(NamedTuple):
    """The one gain and KL by which a run is known wherever it is told.

    Attributes:
        source: the fixed prompts, from before training to the newest look; of a run that has none of them with a score,
            the training batches, from the first to the newest. update: the newest one. low, high: bound the gain with
            95 % confidence; None where that is not known, as with training batches. kl: nats per completion.
    """

    source: Literal["fixed prompts", "training batch"]
    update: int
    gain: float
    low: float | None
    high: float | None
    kl: float | None


def pairs(samples: Sequence[Sample], update: int | None = None) -> list[Pair]:
    """Join the samples before training with those of a later moment on (prompt_id, seed).

    Args:
        update: which moment; by default the newest one with samples.
    """
    before = {(item.prompt_id, item.seed): item for item in samples if item.stage == "before"}
    later = [item for item in samples if item.stage != "before"]
    if update is None:
        update = max((item.update for item in later), default=0)
    after = {(item.prompt_id, item.seed): item for item in later if item.update == update}
    return [Pair(before[key], after[key]) for key in before if key in after]


def across(one: Sequence[Sample], other: Sequence[Sample]) -> list[Pair]:
    """Join looks of two runs at their fixed prompts on the prompts' texts, the first answers with the first."""
    theirs = _by_text(one)
    return [
        Pair(before, after)
        for text, mine in _by_text(other).items()
        for before, after in zip(theirs.get(text, ()), mine, strict=False)
    ]


def outcome(joined: Sequence[Pair]) -> Outcome | None:
    """Summary of the pairs, or None when there is nothing to compare."""
    gains = _by_prompt((pair.before.prompt_id, pair.gain) for pair in joined)
    if not gains:
        return None
    before, after = [pair.before for pair in joined], [pair.after for pair in joined]
    each = [step for values in gains.values() for step in values]
    scores = [item.score for item in (*before, *after) if item.score is not None]
    gain, half = mean_and_half([fmean(values) for values in gains.values()], max(scores) - min(scores))
    drift = _by_prompt((item.prompt_id, item.kl) for item in after)
    far = [fmean(values) for values in drift.values()]
    kl, kl_half = mean_and_half(far, max(far) if len(set(far)) > 1 else 0.0)  # all alike: known without measuring
    return Outcome(
        num_prompts=len(gains),
        samples_per_prompt=round(fmean(map(len, gains.values()))),
        score_before=_mean(item.score for item in before),
        score_after=_mean(item.score for item in after),
        gain=gain,
        low=gain - half,
        high=gain + half,
        kl=kl,
        kl_low=max(kl - kl_half, 0.0),
        kl_high=kl + kl_half,
        unique_after=len({item.completion for item in after}),
        ended_after=_mean(item.ended for item in after),
        length_before=_mean(item.tokens for item in before),
        length_after=_mean(item.tokens for item in after),
        answers=len(each),
        same=each.count(0.0),
    )


def headline(samples: Sequence[Sample], metrics: Sequence[UpdateMetrics]) -> Headline | None:
    """The one gain and KL of a run so far; None while there is nothing to tell."""
    joined = pairs(samples)
    found = outcome(joined)
    if found is not None:
        low, high = (None, None) if math.isnan(found.low) else (found.low, found.high)
        kl = None if math.isnan(found.kl) else found.kl
        return Headline("fixed prompts", joined[0].after.update, found.gain, low, high, kl)
    return of_batches(
        [item.update for item in metrics],
        [item.score_mean for item in metrics],
        [item.kl_to_reference for item in metrics],
    )


def of_batches(updates: Sequence[int], scores: Sequence[float | None], kls: Sequence[float | None]) -> Headline | None:
    """The same of a run whose fixed prompts tell nothing: from its first training batch to its newest."""
    known = [place for place, score in enumerate(scores) if score is not None]
    if len(known) < 2:
        return None
    first, last = scores[known[0]], scores[known[-1]]
    assert first is not None and last is not None
    return Headline("training batch", updates[known[-1]], last - first, None, None, kls[known[-1]])


def headline_of(run: RunDirectory) -> Headline | None:
    """The headline of a run as it is on disk now; its samples are read once for as long as none is added."""
    found = _of_samples(run.path, *(stamp(path) for path in (run.samples_path, run.events_path)))
    return found or headline([], run.metrics())


@functools.lru_cache(maxsize=1024)
def _of_samples(path: Path, *stamps: tuple[int, int]) -> Headline | None:
    return headline(samples_of(RunDirectory(path)), [])


def samples_of(run: RunDirectory) -> Sequence[Sample]:
    """The samples of a run as they are on disk now; those of the last few runs are at hand, for a list of many runs
    that asks several things of each."""
    return _samples(run.path, *(stamp(path) for path in (run.samples_path, run.events_path)))


@functools.lru_cache(maxsize=2)
def _samples(path: Path, *stamps: tuple[int, int]) -> Sequence[Sample]:
    return RunDirectory(path).samples()


def stamp(path: Path) -> tuple[int, int]:
    """Another whenever the file is another, or gone."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def headline_sentence(found: Headline, unit: str = "sd") -> str:
    """One line for a person about a run whose fixed prompts tell nothing."""
    kl = "" if found.kl is None else f", {found.kl:.1f} nats from the reference"
    return (
        f"By its training batches, for want of a look at the fixed prompts: score {found.gain:+z.2f} {unit} from the "
        f"first to update {found.update}{kl}."
    )


def sentence(found: Outcome | None, batches: Headline | None, unit: str = "sd") -> str:
    """What a run has come to in one line: by its fixed prompts, else by its training batches; empty for neither."""
    if found is not None:
        return outcome_sentence(found, unit)
    return headline_sentence(batches, unit) if batches else ""


def outcome_sentence(found: Outcome, unit: str = "sd") -> str:
    """One line for a person: the gain with its uncertainty, and what it cost."""
    digits = _digits_of_kl(found)
    spread = "" if math.isnan(found.kl_high) else f" ({found.kl_low:.{digits}f} to {found.kl_high:.{digits}f})"
    return f"Score {_gain(found, unit)}{_on_what(found)}; {found.kl:.{digits}f} nats{spread} from the reference."


def across_sentence(found: Outcome, kl: float | None, unit: str = "sd") -> str:
    """The same of a run against another, whose distance from the reference is `kl`."""
    digits = _digits_of_kl(found)
    told = "" if kl is None else f", the other {kl:.{digits}f}"
    return (
        f"Score {_gain(found, unit)} against the other run{_on_what(found)}; {found.kl:.{digits}f} nats from the "
        f"reference{told}."
    )


def decimals(half: float) -> int:
    """How many a figure has: two, and more where its interval, `half` on either side, would otherwise have no width."""
    return min(6, -math.floor(math.log10(half))) if 0 < half < 0.005 else 2


def _digits_of_kl(found: Outcome) -> int:
    return 3 if 0 < found.kl_high < 0.05 else 1


def _gain(found: Outcome, unit: str) -> str:
    return f"{found.gain:+z.{decimals(found.high - found.gain)}f} {unit}"


def _on_what(found: Outcome) -> str:
    each = f" x {found.samples_per_prompt} samples" if found.samples_per_prompt > 1 else ""
    digits = decimals(found.high - found.gain)
    bounds = f"{found.low:+z.{digits}f} to {found.high:+z.{digits}f}"
    interval = "" if math.isnan(found.low) else f", 95 % interval {bounds}"
    few = found.same and found.answers - found.same < FEW
    alike = f" ({found.same} of {found.answers} answers score the same)" if few else ""
    return f" on {found.num_prompts} prompts{each}{interval}{alike}"


def _by_text(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """The samples of a look by their prompts' texts, each once, in the order of the prompts."""
    latest = {(item.prompt_id, item.seed): item for item in samples}
    found: dict[str, list[Sample]] = defaultdict(list)
    for _, item in sorted(latest.items()):
        found[item.prompt].append(item)
    return found


def _by_prompt(values: Iterable[tuple[int, float | None]]) -> dict[int, list[float]]:
    """What is known of each prompt."""
    found: dict[int, list[float]] = defaultdict(list)
    for prompt_id, value in values:
        if value is not None:
            found[prompt_id].append(value)
    return found


def mean_and_half(means: Sequence[float], span: float = 0.0) -> tuple[float, float]:
    """The mean of independent values, and half of its 95 % interval (Student's t); not a number where there are too few
    of them, or all are alike and nothing is known of how far apart they can be.

    Where most of them are alike and few are not, it is no narrower than with two values more, as far above and below
    the common one as can be (in the way of Agresti and Min 2005): so it holds the mean as often as it says, and shuts
    out no change where an exact sign test would not.

    Args:
        span: the most by which one of them can differ from another, as far as is known.
    """
    if len(means) < 2:
        return (means[0] if means else math.nan), math.nan
    common, alike = Counter(means).most_common(1)[0]
    half = _half(means)
    if len(means) - alike < FEW and 2 * alike > len(means):
        half = max(half, _half([*means, common - span, common + span]))
    return fmean(means), half or math.nan


def _half(values: Sequence[float]) -> float:
    return t95(len(values)) * stdev(values) / math.sqrt(len(values))


def _mean(values: Iterable[float | None]) -> float:
    known = [float(value) for value in values if value is not None]
    return fmean(known) if known else math.nan
