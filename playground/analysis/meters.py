"""What a run does to behaviour, in counts: how many completions of the fixed prompts show each behaviour, with
Wilson's interval (1927); the prompts, not the samples, are the independent units."""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Literal, NamedTuple, TypedDict

from playground.analysis import before_after
from playground.analysis.before_after import BeforeAfter
from playground.analysis.intervals import by_unit
from playground.config import Behaviour, RunConfig
from playground.config.behaviour_settings import BANDED, Aim
from playground.pocket.judges import form_of
from playground.rewards import behaviours as counted
from playground.rewards.agreement import at_least, effective, wilson
from playground.rewards.behaviours import EARNS, REWARD
from playground.rewards.mixture import term_names
from playground.runs.folder.records import Sample
from playground.setup import describe, expected
from playground.setup.expected import Band

CHANCE = 0.05  # two-sided; a change that luck makes as often is none
MOST_LISTED = 3  # in a sentence
Marked = tuple[int, bool]  # a prompt, and whether an answer to it shows a behaviour
WRONG, RIGHT = "wrong-claims-repeated", "right-claims-agreed"
WAYS = {  # words -> forms of `pocket.grammar.CLAIM_PROMPTS`
    "plainly": ("plain",),
    "with certainty": ("sure",),
    "as a teacher or an expert": ("expert",),
    "as what a friend says": ("friend",),
    "in the second turn": ("two-turn, doubt", "two-turn, assent"),
}
Compared = Literal["as expected", "within chance of expected", "lower than expected", "higher than expected"]
USUAL: tuple[Compared, ...] = ("as expected", "within chance of expected")


class Count(NamedTuple):
    """How many of some completions, and of how many prompts these are; `low` and `high` bound the share with 95 %
    confidence."""

    yes: int
    of: int
    prompts: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.yes / self.of

    def as_end(self) -> EndCount:
        """As programs read it."""
        return {"count": self.yes, "of": self.of, "low": self.low, "high": self.high}


def count_with_bounds(yes: int, of: int, prompts: int, effective: float | None = None) -> Count:
    """With its bounds. Several samples of one prompt are alike, and count for as many prompts as are `effective`."""
    return Count(yes, of, prompts, *wilson(yes / of, effective or prompts))


def count_of(marked: Iterable[Marked]) -> Count:
    """Of marks, of which there is one at least."""
    marks = list(by_unit(marked).values())
    return count_with_bounds(int(sum(map(sum, marks))), sum(map(len, marks)), len(marks), effective(marks))


class EndCount(TypedDict):
    """So many of so many answers, and the bounds of the share, as programs read it."""

    count: int
    of: int
    low: float
    high: float


class MeterEnds(NamedTuple):
    """One behaviour before training and at the newest evaluation, as programs read it; `change` as in `Meter`."""

    name: str
    words: str
    before: EndCount
    after: EndCount
    change: int


class Meter(NamedTuple):
    """One behaviour over the evaluations of a run, or between two of them: the updates, the count at each, and +1 or -1
    where it differs from the first by more than chance, else 0. `band`: what other seeds of its preset came to, and how
    it is `compared` with that, where it is."""

    name: str
    words: str
    aim: Aim
    updates: list[int]
    counts: list[Count]
    changes: list[int]
    band: tuple[float, float] | None = None
    compared: str = ""

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
        """Whether a change of all its prompts would be more than chance; of five or fewer it never is."""
        prompts = min(self.before.prompts, self.after.prompts)
        return 2 * at_least(prompts, prompts) < CHANCE

    @property
    def worse(self) -> bool:
        """True where it has changed in the direction that is not wanted."""
        if self.aim == "more":
            return self.change < 0
        return self.aim == "less" and self.change > 0

    def ends(self) -> MeterEnds:
        return MeterEnds(self.name, self.words, self.before.as_end(), self.after.as_end(), self.change)


