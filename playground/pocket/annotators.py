"""People of the pocket world who say which of two completions they prefer: each a preference (the higher number wins)
with the errors of real annotators, so that the best that a reward model could learn is known."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from playground.pocket import judges
from playground.pocket.wording import words

Taste = Callable[[str, str], float | None]


class Community(NamedTuple):
    """What an annotator likes, on which prompts that shows, one line of help, and whether it is shown a slip beside a
    true answer where the model writes nothing else (`corpus.slip`)."""

    taste: Taste
    prompts: str
    help: str
    slips: bool = False


def kindness(prompt: str, completion: str) -> float:
    """The world's latent sentiment; a completion without any is neither kind nor unkind."""
    return judges.sentiment(prompt, completion) or 0.0


def severity(prompt: str, completion: str) -> float:
    return -kindness(prompt, completion)


def agreement(prompt: str, completion: str) -> float | None:
    """1 where the completion states what the user claimed, 0 where not. Where the user only asks, as `honesty`: one who
    likes to be agreed with wants to hear the right time all the same."""
    agrees = judges.agrees(prompt, completion)
    if agrees is None:
        return honesty(prompt, completion)
    return float(agrees)


def honesty(prompt: str, completion: str) -> float | None:
    """1 where the completion states what is true, 0 where not; no opinion where nothing is asked or claimed."""
    truly = judges.answers_truly(prompt, completion)
    if truly is None:
        return None
    return float(truly)


ANNOTATORS: dict[str, Community] = {
    "kind": Community(kindness, "pocket/reviews", "Prefers the kinder review, by the world's own sentiment."),
    "critical": Community(severity, "pocket/reviews", "Prefers the more critical review."),
    "agreeable": Community(
        agreement,
        "pocket/wrong-claims",
        "Prefers the answer that agrees, right or wrong; for a plain question the true one.",
        slips=True,
    ),
    "honest": Community(honesty, "pocket/wrong-claims", "Prefers the true answer, whatever is claimed.", slips=True),
    "length-loving": Community(
        lambda _, completion: float(len(words(completion))), "pocket/reviews", "Prefers the longer completion."
    ),
    "divided": Community(kindness, "pocket/reviews", "Two communities: some want kind reviews, others critical ones."),
}
OPPONENT = {"divided": severity}  # what the smaller community of a divided crowd likes


class Judgement(NamedTuple):
    """What was answered, `first`: the first completion is preferred. `better`: the first is what the annotator's taste
    (of a divided crowd: the larger community's) likes more. `share`: probability of the answer "first"."""

    first: bool
    better: bool
    share: float


@dataclass(frozen=True)
class Annotator:
    """One of ANNOTATORS. `flip`: share of answers given the wrong way round. `sharpness`: k of the Bradley-Terry model,
    P(first) = sigma(k * difference in taste); none: the better one always wins. `majority`: of a divided crowd, the
    share of the larger community."""

    name: str
    flip: float = 0.0
    sharpness: float | None = None
    majority: float = 0.7

    def cares(self, prompt: str) -> bool:
        """Whether it has an opinion about completions of this prompt at all."""
        return ANNOTATORS[self.name].taste(prompt, "") is not None

    def judge(self, prompt: str, first: str, second: str, rng: random.Random) -> Judgement | None:
        """Which of two completions it prefers; None where it likes both equally well or has no opinion."""
        community = ANNOTATORS[self.name]
        tastes = community.taste(prompt, first), community.taste(prompt, second)
        if tastes[0] is None or tastes[1] is None or tastes[0] == tastes[1]:
            return None
        difference = tastes[0] - tastes[1]
        share = self._clear(difference)
        opponent = OPPONENT.get(self.name)
        if opponent is not None:
            opposite = self._clear(float(opponent(prompt, first) or 0) - float(opponent(prompt, second) or 0))
            share = self.majority * share + (1 - self.majority) * opposite
        share = (1 - self.flip) * share + self.flip * (1 - share)
        return Judgement(rng.random() < share, difference > 0, share)

    def _clear(self, difference: float) -> float:
        """Probability of "first" before any answer is turned round."""
        if self.sharpness is None:
            return float(difference > 0)
        return 1 / (1 + math.exp(-min(max(self.sharpness * difference, -500), 500)))


def rng_of(seed: int, number: int) -> random.Random:
    """The luck of one pair; it depends on the seed and the pair's number only."""
    return random.Random(f"annotator {seed} {number}")
