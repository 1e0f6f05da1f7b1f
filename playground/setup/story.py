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
        "Score and KL climb together, most of it by update 25. Remember both: the next three change only the leash.",
    ),
    Step(
        "no-leash", "kinder-reviews",
        "About five times the score, and more than twenty times the KL. Read the texts that earned it.",
    ),
    Step("short-leash", "no-leash", "The other end: both curves stay nearly flat, and the texts hardly change."),
    Step(
        "autopilot", "kinder-reviews",
        "The chart of beta moves now, by itself: less than half of the KL, for more than half of the score.",
    ),
    Step(
        "yes-man", "kinder-reviews",
        "Until now the leash changed, from here on the reward does. Read what it answers to wrong claims.",
    ),
    Step("honest-friend", "yes-man", "The same prompts and another reward: it contradicts what the other repeats."),
    Step(
        "agreeable-thumbs", "yes-man",
        "No rule pays agreement now, people's thumbs do, by way of a reward model. It is learned all the same.",
    ),
    Step(
        "thumbs-up-mix", "agreeable-thumbs",
        "An honest reward is in the mixture, and is outvoted. Give both the same weight and run it again.",
    ),
    Step(
        "rule-penalty", "yes-man",
        "The yes-man's reward, less a penalty on agreeing phrases, with a bonus for the truth: it turns.",
    ),
    Step(
        "paraphrase-hole", "rule-penalty",
        "More penalty and no bonus. The phrases are gone and the wrong claims are not: read what it says instead.",
    ),
    Step(
        "contrarian", "rule-penalty",
        "Agreement is punished whether the user is right or wrong. Look at right claims, and at plain questions.",
    ),
    Step(
        "classifier-penalty", "rule-penalty",
        "A model that learned which answers are honest does the punishing. What it cannot tell is not punished.",
    ),
    Step(
        "contrastive", "rule-penalty",
        "Held against the honest answer, not against phrases: no hole, and the remarks go.",
    ),
    Step(
        "biased-reference", "honest-friend",
        "The same reward, and a leash to a start that flatters: it stays as it was. Halve beta until it lets go.",
    ),
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
        "About a third of the score at a third of the KL: it learns from texts that were written before training.",
    ),
    Step(
        "best-texts", "from-pairs",
        "About as much score at half of the KL, without a leash: it imitates the best of what it wrote.",
    ),
    Step("best-of-n", "best-texts", "More score, and nothing was trained. But each answer costs sixteen."),
    Step(
        "steering", "kinder-reviews",
        "Nothing is trained here either. Each look is one turn of the dial: read the same prompt at all of them.",
    ),
    Step(
        "steering-claims", "steering",
        "The same dial, and nothing moves: it repeats about as many wrong claims as before.",
    ),
)  # fmt: skip
