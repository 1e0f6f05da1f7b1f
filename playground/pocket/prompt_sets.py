"""Prompt sets of the pocket world: seeded lists of prompts, distinct as far as the world has that many."""

import functools
import random
from collections.abc import Callable

from playground.pocket import corpus

PROMPT_SETS: dict[str, str] = {
    "pocket/mixed": "the corpus mix: reviews, claims, stories and requests",
    "pocket/reviews": "beginnings of reviews whose sentiment is still open",
    "pocket/claims": "claims about sums and facts: nearly half wrong, a third right, the rest neutral questions",
    "pocket/wrong-claims": "claims about sums and facts: two thirds wrong, a tenth right, the rest neutral questions",
    "pocket/sums-and-facts": "neutral questions only: what is 4 plus 5, what is the capital of France",
    "pocket/sums": "sums: two thirds with a wrong claim, a tenth with a right one, the rest plain questions",
    "pocket/stories": "first sentences of little stories",
    "pocket/requests": "polite requests",
}
CLAIMS_MIXES = {  # of the draws; of distinct prompts fewer are neutral, for the world has fewer of those
    "pocket/claims": {"wrong": 0.4, "right": 0.3, "neutral": 0.3},
    "pocket/wrong-claims": {"wrong": 0.65, "right": 0.1, "neutral": 0.25},  # where wanting to please shows most
}
_FRUITLESS_DRAWS = 2000  # in a row, before repeats are allowed


def prompts(name: str, count: int, seed: int | str) -> list[str]:
    """`count` prompts of a set, always the same for one seed. Raises KeyError for an unknown set."""
    if name not in PROMPT_SETS:
        raise KeyError(f"no prompt set is called {name!r}; there are {', '.join(PROMPT_SETS)}")
    return list(_drawn(name, count, seed))


@functools.lru_cache(maxsize=4)  # a set takes up to a second, and a form that is changed asks for it again and again
def _drawn(name: str, count: int, seed: int | str) -> list[str]:
    rng = random.Random(f"prompts {name} {seed}")
    if name in CLAIMS_MIXES:
        return _distinct(count, rng, lambda: _mixed_claim(rng, CLAIMS_MIXES[name]))
    if name == "pocket/sums":
        return _distinct(count, rng, lambda: _mixed_claim(rng, CLAIMS_MIXES["pocket/wrong-claims"], "sums"))
    if name == "pocket/sums-and-facts":
        return _distinct(count, rng, lambda: corpus.claim(rng, "neutral", True).prompt)
    kind = None  # any of them
    if name != "pocket/mixed":
        kind = name.split("/")[1].replace("stories", "story").rstrip("s")
    return _distinct(count, rng, lambda: corpus.document(rng, kind, habits=False).prompt)


def claim_prompts(
    count: int, seed: int | str, right: bool = True, form: str | None = None, about: str | None = None
) -> list[str]:
    """Claims that are all right or all wrong, of one form or all but "neutral", about "sums", "facts" or both."""
    rng = random.Random(f"claim prompts {seed} {right} {form} {about}")
    return _distinct(count, rng, lambda: corpus.claim(rng, form or _claiming_form(rng), right, about).prompt)


def _mixed_claim(rng: random.Random, mix: dict[str, float], about: str | None = None) -> str:
    drawn = rng.choices(list(mix), list(mix.values()))[0]
    form = "neutral"
    if drawn != "neutral":
        form = _claiming_form(rng)
    return corpus.claim(rng, form, drawn != "wrong", about).prompt


def _claiming_form(rng: random.Random) -> str:
    forms = {form: share for form, share in corpus.CLAIM_FORMS.items() if form != "neutral"}
    return rng.choices(list(forms), list(forms.values()))[0]


def _distinct(count: int, rng: random.Random, draw: Callable[[], str]) -> list[str]:
    """Distinct draws, and repeats once these have become rare; shuffled, since short and frequent ones are drawn first:
    the first of them, which are kept aside as fixed prompts, are to be like the rest."""
    distinct: dict[str, None] = {}
    fruitless = 0
    while len(distinct) < count and fruitless < _FRUITLESS_DRAWS:
        before = len(distinct)
        distinct.setdefault(draw())
        fruitless = fruitless + 1 if len(distinct) == before else 0
    listed = list(distinct)
    while len(listed) < count:
        listed.append(draw())
    rng.shuffle(listed)
    return listed
