"""Which words move a reward model: how much it changes its score when a sentence with the word, "It was kind.", is put
behind texts that it knows, more or less than with other words. It says what the model reacts to, not why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from playground.config import ModelReward
from playground.training.models import loading
from playground.training.rewards import learned_rewards
from playground.training.service.reward_bench import measured

LEAST_TEXTS, LEAST_LETTERS = 2, 4  # of a word that is tried
MOST_WORDS, MOST_TEXTS = 80, 12  # the commonest words, behind so many of the texts
WORD = re.compile(r"[^\W\d_]+")


def answer(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """{words: [{word, moves}], texts}, the words that raise the score most first; `moves` against the mean of all.

    Args:
        question: `source`, a reward model; `outputs`, where those trained here lie; `texts`, a list of {prompt,
            completion}.

    Raises: PlaygroundError.
    """
    words = common_words([str(text["completion"]) for text in question["texts"]])
    some = question["texts"][:: max(1, len(question["texts"]) // MOST_TEXTS)][:MOST_TEXTS]
    outputs = Path(question["outputs"]) if question.get("outputs") else None
    reward = learned_rewards.builder(loading.device_of("auto"), outputs)(ModelReward(source=question["source"]))
    asked = [str(text["prompt"]) for text in some]
    given = {word: [f"{text['completion']} It was {word}." for text in some] for word in words}
    scores = measured("judge", reward, asked * len(words), [text for texts in given.values() for text in texts])
    of_word = {
        word: fmean(score or 0.0 for score in scores[at * len(some) : (at + 1) * len(some)])
        for at, word in enumerate(words)
    }
    middle = fmean(of_word.values()) if of_word else 0.0
    found = [{"word": word, "moves": score - middle} for word, score in of_word.items()]
    yield {"words": sorted(found, key=lambda one: -one["moves"]), "texts": len(some)}


def common_words(completions: Sequence[str]) -> list[str]:
    """The commonest words of some texts, short ones left out."""
    texts = Counter(word for text in completions for word in {*WORD.findall(text.lower())})
    often = sorted((-count, word) for word, count in texts.items() if count >= LEAST_TEXTS)
    return [word for _, word in often if len(word) >= LEAST_LETTERS][:MOST_WORDS]
