"""Which words move a reward model: how much lower it scores a text from which a word is taken out, on average over the
texts that have it. It says what the model reacts to in these texts, not why."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from playground.config import ModelReward
from playground.training.models import loading
from playground.training.rewards import learned_rewards
from playground.training.service.reward_bench import measured

LEAST = 3  # texts that have a word
MOST_TEXTS = 8  # of these, in which it is taken out
MOST_WORDS = 40  # the commonest
MOST_COMPLETIONS = 400
WORD = re.compile(r"[^\W\d_]+")


def answer(question: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """{words: [{word, moves, texts}], sd}, the words that raise the score most first; `sd`: of the scores of the texts.

    Args:
        question: `source`, a reward model; `outputs`, where those trained here lie; `texts`, a list of {prompt,
            completion}.

    Raises: PlaygroundError.
    """
    texts = question["texts"][:MOST_COMPLETIONS]
    prompts, completions = ([str(text[name]) for text in texts] for name in ("prompt", "completion"))
    outputs = Path(question["outputs"]) if question.get("outputs") else None
    reward = learned_rewards.builder(loading.device_of("auto"), outputs)(ModelReward(source=question["source"]))
    having = common_words(completions)
    without = [(word, row) for word, rows in having.items() for row in rows]
    cut = [taken_out(completions[row], word) for word, row in without]
    scores = [score or 0.0 for score in measured("judge", reward, prompts, completions)]
    shorter = [score or 0.0 for score in measured("judge", reward, [prompts[row] for _, row in without], cut)]
    moves: dict[str, list[float]] = defaultdict(list)
    for (word, row), score in zip(without, shorter, strict=True):
        moves[word].append(scores[row] - score)
    found = [{"word": word, "moves": fmean(values), "texts": len(values)} for word, values in moves.items()]
    middle = fmean(scores) if scores else 0.0
    sd = fmean([(score - middle) ** 2 for score in scores]) ** 0.5 if scores else 0.0
    yield {"words": sorted(found, key=lambda one: -one["moves"]), "sd": sd}


def common_words(completions: Sequence[str]) -> dict[str, list[int]]:
    """The commonest words that some texts have and others have not, each with the first texts that have it."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(completions):
        for word in dict.fromkeys(WORD.findall(text.lower())):
            rows[word].append(row)
    often = sorted((word for word in rows if len(rows[word]) >= LEAST), key=lambda word: -len(rows[word]))
    return {word: rows[word][:MOST_TEXTS] for word in often[:MOST_WORDS]}


def taken_out(text: str, word: str) -> str:
    """A text without a word, wherever it stands, and without the space before it."""
    return re.sub(rf"\s?\b{re.escape(word)}\b", "", text, flags=re.IGNORECASE)