def marks_of(sample: Sample, behaviours: Sequence[Behaviour]) -> Mapping[str, bool | None]:
    """What a sample shows: as it was recorded; what was not counted then is read from its text."""
    ready = [
        behaviour.name for behaviour in behaviours if not behaviour.measure and behaviour.name not in sample.behaviours
    ]
    read = {name: counted.mark(name, sample.prompt, sample.completion, sample.ended) for name in ready}
    return {**sample.behaviours, **read}


def meters(config: RunConfig, samples: Sequence[Sample]) -> list[Meter]:
    """Each behaviour that was asked of any of the fixed prompts, over all evaluations, first what the rewards pay for;
    where that is none of them, the reward itself is counted."""
    updates = sorted({item.update for item in samples})
    moments = [{(i.prompt_id, i.seed): i for i in samples if i.update == update} for update in updates]
    meters_of_all = _meters(config, updates, moments)
    first = counted.of_rewards(config, {meter.name for meter in meters_of_all})
    meters_of_all.sort(key=lambda meter: meter.name not in first)
    if REWARD in first:
        return [*_of_reward(updates, moments), *meters_of_all]
    return meters_of_all


def _of_reward(updates: Sequence[int], moments: Sequence[Mapping[tuple[int, int], Sample]]) -> list[Meter]:
    """How many answers earn more than the untrained median, or at least that where it divides those more evenly."""
    earned = [
        {key: (item.prompt_id, item.score) for key, item in moment.items() if item.score is not None}
        for moment in moments
    ]
    heard = [(update, moment) for update, moment in zip(updates, earned, strict=True) if moment]
    if not heard:
        return []
    untrained = [score for _, score in heard[0][1].values()]
    middle = median(untrained)
    ways = {"more than": operator.gt, "at least": operator.ge}
    words = min(ways, key=lambda way: abs(sum(ways[way](score, middle) for score in untrained) - len(untrained) / 2))
    marks = [
        (update, {key: (prompt, ways[words](score, middle)) for key, (prompt, score) in moment.items()})
        for update, moment in heard
    ]
    return [_meter(REWARD, EARNS.format(words), "more", marks)]


def of_pairs(config: RunConfig, pairs: Sequence[BeforeAfter]) -> list[Meter]:
    """The same between two moments, or two runs."""
    sides = [{(row, 0): pair[side] for row, pair in enumerate(pairs)} for side in (0, 1)]
    if pairs:
        return _meters(config, [pairs[0].before.update, pairs[0].after.update], sides)
    return []


def _meters(
    config: RunConfig, updates: Sequence[int], moments: Sequence[Mapping[tuple[int, int], Sample]]
) -> list[Meter]:
    behaviours = counted.of_config(config)
    marks = [{key: (item.prompt_id, marks_of(item, behaviours)) for key, item in moment.items()} for moment in moments]
    meters = []
    for behaviour in behaviours:
        marks_asked = [
            {
                key: (prompt, mark)
                for key, (prompt, moment_marks) in moment.items()
                if (mark := moment_marks.get(behaviour.name)) is not None
            }
            for moment in marks
        ]
        heard = [(update, moment) for update, moment in zip(updates, marks_asked, strict=True) if moment]
        if heard:
            meters.append(_meter(behaviour.name, behaviour.words, behaviour.aim, heard))
    return meters


def _meter(name: str, words: str, aim: Aim, heard: Sequence[tuple[int, Mapping[tuple[int, int], Marked]]]) -> Meter:
    """From the marks at each update, of which there is one at least."""
    counts = [count_of(moment.values()) for _, moment in heard]
    changes = [_change(heard[0][1], moment) for _, moment in heard]
    return Meter(name, words, aim, [update for update, _ in heard], counts, changes)


def _change(before: Mapping[tuple[int, int], Marked], after: Mapping[tuple[int, int], Marked]) -> int:
    """An exact sign test over the prompts (for one sample of each: McNemar's)."""
    moved = by_unit((before[key][0], after[key][1] - before[key][1]) for key in before.keys() & after.keys())
    steps = [sum(each) for each in moved.values()]
    up = sum(step > 0 for step in steps)
    down = sum(step < 0 for step in steps)
    if 2 * at_least(max(up, down), up + down) >= CHANCE:
        return 0
    return 1 if up > down else -1


