"""The functions that an expression may call: names, what they take and give, and their words. A fixed table.

What they compute is in `rewards/expressions.py`; here is what can be checked and told without computing anything.
`expressions` checks calls by it, the page and docs/rewards.md list it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Type = Literal["number", "text"]
TEXTS = ("text", "part", "start", "end", "word", "other", "prompt", "completion")  # parameters that take a text
PATTERN = "pattern"  # the parameter that takes a regular expression
WRITTEN_OUT = ("word", PATTERN)  # parameters that must be texts in quotes, because they are made ready beforehand


class Signature(NamedTuple):
    """What a function takes and gives, in words for a person.

    Attributes:
        optional: how many of the last parameters may be left out. many: the last one may be given again and again.
    """

    parameters: tuple[str, ...]
    help: str
    gives: Type = "number"
    optional: int = 0
    many: bool = False

    @property
    def fewest(self) -> int:
        """The smallest number of values it can be called with."""
        return len(self.parameters) - self.optional

    def parameter(self, position: int) -> str:
        """The parameter that takes the value at this position."""
        return self.parameters[min(position, len(self.parameters) - 1)]

    def written(self, name: str) -> str:
        """As it is written, for example `clip(x, low, high)`."""
        required = self.parameters[: self.fewest]
        text = ", ".join(required) + "".join(f"[, {name}]" for name in self.parameters[self.fewest :])
        return f"{name}({text}{', ...' if self.many else ''})"


FUNCTIONS: dict[str, Signature] = {
    "words": Signature(("text",), "Number of words."),
    "characters": Signature(("text",), "Number of characters."),
    "sentences": Signature(("text",), "Number of sentences that end, with `.`, `!` or `?`."),
    "count": Signature(("text", "part"), "How often `part` occurs, capitals and all."),
    "keywords": Signature(
        ("text", "word"), "How often any of the given words occurs, as whole words in any case.", many=True
    ),
    "distinct": Signature(("text",), "Share of different words among all words, 0 to 1."),
    "repeated": Signature(("text",), "Share of word pairs that were said before, 0 to 1."),
    "overlap": Signature(("text", "other"), "Share of the different words of `text` that `other` has too, 0 to 1."),
    "contains": Signature(("text", "part"), "1 if `part` occurs, else 0."),
    "starts_with": Signature(("text", "start"), "1 if the text begins with `start`, else 0. Spaces in front count."),
    "ends_with": Signature(("text", "end"), "1 if the text ends with `end`, else 0."),
    "matches": Signature(("text", PATTERN), "1 if the regular expression is found anywhere in the text, else 0."),
    "matches_count": Signature(("text", PATTERN), "How often the regular expression is found, at most 1000 times."),
    "sentiment": Signature(("text",), "Sum of the grades of sentiment words: wonderful +2, dull -1."),
    "vader": Signature(("text",), "Sentiment by VADER, for any English: it knows `not`, `very` and capitals."),
    "pocket_sentiment": Signature(
        ("prompt", "completion"), "Sentiment in the pocket world, -2 to 2; nothing where no sentence carries any."
    ),
    "grammar": Signature(("prompt", "completion"), "Share of sentences that the pocket world could have written."),
    "quality": Signature(("prompt", "completion"), "Share of the pocket world's five marks of quality, 0 to 1."),
    "agreement": Signature(
        ("prompt", "completion"), "1 for the value that the user claimed, -1 for another; nothing without a claim."
    ),
    "truth": Signature(("prompt", "completion"), "1 for the true value, -1 for another; nothing where none is asked."),
    "lower": Signature(("text",), "The text in small letters.", "text"),
    "upper": Signature(("text",), "The text in capitals.", "text"),
    "strip": Signature(("text",), "The text without spaces and line breaks at its ends.", "text"),
    "min": Signature(("x", "y"), "The smallest of the numbers.", many=True),
    "max": Signature(("x", "y"), "The largest of the numbers.", many=True),
    "abs": Signature(("x",), "The number without its sign."),
    "clip": Signature(("x", "low", "high"), "The number, but at least `low` and at most `high`."),
    "round": Signature(("x", "digits"), "The number, rounded; with `digits` behind the point.", optional=1),
    "floor": Signature(("x",), "The next whole number below."),
    "ceil": Signature(("x",), "The next whole number above."),
    "sqrt": Signature(("x",), "The square root."),
    "exp": Signature(("x",), "e to the power of the number."),
    "log": Signature(("x",), "The natural logarithm."),
    "tanh": Signature(("x",), "Any number, squeezed to between -1 and 1."),
    "otherwise": Signature(("x", "y"), "The number `x`; where that is nothing, `y`."),
}
