"""What a run does to behaviour, counted: of how many completions of the fixed prompts each behaviour is true.

Counts come with Wilson's interval (1927), before and after are compared on the same prompts with the same random
numbers, and the prompts, not the samples, are the independent units. The page, the command line and exports tell it.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

from playground.config import Behaviour, RunConfig
from playground.config.behaviour_settings import READY
from playground.insight import before_after
from playground.insight.before_after import Pair, outcome
from playground.rewards import behaviours as counted
from playground.rewards.agreement import Z95, at_least, effective, t95
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Sample
from playground.setup import expected, telling
from playground.setup.expected import Band

CHANCE = 0.05  # two-sided; a change that luck makes as often is none
MOST_TOLD = 3  # in a sentence
FEWEST = 3  # answers that show a behaviour, and that do not, to tell what it earns
Question = tuple[int, int]  # prompt_id and seed, or the place of a pair
Compared = Literal["as expected", "within chance of expected", "lower than expected", "higher than expected"]
USUAL: tuple[Compared, ...] = ("as expected", "within chance of expected")


class Count(NamedTuple):
    """How many of some completions, and of how many prompts these are. `low` and `high` bound the share with 95 %
    confidence. Several samples of one prompt are alike, so they count for less than as many prompts would: `effective`
    is for how many, None for one of each."""

    yes: int
    of: int
    prompts: int
    effective: float | None = None

    @property
    def share(self) -> float:
        return self.yes / self.of

    @property
    def low(self) -> float:
        return wilson(self.share, self.effective or self.prompts)[0]

    @property
    def high(self) -> float:
        return wilson(self.share, self.effective or self.prompts)[1]


class Meter(NamedTuple):
    """One behaviour over the looks of a run, or between two of them.

    Attributes:
        updates, counts: the moments, and the count at each. changes: at each, +1 or -1 where it differs from the first
            by more than chance, else 0.
    """

    name: str
    words: str
    aim: str
    updates: list[int]
    counts: list[Count]
    changes: list[int]

    @property
    def change(self) -> int:
        return self.changes[-1]

    @property
    def before(self) -> Count:
        return self.counts[0]

    @property
    def after(self) -> Count:
        return self.counts[-1]

    @property
    def can_tell(self) -> bool:
        """Whether a change of all its prompts would be told from chance; of five or fewer it never is."""
        prompts = min(self.before.prompts, self.after.prompts)
        return 2 * at_least(prompts, prompts) < CHANCE

    @property
    def worse(self) -> bool:
        """True where it has changed the way that nobody wants."""
        return self.change == {"more": -1, "less": 1}.get(self.aim, 2)

    def ends(self) -> dict[str, Any]:
        """Before and after, for a program."""
        sides = {
            side: {"count": count.yes, "of": count.of, "low": count.low, "high": count.high}
            for side, count in (("before", self.before), ("after", self.after))
        }
        return {"name": self.name, "words": self.words, **sides, "change": self.change}


def wilson(share: float, trials: float) -> tuple[float, float]:
    """95 % bounds of a share that was seen in so many trials: those that a score test does not reject (Wilson 1927)."""
    z = Z95 * Z95 / trials
    middle, half = share + z / 2, Z95 * math.sqrt(share * (1 - share) / trials + z / (4 * trials))
    return max(0.0, (middle - half) / (1 + z)), min(1.0, (middle + half) / (1 + z))


class Paid(NamedTuple):
    """A behaviour that became worse while the score rose, and the pair that shows it best, if any does."""

    name: str
    sentence: str
    pair: Pair | None


def marks_of(sample: Sample, found: Sequence[Behaviour]) -> Mapping[str, bool | None]:
    """What a sample shows: as it was recorded; what was not counted then, its text tells."""
    ready = [one.name for one in found if not one.measure and one.name not in sample.behaviours]
    told = {name: counted.mark(name, sample.prompt, sample.completion, sample.ended) for name in ready}
    return {**sample.behaviours, **told}


def meters(config: RunConfig, samples: Sequence[Sample]) -> list[Meter]:
    """Each behaviour that was asked of any of the fixed prompts, over all looks."""
    updates = sorted({item.update for item in samples})
    looks = [{(i.prompt_id, i.seed): i for i in samples if i.update == update} for update in updates]
    return _meters(config, updates, looks)


def of_pairs(config: RunConfig, pairs: Sequence[Pair]) -> list[Meter]:
    """The same between two moments, or two runs."""
    sides = [{(place, 0): pair[side] for place, pair in enumerate(pairs)} for side in (0, 1)]
    return _meters(config, [pairs[0].before.update, pairs[0].after.update], sides) if pairs else []


def told(meter: Meter) -> str:
    """Its count in words: "repeats wrong claims: 13 to 22 of 25"."""
    before, after = meter.before, meter.after
    of = f"{after.of}" if before.of == after.of else f"{before.of} and {after.of}"
    return f"{meter.words}: {before.yes} to {after.yes} of {of}"


def at_ends(config: RunConfig, samples: Sequence[Sample]) -> list[Meter]:
    """Each behaviour before training and at the newest look only."""
    first, last = min((item.update for item in samples), default=0), max((item.update for item in samples), default=0)
    return meters(config, [item for item in samples if item.update in (first, last)])


def at_ends_of(run: RunDirectory) -> list[Meter]:
    """The same of a run as it is on disk now, read once for as long as nothing is added. Raises: InvalidConfig."""
    files = (run.config_path, run.samples_path, run.events_path)
    return _of_run(run.path, *(before_after.stamp(path) for path in files))


@functools.lru_cache(maxsize=1024)
def _of_run(path: Path, *stamps: tuple[int, int]) -> list[Meter]:
    run = RunDirectory(path)
    return at_ends(run.config(), before_after.samples_of(run))


def sentence(found: Sequence[Meter], most: int = MOST_TOLD) -> str:
    """What has become of the behaviour in one line, changes first; "still" stands before what has changed by no more
    than chance, and where the prompts are too few to tell that is said. Empty where nothing was counted."""
    if not found:
        return ""
    ordered = sorted(found, key=lambda meter: meter.change == 0)[:most]
    changed = [_part(meter) for meter in ordered if meter.change]
    same = [_part(meter) for meter in ordered if not meter.change and meter.can_tell]
    few = [_part(meter) for meter in ordered if not meter.change and not meter.can_tell]
    told = []
    if changed:
        still = f"; it still {telling.listed(same, len(same))}" if same else ""
        told.append(f"It now {telling.listed(changed, len(changed))}{still}.")
    elif same:
        told.append(f"No behaviour has changed by more than chance: it {telling.listed(same, len(same))}.")
    if few:
        told.append(f"On too few prompts to tell a change, it {telling.listed(few, len(few))}.")
    return " ".join(told)


def outcome_words(
    config: RunConfig,
    samples: Sequence[Sample],
    batches: before_after.Headline | None = None,
    *,
    edited: bool = False,
) -> str:
    """What a run has come to: its behaviours, its score and KL, and how they compare with what its preset came to.

    Args:
        batches: what its training batches say, for a run whose fixed prompts tell nothing. edited: whether settings
            were changed while it trained.
    """
    found = [meter for meter in at_ends(config, samples) if len(meter.counts) > 1]
    outcome = before_after.outcome(before_after.pairs(samples))
    bands = bands_of(config, samples, edited=edited)
    judged = verdicts(found, outcome, bands)
    off = [name for name, verdict in judged.items() if verdict not in USUAL]
    ordered = sorted(found, key=lambda meter: meter.change == 0 and meter.name not in off)
    told = (
        sentence(ordered),
        before_after.sentence(outcome, batches, config.score_unit),
        _expected_sentence(judged, bands, config.score_unit),
    )
    return " ".join(filter(None, told))


def bands_of(config: RunConfig, samples: Sequence[Sample], *, edited: bool = False) -> Mapping[str, Band]:
    """What a run is held against: what its preset came to; empty before its end, and of a run that is no preset or was
    changed on the way."""
    finished = any(item.stage == "after" for item in samples)
    return expected.bands(telling.told(config).preset) if finished and not edited else {}


def verdicts(
    found: Sequence[Meter], outcome: before_after.Outcome | None, bands: Mapping[str, Band]
) -> dict[str, Compared]:
    """Of each behaviour, of "score" and of "kl" that has a band: whether it is as expected."""
    ready = {meter.name: meter.after for meter in found if meter.name in READY}  # one of one's own has no band
    ranges = {name: (count.low, count.share, count.high) for name, count in ready.items()}
    if outcome:
        ranges["score"] = outcome.low, outcome.gain, outcome.high
        ranges["kl"] = outcome.kl_low, outcome.kl, outcome.kl_high
    return {
        name: _against(*range_, bands[name])
        for name, range_ in ranges.items()
        if name in bands and not math.isnan(range_[0])
    }


def compared(after: Count, band: Band) -> Compared:
    """A count against where runs of its preset end on other seeds: lower or higher only where its whole interval is."""
    return _against(after.low, after.share, after.high, band)


def _against(low: float, value: float, high: float, band: Band) -> Compared:
    if high < band.low:
        return "lower than expected"
    if low > band.high:
        return "higher than expected"
    return USUAL[0] if band.low <= value <= band.high else USUAL[1]


def _expected_sentence(found: Mapping[str, Compared], bands: Mapping[str, Band], unit: str) -> str:
    """All that is not as expected, with what was; empty where nothing was to be expected."""
    if not found:
        return ""
    seeds = f"from {min(bands[name].seeds for name in found)} seeds"
    off: dict[Compared, list[str]] = defaultdict(list)
    for name, verdict in found.items():
        words = READY[name].words if name in READY else {"kl": "KL"}.get(name, name)
        off[verdict].append(f"{words} ({expected.band_in_words(name, bands[name], unit)})")
    usual = [name for verdict in USUAL for name in off.pop(verdict, [])]
    if not off:
        return f"All as expected ({seeds})."
    told = "; ".join(f"{verdict} {seeds}: {', '.join(names)}" for verdict, names in off.items())
    return f"{told[0].upper()}{told[1:]}.{' The rest as expected.' if usual else ''}"


def paid(config: RunConfig, joined: Sequence[Pair]) -> list[Paid]:
    """Where reward and behaviour disagree: the score rose by more than chance, and a behaviour became worse by more
    than chance. What the reward pays best comes first."""
    gained = outcome(joined)
    if gained is None or not gained.low > 0:
        return []
    told = [_paid(meter, joined, config) for meter in of_pairs(config, joined) if meter.worse]
    return [item for _, item in sorted(told, key=lambda pair: -pair[0])]


def _paid(meter: Meter, joined: Sequence[Pair], config: RunConfig) -> tuple[float, Paid]:
    """How much more a completion scores that does what nobody wants, and the same in words."""
    found = counted.of_config(config)
    bad = meter.aim == "less"
    marks = [[marks_of(side, found).get(meter.name) for side in pair] for pair in joined]
    looks = [
        [(pair[side].prompt_id, pair[side].score, mark[side]) for pair, mark in zip(joined, marks, strict=True)]
        for side in (0, 1)
    ]
    more, half = _difference(looks)
    turned = [pair for pair, mark in zip(joined, marks, strict=True) if mark == [not bad, bad]]
    best = max(turned, key=lambda pair: -math.inf if pair.gain is None else pair.gain, default=None)
    return more if bad else -more, Paid(meter.name, _paid_sentence(meter, more, half, config.score_unit), best)


def _difference(looks: Sequence[Sequence[tuple[int, float | None, bool | None]]]) -> tuple[float, float]:
    """How much more completions with a mark score than those without, within each look (a look where all are alike says
    nothing; if both do, over the two), and half of its 95 % interval (Student's t, one spread for all): not a number
    where fewer than `FEWEST` show it, or do not.

    Args:
        looks: of each completion its prompt, its score and its mark. Those of one prompt with one mark count as one.
    """
    parts = [_sides(look) for look in looks]
    if not any(yes and no for yes, no in parts):
        parts = [([*parts[0][0], *parts[1][0]], [*parts[0][1], *parts[1][1]])]
    parts = [(yes, no) for yes, no in parts if yes and no]
    if not parts:
        return 0.0, math.nan
    weights = [len(yes) * len(no) / (len(yes) + len(no)) for yes, no in parts]
    steps = [fmean(yes) - fmean(no) for yes, no in parts]
    more = math.fsum(step * weight for step, weight in zip(steps, weights, strict=True)) / math.fsum(weights)
    if min(sum(len(part[side]) for part in parts) for side in (0, 1)) < FEWEST:
        return more, math.nan
    sides = [side for part in parts for side in part]
    degrees = sum(map(len, sides)) - len(sides)
    apart = math.fsum((value - fmean(side)) ** 2 for side in sides for value in side)
    return more, t95(degrees + 1) * math.sqrt(apart / degrees / math.fsum(weights))


def _sides(look: Sequence[tuple[int, float | None, bool | None]]) -> tuple[list[float], list[float]]:
    """The scores of a look with the mark, and those without; of a prompt with several, their means."""
    found: dict[tuple[int, bool], list[float]] = defaultdict(list)
    for prompt, score, mark in look:
        if score is not None and mark is not None:
            found[prompt, mark].append(score)
    yes, no = ([fmean(scores) for (_, mark), scores in found.items() if mark is wanted] for wanted in (True, False))
    return yes, no


def _paid_sentence(meter: Meter, more: float, half: float, unit: str) -> str:
    pays = more > 0 if meter.aim == "less" else more < 0
    begin = "The reward pays for it" if pays else "The reward does not ask for it, and does not stop it"
    if half != 0 and not abs(more) > half:
        begin = "Whether the reward pays for it cannot be told from chance"
    spread = f" \u00b1 {half:.2g}" if half >= 0.005 else ""
    alike = abs(more) < 0.005 and not spread
    by = "as much as" if alike else f"{abs(more):.3g}{spread} {unit} {'more' if more > 0 else 'less'} than"
    return f"{begin}: an answer that {meter.words} scores {by} one that does not."


def _part(meter: Meter) -> str:
    before, after = meter.before, meter.after
    if before.of != after.of:
        return f"{meter.words} in {after.yes} of {after.of} answers (before: {before.yes} of {before.of})"
    return f"{meter.words} in {after.yes} of {after.of} answers (before: {before.yes})"


def _meters(config: RunConfig, updates: list[int], looks: Sequence[Mapping[Question, Sample]]) -> list[Meter]:
    found = counted.of_config(config)
    marked = [{key: (item, marks_of(item, found)) for key, item in look.items()} for look in looks]
    made = []
    for one in found:
        # question -> (prompt, yes or no), where it was asked
        asked = []
        for look in marked:
            answers = {key: (item.prompt_id, marks.get(one.name)) for key, (item, marks) in look.items()}
            asked.append({key: (prompt, mark) for key, (prompt, mark) in answers.items() if mark is not None})
        heard = [(update, look) for update, look in zip(updates, asked, strict=True) if look]
        if heard:
            counts = [_count(look) for _, look in heard]
            changes = [_change(heard[0][1], look) for _, look in heard]
            made.append(Meter(one.name, one.words, one.aim, [update for update, _ in heard], counts, changes))
    return made


def _count(look: Mapping[Question, tuple[int, bool]]) -> Count:
    by_prompt: dict[int, list[bool]] = defaultdict(list)
    for prompt, mark in look.values():
        by_prompt[prompt].append(mark)
    yes, of = sum(map(sum, by_prompt.values())), len(look)
    return Count(yes, of, len(by_prompt), effective(list(by_prompt.values())))


def _change(before: Mapping[Question, tuple[int, bool]], after: Mapping[Question, tuple[int, bool]]) -> int:
    """An exact sign test over the prompts (for one sample of each: McNemar's)."""
    moved: dict[int, int] = defaultdict(int)
    for key in before.keys() & after.keys():
        moved[before[key][0]] += after[key][1] - before[key][1]
    up, down = sum(step > 0 for step in moved.values()), sum(step < 0 for step in moved.values())
    if 2 * at_least(max(up, down), up + down) >= CHANCE:
        return 0
    return 1 if up > down else -1
