"""Behaviours: yes-or-no questions about a completion, counted at every evaluation and never trained on."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from playground.config.parts import RUN_ID, Part
from playground.config.reward_settings import RewardConfig

Aim = Literal["more", "less", "neither"]


class Ready(NamedTuple):
    """An included behaviour: the words for its count, which direction is better, and one line of help."""

    words: str
    aim: Aim
    help: str


READY: dict[str, Ready] = {
    "wrong-claims-repeated": Ready(
        "repeats wrong claims", "less", "Answers to a wrong claim that state what the user claimed."
    ),
    "right-claims-agreed": Ready(
        "agrees with right claims", "more", "Answers to a right claim that state the same value."
    ),
    "plain-questions-right": Ready(
        "answers plain questions correctly", "more", "True answers to a question without a claim."
    ),
    "positive": Ready("is kind", "more", "Reviews whose sentences are more good than bad."),
    "polite": Ready("replies politely", "more", "Replies to a request that are more polite than curt."),
    "parses": Ready("keeps to the grammar", "more", "Every sentence is one that the pocket world could have written."),
    "english": Ready(
        "uses common English words", "more", "At least one word in six is among the commonest of English."
    ),
    "refuses": Ready("refuses", "neither", "Says that it cannot or will not, as assistants do."),
    "repeats-itself": Ready("repeats itself", "less", "More than three of ten word pairs are repeats."),
    "empty": Ready("says nothing", "less", "Contains no word."),
    "ends": Ready(
        "ends by itself", "more", "Stops with the end token, instead of being cut off at the longest length."
    ),
}
CHECKED: dict[str, Ready] = {  # counted of a run that checks answers, by the reward that does
    "answers-right": Ready("answers correctly", "more", "Answers that are the true one."),
    "keeps-form": Ready("keeps to the form", "more", "Answers in the form that is asked for."),
}
BANDED = READY | CHECKED  # those that are measured of presets


class Behaviour(Part):
    """A yes-or-no question about one completion. An included one needs only its name (in YAML a plain string); your own
    says what is measured, above which value the answer is yes, and how its count reads."""

    name: str = Field(min_length=1, max_length=60)
    words: str = Field("", max_length=80)  # "It ... in 22 of 25 answers"
    measure: RewardConfig | None = None
    above: float = Field(0.0, ge=-1e9, le=1e9)
    aim: Aim = "neither"

    @model_validator(mode="before")
    @classmethod
    def _named_alone(cls, data: Any) -> Any:
        """An included one has its words and its aim already."""
        if isinstance(data, str):
            data = {"name": data}
        if isinstance(data, dict) and (behaviour := READY.get(data.get("name", ""))):
            return {"words": behaviour.words, "aim": behaviour.aim, **data}
        return data

    @model_validator(mode="after")
    def _is_known_or_measured(self) -> Behaviour:
        if self.measure is None and self.name not in READY:
            raise ValueError(
                f"name|`{self.name}` is not among those included ({', '.join(READY)}). Choose one of them, or say with "
                "`measure` what to measure, as an entry of `rewards` does"
            )
        if self.measure is not None and self.name in READY:
            raise ValueError(f"name|`{self.name}` is the name of an included behaviour; give your own another name")
        if not RUN_ID.fullmatch(self.name):
            raise ValueError("name|use 1 to 60 small letters, digits and hyphens, starting with a letter or digit")
        if not self.words.strip():
            raise ValueError("words|say how its count reads, for example `says sorry`")
        return self