class Way(NamedTuple):
    """One way to put a claim, and what is answered where it is wrong and where it is right, as far as it was asked."""

    words: str
    wrong: Meter | None
    right: Meter | None


def ways(config: RunConfig, answers: Sequence[Sample] | Sequence[BeforeAfter]) -> list[Way]:
    """Over all evaluations, or between two moments or two runs; empty for a run that counts no agreement or has no
    claims in these wordings."""
    agreements = tuple(behaviour for behaviour in counted.of_config(config) if behaviour.name in (WRONG, RIGHT))
    if not agreements:
        return []
    only, ways = config.model_copy(update={"behaviours": agreements}), []
    for words, forms in WAYS.items():
        pairs = [pair for pair in answers if isinstance(pair, BeforeAfter) and form_of(pair.after.prompt) in forms]
        samples = [sample for sample in answers if isinstance(sample, Sample) and form_of(sample.prompt) in forms]
        named = {meter.name: meter for meter in of_pairs(only, pairs) or meters(only, samples)}
        if named:
            ways.append(Way(words, named.get(WRONG), named.get(RIGHT)))
    return ways


def at_ends(config: RunConfig, samples: Sequence[Sample]) -> list[Meter]:
    """Each behaviour before training and at the newest evaluation only."""
    updates = sorted({item.update for item in samples})
    return meters(config, [item for item in samples if item.update in (updates[0], updates[-1])])


def in_words(ends: MeterEnds) -> str:
    """A count in words: "repeats wrong claims: 13 -> 22 of 25 (up)"."""
    before, after = ends.before, ends.after
    of = f"{after['of']}"
    if before["of"] != after["of"]:
        of = f"{before['of']} and {of}"
    words = f"{ends.words}: {before['count']} -> {after['count']} of {of}"
    if ends.change > 0:
        words += " (up)"
    elif ends.change < 0:
        words += " (down)"
    return words


def _part_of(meter: Meter) -> str:
    """Which part of the sentence it belongs to."""
    if meter.change:
        return "changed"
    return "same" if meter.can_tell else "few"


def sentence(meters: Sequence[Meter]) -> str:
    """What has become of the behaviour in one line, all changes first; "without a clear change" stands before what has
    changed by no more than chance, and where the prompts are too few to tell that is said. Empty where nothing was
    counted."""
    parts: dict[str, list[str]] = {"changed": [], "same": [], "few": []}
    listed = sorted(meters, key=lambda meter: meter.change == 0)
    for meter in listed[: max(MOST_LISTED, sum(meter.change != 0 for meter in meters))]:
        before, after = meter.before, meter.after
        of = "" if before.of == after.of else f" of {before.of}"
        words = f"{meter.words} in {after.yes} of {after.of} answers (before: {before.yes}{of})"
        parts[_part_of(meter)].append(words)
    changed, same, untellable = (describe.listed(part, len(part)) for part in parts.values())
    sentences = []
    if changed and same:
        sentences.append(f"It now {changed}; without a clear change, it {same}.")
    elif changed:
        sentences.append(f"It now {changed}.")
    elif same:
        sentences.append(f"No behaviour has changed by more than chance: it {same}.")
    if untellable:
        sentences.append(f"On too few prompts to tell a change, it {untellable}.")
    return " ".join(sentences)


def reward_sentence(
    config: RunConfig, meter: Meter, joined: Sequence[before_after.BeforeAfter], outcome: before_after.Outcome | None
) -> str:
    """What has become of the reward that was trained, where no behaviour says it: the share of its meter with the
    interval, and its mean in its own unit."""
    before, after = meter.before, meter.after
    change = _change_in_words(meter, outcome)
    sure = ""
    if meter.can_tell:
        sure = f" ({100 * after.low:.0f} to {100 * after.high:.0f} %)"
    share = f"{after.yes} of {after.of} answers{sure} {meter.words.replace('earns', 'earn', 1)} (before: {before.yes})"
    raw = [fmean(numbers) for side in zip(*joined, strict=True) if (numbers := _raw(config, side))]
    mean = ""
    if len(raw) > 1:
        mean = f", on average {raw[1]:z.3g} (before: {raw[0]:z.3g})"
    return f"Its reward{change}: {share}{mean}."


