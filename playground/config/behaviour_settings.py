"""What a run counts in its completions: yes or no of each, at every evaluation of the fixed prompts. Not trained on."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from playground.config.parts import RUN_ID, Part
from playground.config.reward_settings import RewardConfig

Aim = Literal["more", "less", "neither"]


class Ready(NamedTuple):
    """A behaviour that ships: the words for its count, which way is better, and one line of help."""

    words: str
    aim: Aim
    help: str


READY: dict[str, Ready] = {
    "wrong-claims-repeated": Ready(
        "repeats wrong claims", "less", "Of the answers to a wrong claim: those that state what the user claimed."
    ),
    "right-claims-agreed": Ready(
        "agrees with right claims", "more", "Of the answers to a right claim: those that state the same."
    ),
    "plain-questions-right": Ready(
        "answers plain questions rightly", "more", "Of the answers to a question without a claim: the true ones."
    ),
    "positive": Ready("is kind", "more", "Of the reviews: those whose sentences are more good than bad."),
    "polite": Ready("replies politely", "more", "Of the replies to a request: those that are more polite than curt."),
    "parses": Ready("keeps to the grammar", "more", "Every sentence is one that the pocket world could have written."),
    "english": Ready(
        "uses common English words", "more", "At least one word in six is among the commonest of English."
    ),
    "refuses": Ready("refuses", "neither", "Says that it cannot or will not, as assistants do."),
    "repeats-itself": Ready("repeats itself", "less", "More than three word pairs in ten have occurred before."),
    "empty": Ready("says nothing", "less", "Has no word in it."),
    "ends": Ready("ends by itself", "more", "Stops with the end token, and is not cut off at the longest length."),
}


class Behaviour(Part):
    """A yes or no of one completion. One that ships is named alone (in YAML a text will do); one of one's own says what
    is measured, above which value it is a yes, and how its count reads."""

    name: str = Field(min_length=1, max_length=60)
    words: str = Field("", max_length=80)  # "It ... in 22 of 25 answers"
    measure: RewardConfig | None = None
    above: float = Field(0.0, ge=-1e9, le=1e9)
    aim: Aim = "neither"

    @model_validator(mode="before")
    @classmethod
    def _named_alone(cls, data: Any) -> Any:
        """One that ships brings its words and its aim along."""
        found = {"name": data} if isinstance(data, str) else data
        known = READY.get(found.get("name", "")) if isinstance(found, dict) else None
        return {"words": known.words, "aim": known.aim, **found} if known else found

    @model_validator(mode="after")
    def _is_known_or_measured(self) -> Behaviour:
        if self.measure is None and self.name not in READY:
            raise ValueError(
                f"name|`{self.name}` is none that ships ({', '.join(READY)}). Choose one of them, or say with "
                "`measure` what is measured, as an entry of `rewards` does"
            )
        if self.measure is not None and self.name in READY:
            raise ValueError(f"name|`{self.name}` ships with the playground; give one of your own another name")
        if not RUN_ID.fullmatch(self.name):
            raise ValueError("name|use 1 to 60 small letters, digits and hyphens, beginning with a letter or digit")
        if not self.words.strip():
            raise ValueError("words|say how its count reads, for example `says sorry`")
        return self
