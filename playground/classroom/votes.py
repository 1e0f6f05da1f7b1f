"""A vote of a class: which of two texts a person finds better. Who gets which pairs in which order, what may be
answered, what the votes come to, and the preference pairs that are made of them; never whose they are."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

from playground.analysis.intervals import Interval, by_unit, interval
from playground.classroom.room import Given, Step, is_whole
from playground.classroom.room_file import NoClass
from playground.config import PairsConfig, RewardTrainingConfig, RunConfig
from playground.errors import PlaygroundError
from playground.rewards.agreement import t95

MOST_PAIRS, EACH = 200, 20
MOST_TEXT = 2000  # characters of a prompt or a completion that is shown
MOST_BRIEF = 140  # characters of what everyone, or a group, is asked to look for
GROUPS = 2
JUDGE_BASE, JUDGE_EPOCHS, JUDGE_RATE = "pocket-1m", 15.0, 7e-4
JUDGE_ROWS = 60  # above so many rows there are fewer epochs: it takes no longer
POLICY_PRESET, POLICY_UPDATES = "kinder-reviews", 25
SIDES = ("left", "right", "tie")
WORTH = {"first": 0.0, "second": 1.0, "tie": 0.5}  # of a vote, for the second text
BEFORE_AFTER = ["from before training", "from after training"]
COMING = "A vote comes: texts are being written for it. It opens here by itself."
NOT_COME = "The texts have not come. It goes on in front."
Side = Literal["first", "second", "tie"]


class NoVotes(PlaygroundError):
    """There are no pairs to vote on, or too few votes for what is to be made of them."""


class Counted(NamedTuple):
    """The votes on one pair."""

    number: int
    first: int
    second: int
    tie: int

    @property
    def votes(self) -> int:
        """All of them."""
        return self.first + self.second + self.tie

    @property
    def is_divided(self) -> bool:
        """Whether people voted for different texts, or a third or more of several votes are ties beside other votes."""
        return min(self.first, self.second) > 0 or 3 * min(self.first + self.second, self.tie) >= self.votes > 1


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
    each: Any = EACH,
    briefs: Any = None,
    means: Any = "",
) -> dict[str, Any]:
    """The data of a step. `pairs`: {prompt, first, second, cut}, `cut` naming the texts that the most tokens have cut;
    `run`: whose texts they are; `sides`: what the first and the second text are, in words, where it is hidden which is
    which; `each`: pairs for one person; `briefs`: what each of two groups is asked to look for, or nothing; `means`:
    what everyone is. Raises: NoVotes."""
    kept = [
        {**{name: str(pair[name])[:MOST_TEXT] for name in ("prompt", "first", "second")}, "cut": pair.get("cut", [])}
        for pair in pairs
    ]
    if not kept:
        raise NoVotes("There are no two different texts to vote on. Choose another model or run.")
    asked = each if is_whole(each) else EACH
    return {
        "title": title,
        "pairs": kept[:MOST_PAIRS],
        "run": run,
        "sides": list(sides),
        "each": max(1, min(asked, len(kept))),
        "briefs": briefs_of(briefs),
        "means": means.strip()[:MOST_BRIEF] if isinstance(means, str) else "",
    }


def coming(title: str, order: dict[str, Any]) -> dict[str, Any]:
    """The data of a step while its texts are being written. `order`: what it takes to have them written again."""
    nothing: dict[str, Any] = {"pairs": [], "run": "", "sides": [], "each": 0, "briefs": []}
    return {"title": title, **nothing, "wait": COMING, "order": order}


def briefs_of(given: Any) -> list[str]:
    """What the two groups are asked to look for, or none. Raises: NoVotes."""
    says = [say.strip() for say in given if isinstance(say, str)] if isinstance(given, list) else []
    if not any(says):
        return []
    if len(says) != GROUPS or not all(says) or max(map(len, says)) > MOST_BRIEF:
        raise NoVotes(f"Two groups: say for both what they look for, in at most {MOST_BRIEF} characters.")
    return says


def sides_of(step: Step) -> list[str]:
    """What the first and the second text of each pair are, in words; empty where they are of one kind."""
    return list(step.data.get("sides", []))


def group_of(number: int) -> int:
    """The group of who came in as the `number`th: 1 or 2, in turns."""
    return 1 + number % GROUPS


def order_of(person: str, step: Step) -> list[int]:
    """The numbers of the pairs that a person gets, from 1, in their own order: always the same."""
    return random.Random(f"order {person} {step.id}").sample(range(1, len(step.data["pairs"]) + 1), step.data["each"])


def is_swapped(person: str, step: Step, number: int) -> bool:
    """Whether a person sees the second text on the left."""
    return random.Random(f"sides {person} {step.id} {number}").random() < 0.5


def shown(person: str, step: Step) -> list[dict[str, Any]]:
    """The pairs as a person sees them: {number, prompt, left, right}."""
    found = []
    for number in order_of(person, step):
        pair = step.data["pairs"][number - 1]
        left, right = ("second", "first") if is_swapped(person, step, number) else ("first", "second")
        texts = {"left": text_of(pair, left), "right": text_of(pair, right)}
        found.append({"number": number, "prompt": pair["prompt"], **texts})
    return found


def text_of(pair: Mapping[str, Any], side: str) -> str:
    """The `first` or the `second` text as it is shown: with an ellipsis where it was cut."""
    return f"{pair[side]}\u2026" if side in pair.get("cut", ()) else str(pair[side])


def done(step: Step, answers: Iterable[Given]) -> tuple[int, int]:
    """How many people have voted on all of their pairs, and how many on some of them only."""
    given = Counter(answer.person for answer in answers)
    all_of_theirs = sum(count >= step.data["each"] for count in given.values())
    return all_of_theirs, len(given) - all_of_theirs


def checked(person: str, step: Step, number: int, value: Any) -> str:
    """A vote as it is kept: by the sides that the person saw. Raises: NoClass."""
    if number not in order_of(person, step):
        raise NoClass("This pair is not one of yours. Load the page again.")
    if not isinstance(value, str) or value not in SIDES:
        raise NoClass("Choose the left text, the right one, or that both are as good.")
    return value


def meant(step: Step, answer: Given) -> Side:
    """Which text a vote is for, whatever side it was on."""
    if answer.value == "tie":
        return "tie"
    return "second" if (answer.value == "left") == is_swapped(answer.person, step, answer.item) else "first"


def of_group(answers: Iterable[Given], people: Mapping[str, int], group: int) -> list[Given]:
    """Those of one group; 0 is everyone. `people`: who came in as which."""
    return [one for one in answers if not group or group_of(people.get(one.person, 0)) == group]


def counted(step: Step, answers: Iterable[Given]) -> list[Counted]:
    """The votes on each pair that has any."""
    found: dict[int, Counter[str]] = {}
    for answer in answers:
        found.setdefault(answer.item, Counter())[meant(step, answer)] += 1
    return [
        Counted(number, *(votes[side] for side in ("first", "second", "tie")))
        for number, votes in sorted(found.items())
    ]


def agreement(found: Sequence[Counted]) -> Agreement | None:
    """None while no pair has two votes."""
    several = [pair for pair in found if pair.votes > 1]
    if not several:
        return None
    same = [sum(count * (count - 1) for count in pair[1:]) / (pair.votes * (pair.votes - 1)) for pair in several]
    votes = sum(pair.votes for pair in several)
    luck = sum((sum(pair[side] for pair in several) / votes) ** 2 for side in (1, 2, 3))
    return Agreement(interval(same, 1.0), luck)


def win_rate(step: Step, answers: Iterable[Given]) -> Interval:
    """How often the second text wins, over pairs, whose votes are averaged first. Other pairs and other voters would
    have come to something else: the variance over pairs and that over voters, less that of single votes, which is in
    both (two-way clusters: Cameron, Gelbach and Miller 2011)."""
    cast = [(one.item, one.person, WORTH[meant(step, one)]) for one in answers]
    of_pair = by_unit((pair, worth) for pair, _, worth in cast)
    mean = fmean(map(fmean, of_pair.values()))
    pulls = [(worth - mean) / (len(of_pair) * len(of_pair[pair])) for pair, _, worth in cast]

    def variance(keys: Sequence[Any]) -> float:
        sums: dict[Any, float] = {}
        for key, pull in zip(keys, pulls, strict=True):
            sums[key] = sums.get(key, 0.0) + pull
        return len(sums) / max(1, len(sums) - 1) * sum(pull * pull for pull in sums.values())

    pairs, voters = [pair for pair, _, _ in cast], [person for _, person, _ in cast]
    both, one_way = variance(range(len(cast))), (variance(pairs), variance(voters))
    fewer = min(len({*pairs}), len({*voters}))
    half = t95(fewer) * math.sqrt(max(sum(one_way) - both, *one_way)) if fewer > 1 else 0.0
    return Interval(mean, half or None, fewer)


def rows(step: Step, found: Sequence[Counted]) -> list[dict[str, Any]]:
    """Preference pairs as TRL takes them, by the majority: one for each pair of texts, however many have voted on it
    (`votes` and `against` say how many), for a row that comes again says nothing new. Draws are left out."""
    made = []
    for pair in found:
        if pair.first == pair.second:
            continue
        chosen, rejected = ("first", "second") if pair.first > pair.second else ("second", "first")
        texts = step.data["pairs"][pair.number - 1]
        made.append(
            {
                "prompt": texts["prompt"],
                "chosen": texts[chosen],
                "rejected": texts[rejected],
                "votes": max(pair.first, pair.second),
                "against": min(pair.first, pair.second),
                "ties": pair.tie,
            }
        )
    return made


def judge_settings(name: str, source: str, num_rows: int) -> RewardTrainingConfig:
    """How a reward model is trained on few votes: `bench/class_votes.py` has measured what it learns."""
    return RewardTrainingConfig(
        name=name,
        base=JUDGE_BASE,
        epochs=JUDGE_EPOCHS * min(1.0, JUDGE_ROWS / num_rows),
        learning_rate=JUDGE_RATE,
        pairs=PairsConfig(source=source, limit=MOST_PAIRS),
    )


def policy_settings(preset: RunConfig, judge: str, group: int = 0) -> dict[str, Any]:
    """A run of a preset that is paid by a judge, of a group or of everyone, as plain data, and small: there is a class
    waiting."""
    data = preset.model_dump(mode="json")
    data |= {"name": f"paid-by-{judge}", "preset": ""}
    data["rewards"] = [{"kind": "model", "source": judge}]
    data["ppo"] |= {"num_updates": POLICY_UPDATES}
    data["evaluation"] |= {"every": POLICY_UPDATES}
    whose = f"group {group}" if group else "the class"
    data["about"] = {"title": f"Paid by {whose}", "story": "Paid by a reward model that learned from a class's votes."}
    return data


def said(step: Step, answers: Sequence[Given]) -> list[str]:
    """What the votes come to, in sentences."""
    found, voters = counted(step, answers), len({answer.person for answer in answers})
    votes = sum(pair.votes for pair in found)
    if not votes:
        return ["No votes yet."]
    ties = sum(pair.tie for pair in found) / votes
    sentences = [
        f"{count_of(votes, 'vote')} by {count_of(voters, 'person', 'people')} on {len(found)} of "
        f"{count_of(len(step.data['pairs']), 'pair')}; {percent(ties)} of them say that both are as good."
    ]
    return [*sentences, *outcome(step, answers)]


def outcome(step: Step, answers: Sequence[Given]) -> list[str]:
    """How alike people voted, and which text won, where that is asked."""
    sentences, found = [], counted(step, answers)
    if alike := agreement(found):
        sentences.append(
            f"Two people who saw the same pair said the same {percent(alike.share.mean)} of the time (by luck, in "
            f"these shares: {percent(alike.luck)}{_sure(alike.share)}; over {count_of(alike.share.units, 'pair')})."
        )
    if found and (sides := sides_of(step)):
        rate = win_rate(step, answers)
        sentences.append(
            f"The text {sides[1]} wins {percent(rate.mean)} of the votes (a tie is half a win{_sure(rate)}; the mean "
            f"of {count_of(len(found), 'pair')})."
        )
    return sentences


def _sure(share: Interval) -> str:
    bounds = share.share_bounds
    unsure = "; too few votes, or too much alike, to say how sure that is"
    return f"; 95\u00a0% interval {percent(bounds[0])} to {percent(bounds[1])}" if bounds else unsure


def percent(share: float) -> str:
    """A share in words, never broken over a line."""
    return f"{100 * share:.0f}\u00a0%"


def count_of(number: int, one: str, many: str = "") -> str:
    """A number with its word."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