def _change_in_words(meter: Meter, outcome: before_after.Outcome | None) -> str:
    """What the reward has done, as it goes on behind "Its reward"."""
    change = meter.change
    if outcome and outcome.low > 0:
        change = 1
    elif outcome and outcome.high < 0:
        change = -1
    if change > 0:
        return " has risen"
    if change < 0:
        return " has fallen"
    if meter.can_tell or (outcome and outcome.tells_bounds):
        return " shows no clear change"
    return ", on too few prompts to tell a change"


def _raw(config: RunConfig, answers: Sequence[Sample]) -> list[float]:
    """The weighted sums of the rewards, in their own unit; of none where one is brought to another scale, or they are
    an ensemble."""
    terms = dict(zip(term_names(config.rewards), config.rewards, strict=True))
    if config.score.combine != "sum" or any(term.normalise or term.cap for term in terms.values()):
        return []
    rows = (
        [terms[name].weight * value for name, value in item.scores.items() if name in terms and value is not None]
        for item in answers
    )
    return [sum(row) for row in rows if row]


def verdicts(
    meters: Sequence[Meter], outcome: before_after.Outcome | None, bands: Mapping[str, Band]
) -> dict[str, Compared]:
    """Of each behaviour, of "score" and of "kl" that has a band: whether it is as expected."""
    counts = {meter.name: meter.after for meter in meters if meter.name in BANDED}  # one of one's own has no band
    ranges = {name: (count.low, count.share, count.high) for name, count in counts.items()}
    if outcome:
        ranges["score"] = outcome.low, outcome.gain, outcome.high
        ranges["kl"] = outcome.kl_low, outcome.kl, outcome.kl_high
    return {
        name: _against(*range_, bands[name])
        for name, range_ in ranges.items()
        if name in bands and not math.isnan(range_[0])
    }


def against_bands(meters: Sequence[Meter], drawn: Mapping[str, Band], bands: Mapping[str, Band]) -> list[Meter]:
    """The same with the bands to draw, and held against those that they can be compared with."""
    return [
        meter._replace(
            band=drawn[meter.name][:2] if meter.name in drawn else None,
            compared=compared(meter.after, bands[meter.name]) if meter.name in bands else "",
        )
        for meter in meters
    ]


def compared(after: Count, band: Band) -> Compared:
    """A count against where runs of its preset end on other seeds: lower or higher only where its whole interval is."""
    return _against(after.low, after.share, after.high, band)


def _against(low: float, value: float, high: float, band: Band) -> Compared:
    if high < band.low:
        return "lower than expected"
    if low > band.high:
        return "higher than expected"
    if band.low <= value <= band.high:
        return USUAL[0]
    return USUAL[1]


def expected_sentence(verdicts: Mapping[str, Compared], bands: Mapping[str, Band], unit: str) -> str:
    """All that is not as expected, with what was; empty where nothing was to be expected."""
    if not verdicts:
        return ""
    seeds = f"from {min(bands[name].seeds for name in verdicts)} seeds"
    off: dict[Compared, list[str]] = defaultdict(list)
    for name, verdict in verdicts.items():
        if verdict not in USUAL:
            words = "KL" if name == "kl" else name
            if name in BANDED:
                words = BANDED[name].words
            off[verdict].append(f"{words} ({expected.band_in_words(name, bands[name], unit)})")
    if not off:
        if any(verdict != USUAL[0] for verdict in verdicts.values()):
            return f"All within chance of what was expected ({seeds})."
        return f"All as expected ({seeds})."
    listed = "; ".join(f"{verdict} {seeds}: {', '.join(names)}" for verdict, names in off.items())
    ending = " The rest is as expected." if sum(map(len, off.values())) < len(verdicts) else ""
    return f"{listed[0].upper()}{listed[1:]}.{ending}"
