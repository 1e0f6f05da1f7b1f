"""A vote of a class: which of two texts a person finds better. Who gets which pairs in which order, what may be
answered, what the votes come to, and the preference pairs that are made of them; never whose they are."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

from playground.analysis.intervals import Interval, by_unit, interval
from playground.rewards.agreement import t95
from playground.setup.describe import count_of
from playground.ui.classroom.records import ClassPair, PairVotes, Side
from playground.ui.classroom.room import Answer, Step
from playground.ui.classroom.room_file import NoClass

MOST_PAIRS, EACH = 200, 20
MOST_TEXT = 2000  # characters of a prompt or a completion that is shown
MOST_BRIEF = 140  # characters of what everyone, or a group, is asked to look for
GROUPS = 2
SIDES = ("left", "right", "tie")
TEXTS: tuple[Literal["first"], Literal["second"]] = ("first", "second")
WORTH = {"first": 0.0, "second": 1.0, "tie": 0.5}  # of a vote, for the second text
BEFORE_AFTER = ["from before training", "from after training"]
COMING = "A vote comes: texts are being written for it. It opens here by itself."
NOT_COME = "The texts have not come. It goes on in front."
NO_PAIRS = "There are no two different texts to vote on. Choose another model or run."


class Agreement(NamedTuple):
    """How alike people voted on the same pair. `share`: of two of its voters who are drawn by chance, how often they
    said the same, over the pairs with two votes or more; `luck`: how often they would if nobody had looked, and all had
    voted in the shares that there are."""

    share: Interval
    luck: float


def data_of(
    title: str,
    pairs: Sequence[Mapping[str, Any]],
    *,
    run: str = "",
    sides: Sequence[str] = (),
    each: int | None = None,
    briefs: Sequence[str] = (),
    means: str = "",
) -> dict[str, Any]:
    """The data of a step. `pairs`: {prompt, first, second, cut}, `cut` naming the texts that the most tokens have cut;
    `run`: whose texts they are; `sides`: what the first and the second text are, in words, where it is hidden which is
    which; `each`: pairs for one person; `briefs`: what each of two groups is asked to look for, or nothing; `means`:
    what everyone is. Raises: NoClass."""
    if not pairs:
        raise NoClass(NO_PAIRS)
    if each is None:
        each = EACH
    texts = [
        {
            "prompt": str(pair["prompt"])[:MOST_TEXT],
            "first": str(pair["first"])[:MOST_TEXT],
            "second": str(pair["second"])[:MOST_TEXT],
            "cut": pair.get("cut", []),
        }
        for pair in pairs[:MOST_PAIRS]
    ]
    return {
        "title": title,
        "pairs": texts,
        "run": run,
        "sides": list(sides),
        "each": max(1, min(each, len(texts))),
        "briefs": briefs_of(briefs),
        "means": means.strip()[:MOST_BRIEF],
    }


def coming(title: str, order: dict[str, Any]) -> dict[str, Any]:
    """The data of a step while its texts are being written. `order`: what it takes to have them written again."""
    return {
        "title": title,
        "pairs": [],
        "run": "",
        "sides": [],
        "each": 0,
        "briefs": [],
        "wait": COMING,
        "order": order,
    }


def briefs_of(briefs: Sequence[str]) -> list[str]:
    """What the two groups are asked to look for, or none. Raises: NoClass."""
    texts = [brief.strip() for brief in briefs]
    if not any(texts):
        return []
    if len(texts) != GROUPS or not all(texts) or max(map(len, texts)) > MOST_BRIEF:
        raise NoClass(f"Two groups: say for both what they look for, in at most {MOST_BRIEF} characters.")
    return texts


def group_of(number: int) -> int:
    """The group of who came in as the `number`th: 1 or 2, in turns."""
    return 1 + number % GROUPS


def order_of(person: str, step: Step) -> list[int]:
    """The numbers of the pairs that a person gets, from 1, in their own order: always the same."""
    return random.Random(f"order {person} {step.id}").sample(range(1, len(step.data["pairs"]) + 1), step.data["each"])


def is_swapped(person: str, step: Step, number: int) -> bool:
    """Whether a person sees the second text on the left."""
    return random.Random(f"sides {person} {step.id} {number}").random() < 0.5


def pairs_of(person: str, step: Step) -> list[ClassPair]:
    """The pairs as a person sees them; once it is shown, with which text is from after training."""
    pairs = []
    for number in order_of(person, step):
        texts = step.data["pairs"][number - 1]
        first, second = text_of(texts, "first"), text_of(texts, "second")
        pair = ClassPair(number, texts["prompt"], first, second)
        if is_swapped(person, step, number):
            pair.left, pair.right = second, first
        if step.state == "shown" and step.data.get("sides"):
            pair.after = "right"
            if is_swapped(person, step, number):
                pair.after = "left"
        pairs.append(pair)
    return pairs


def text_of(pair: Mapping[str, Any], side: str) -> str:
    """The `first` or the `second` text as it is shown: with an ellipsis where it was cut."""
    if side in pair.get("cut", ()):
        return f"{pair[side]}\u2026"
    return str(pair[side])


def done(step: Step, answers: Iterable[Answer]) -> tuple[int, int]:
    """How many people have voted on all of their pairs, and how many on some of them only."""
    votes = Counter(answer.person for answer in answers)
    complete = sum(count >= step.data["each"] for count in votes.values())
    return complete, len(votes) - complete


def checked(person: str, step: Step, number: int, value: Any) -> str:
    """A vote as it is kept: by the sides that the person saw. Raises: NoClass."""
    if number not in order_of(person, step):
        raise NoClass("This pair is not one of yours. Load the page again.")
    if not isinstance(value, str) or value not in SIDES:
        raise NoClass("Choose the left text, the right one, or that both are as good.")
    return value


def choice_of(step: Step, answer: Answer) -> Side:
    """Which text a vote is for, whatever side it was on."""
    if answer.value == "tie":
        return "tie"
    return TEXTS[(answer.value == "left") == is_swapped(answer.person, step, answer.item)]


def of_group(answers: Iterable[Answer], people: Mapping[str, int], group: int) -> list[Answer]:
    """Those of one group; 0 is everyone. `people`: who came in as which."""
    return [answer for answer in answers if not group or group_of(people.get(answer.person, 0)) == group]


def counted(step: Step, answers: Iterable[Answer]) -> list[PairVotes]:
    """The votes on each pair that has any."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for answer in answers:
        votes[answer.item][choice_of(step, answer)] += 1
    return [PairVotes(number, of["first"], of["second"], of["tie"]) for number, of in sorted(votes.items())]


