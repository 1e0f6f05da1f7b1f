"""The presets that ship with their model as one story: in which order, held against what, and what to look for.

The words and figures are those of the recordings in ui/recorded. `catalog` and the Train page ask here.
"""

from __future__ import annotations

from typing import NamedTuple


class Step(NamedTuple):
    """One experiment of the story: its preset, the earlier one to hold it against, and what to look for there."""

    preset: str
    against: str
    look: str


STORY = (
    Step(
        "kinder-reviews", "",
        "Score and KL climb together, and then level off. Remember both: the next three change only the leash.",
    ),
    Step(
        "no-leash", "kinder-reviews",
        "More than five times the score, and nearly thirty times the KL. Read the texts that earned it.",
    ),
    Step("short-leash", "no-leash", "The other end: both curves stay flat, and the texts hardly change."),
    Step(
        "steady-leash", "kinder-reviews",
        "The chart of beta moves now, by itself: about half the KL, for some two thirds of the score.",
    ),
    Step(
        "yes-man", "kinder-reviews",
        "Until now the leash changed, from here on the reward does. Read what it answers to wrong claims.",
    ),
    Step("honest-friend", "yes-man", "The same prompts and another reward: it contradicts what the other repeats."),
    Step(
        "chatterbox", "kinder-reviews",
        "The score climbs, and no judge agrees: words are paid, so words come. Look at the texts and at their length.",
    ),
    Step(
        "without-critic", "kinder-reviews",
        "As much score for as much KL, and no chart of value fit: eight answers to a prompt replace the critic.",
    ),
    Step("group-scores", "without-critic", "Nearly the same curves: all that is new is a division by the spread."),
    Step(
        "from-pairs", "kinder-reviews",
        "About a quarter of the score at a fifth of the KL: it learns from texts that were written before training.",
    ),
    Step("best-texts", "from-pairs", "About as far, without a leash: it becomes as good as the best of what it wrote."),
    Step("best-of-n", "best-texts", "More score, and nothing was trained. But each answer costs sixteen."),
)  # fmt: skip