def agreement(pairs: Sequence[PairVotes]) -> Agreement | None:
    """None while no pair has two votes."""
    counts = [(pair.first, pair.second, pair.tie) for pair in pairs if pair.votes > 1]
    if not counts:
        return None
    same = [sum(votes * (votes - 1) for votes in pair) / (sum(pair) * (sum(pair) - 1)) for pair in counts]
    of_side = [sum(votes) for votes in zip(*counts, strict=True)]
    return Agreement(interval(same, 1.0), sum(votes**2 for votes in of_side) / sum(of_side) ** 2)


def win_rate(step: Step, answers: Iterable[Answer]) -> Interval:
    """How often the second text wins, over pairs, whose votes are averaged first. Other pairs and other voters would
    have come to something else: the variance over pairs and that over voters, less that of single votes, which is in
    both (two-way clusters: Cameron, Gelbach and Miller 2011)."""
    votes = [(answer.item, answer.person, WORTH[choice_of(step, answer)]) for answer in answers]
    of_pair = by_unit((pair, worth) for pair, _, worth in votes)
    mean = fmean(map(fmean, of_pair.values()))
    pulls = [(worth - mean) / (len(of_pair) * len(of_pair[pair])) for pair, _, worth in votes]

    def variance(clusters: Sequence[Hashable]) -> float:
        sums: dict[Hashable, float] = defaultdict(float)
        for cluster, pull in zip(clusters, pulls, strict=True):
            sums[cluster] += pull
        return len(sums) / max(1, len(sums) - 1) * sum(pull * pull for pull in sums.values())

    pairs, voters, _ = zip(*votes, strict=True)
    units = min(len({*pairs}), len({*voters}))
    if units < 2:
        return Interval(mean, None, units)
    of_pairs, of_voters = variance(pairs), variance(voters)
    half = t95(units) * math.sqrt(max(of_pairs + of_voters - variance(range(len(votes))), of_pairs, of_voters))
    return Interval(mean, half or None, units)


def rows(step: Step, pairs: Sequence[PairVotes]) -> list[dict[str, Any]]:
    """Preference pairs as TRL takes them, by the majority: one for each pair of texts, however many have voted on it
    (`votes` and `against` say how many), for a row that comes again says nothing new. Draws are left out."""
    preferences = []
    for pair in pairs:
        if pair.first != pair.second:
            texts = step.data["pairs"][pair.number - 1]
            chosen, rejected = "first", "second"
            if pair.first < pair.second:
                chosen, rejected = "second", "first"
            preferences.append(
                {
                    "prompt": texts["prompt"],
                    "chosen": texts[chosen],
                    "rejected": texts[rejected],
                    "votes": max(pair.first, pair.second),
                    "against": min(pair.first, pair.second),
                    "ties": pair.tie,
                }
            )
    return preferences


def sentences(step: Step, answers: Sequence[Answer]) -> list[str]:
    """What the votes come to."""
    pairs = counted(step, answers)
    votes = sum(pair.votes for pair in pairs)
    if not votes:
        return ["No votes yet."]
    voters = count_of(len({answer.person for answer in answers}), "person", "people")
    ties = percent(sum(pair.tie for pair in pairs) / votes)
    of = count_of(len(step.data["pairs"]), "pair")
    total = f"{count_of(votes, 'vote')} by {voters} on {len(pairs)} of {of}; {ties} of them say that both are as good."
    return [total, *outcome(step, answers)]


def outcome(step: Step, answers: Sequence[Answer]) -> list[str]:
    """How alike people voted, and which text won, where that is asked."""
    texts, pairs = [], counted(step, answers)
    if alike := agreement(pairs):
        share = alike.share
        texts.append(
            f"Two people who saw the same pair said the same {percent(share.mean)} of the time (by luck, in "
            f"these shares: {percent(alike.luck)}{_sure(share)}; over {count_of(share.units, 'pair')})."
        )
    sides = step.data.get("sides")
    if pairs and sides:
        rate = win_rate(step, answers)
        texts.append(
            f"The text {sides[1]} wins {percent(rate.mean)} of the votes (a tie is half a win{_sure(rate)}; the mean "
            f"of {count_of(len(pairs), 'pair')})."
        )
    return texts


def _sure(share: Interval) -> str:
    bounds = share.share_bounds
    unsure = "; too few votes, or too much alike, to say how sure that is"
    if bounds:
        return f"; 95\u00a0% interval {percent(bounds[0])} to {percent(bounds[1])}"
    return unsure


def percent(share: float) -> str:
    """A share in words, never broken over a line."""
    return f"{100 * share:.0f}\u00a0%"
