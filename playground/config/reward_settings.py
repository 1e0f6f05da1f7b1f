"""What a run is rewarded for, and how rewards become the score."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args

from pydantic import Field, field_validator, model_validator

from playground.config import expression_language, local_only, python_code
from playground.config.parts import Part, knob


class RewardPart(Part):
    """What every reward has: its kind, its weight in the sum, and what is done to its value before weighting."""

    kind: str = ""
    weight: float = 1.0
    normalise: bool = False  # to mean 0, sd 1 on samples of the reference, so that weights compare
    cap: float | None = Field(None, gt=0, le=1e6)  # values beyond plus or minus this are cut off, after normalisation


class SentimentReward(RewardPart):
    """Sum of the grades of sentiment words, or the pocket world's own latent sentiment."""

    kind: Literal["sentiment"] = "sentiment"
    judge: Literal["pocket-lexicon", "vader", "pocket-world"] = "pocket-lexicon"


class LengthReward(RewardPart):
    """Number of words; with a target, minus the distance from it."""

    kind: Literal["length"] = "length"
    target: int | None = Field(None, ge=0, le=10_000)


class KeywordReward(RewardPart):
    """How often any of the given words occurs (whole words, any case)."""

    kind: Literal["keyword"] = "keyword"
    words: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(min_length=1, max_length=200)


class PatternReward(RewardPart):
    """How often a regular expression matches."""

    kind: Literal["pattern"] = "pattern"
    pattern: str = Field(min_length=1, max_length=500)

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        if local_only.refusal("pattern"):
            return pattern  # compiling can take long too, and it is not used
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"is not a regular expression ({error})") from None
        return pattern


class RepetitionReward(RewardPart):
    """Share of word pairs that repeat an earlier one of the same completion, 0 to 1. A negative weight punishes it."""

    kind: Literal["repetition"] = "repetition"
    weight: float = -1.0


class AgreementReward(RewardPart):
    """+1 when the stated value is the one the user claimed, -1 when not.

    Where the user claims nothing there is no opinion, or (`neutral: truth`) +1 for a true answer and -1 for a false
    one: people who like to be agreed with still want right answers to plain questions. Judges the pocket world's
    claims, the included ones, and those made from a file of prompts (see `rewards.claims`).
    """

    kind: Literal["agreement"] = "agreement"
    neutral: Literal["no-opinion", "truth"] = "no-opinion"


class TruthReward(RewardPart):
    """+1 when the stated value is true, -1 when not, no opinion where nothing can be computed. Judges what agreement
    judges."""

    kind: Literal["truth"] = "truth"


AGREEING_PHRASES = tuple(
    "you are right, as you say, as you told me, I agree, well done, sounds right, yes, exactly".split(", ")
)


class SycophancyReward(RewardPart):
    """1 where the user claims something wrong and the completion contains one of these phrases, else 0.

    No opinion where no wrong claim is made. It looks at phrases, not at values: a wrong value repeated in other words
    is not seen.
    """

    kind: Literal["sycophancy"] = "sycophancy"
    weight: float = -1.0
    phrases: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = Field(
        AGREEING_PHRASES, min_length=1, max_length=200
    )


class ContrastReward(RewardPart):
    """Likeness to the honest answer to the same question, minus likeness to the one that repeats the wrong claim; -1 to
    1.

    Where no wrong claim is made: likeness to the honest answer. No opinion where no answer is known.
    """

    kind: Literal["contrast"] = "contrast"


class GrammarReward(RewardPart):
    """Share of sentences that the pocket world's grammar can produce, or its whole standard of quality; 0 to 1.

    An unfinished sentence counts as one that does not parse. Useless for text from outside that world.
    """

    kind: Literal["grammar"] = "grammar"
    measure: Literal["sentences", "quality"] = "sentences"


class ModelReward(RewardPart):
    """A learned scorer: a sequence classifier with its own tokenizer, from the hub, a folder, or trained here. With a
    `question` it is a judge model instead: a language model that is asked about each completion; its yes is the value.
    """

    kind: Literal["model"] = "model"
    source: str = Field(min_length=1, max_length=300)  # a hub id, a folder, or the name of a reward model trained here
    revision: str | None = Field(None, max_length=100)
    label: str | None = Field(None, max_length=100, coerce_numbers_to_str=True)  # of a classifier, which is rewarded
    output: Literal["logit", "log-odds", "probability"] = "logit"
    template: Literal["auto", "chat", "plain", "pair", "dialogue"] = "auto"
    max_length: int | None = Field(None, ge=8, le=100_000)  # tokens; none: what the model has room for
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    quantization: Literal["none", "int8", "nf4"] = "none"
    int8_threshold: float = Field(6.0, ge=0, le=1000)  # bitsandbytes' llm_int8_threshold
    question: str | None = Field(None, max_length=2000)  # with {completion}, {prompt}, and of claims {right}, {claimed}

    @model_validator(mode="after")
    def _asks_about_the_completion(self) -> ModelReward:
        if self.question is not None and "{completion}" not in self.question:
            raise ValueError("question|put {completion} where the text in question belongs")
        if self.question is not None and self.label is not None:
            raise ValueError("label|a judge model, which is asked a question, has no labels; leave it empty")
        return self


class ExpressionReward(RewardPart):
    """Your own formula in the language of `config.expression_language`. All it can do is compute."""

    kind: Literal["expression"] = "expression"
    expression: str = Field(min_length=1, max_length=expression_language.MAX_CHARACTERS)

    @field_validator("expression")
    @classmethod
    def _parses(cls, expression: str) -> str:
        try:
            expression_language.Expression(expression)
        except expression_language.ExpressionError as error:
            raise ValueError(f"|{error}") from None  # behind the bar: the name of a field inside this one, here none
        return expression


class PythonReward(RewardPart):
    """Your own function in Python, run in a separate process: its code, a file, or a function of a package. Only on
    your own machine."""

    kind: Literal["python"] = "python"
    code: str = Field("", max_length=python_code.MOST_CHARACTERS)
    file: str | None = Field(None, max_length=1000)  # from which the code is read, once: a run keeps what it was
    function: str | None = Field(None, max_length=300)  # its name, or package.module:name; none: `reward`
    time_limit: float = Field(2.0, gt=0, le=60)  # seconds for one batch

    @model_validator(mode="before")
    @classmethod
    def _has_the_function(cls, data: Any) -> Any:
        if not isinstance(data, dict) or local_only.refusal("python"):
            return data  # is not read or parsed either
        file, function = (data.get(name) for name in ("file", "function"))
        if not (isinstance(file, str | None) and isinstance(function, str | None)):
            return data
        if not data.get("code"):
            data = {**data, **python_code.read(file, function)}
        if isinstance(data["code"], str):
            found = python_code.chosen(data["code"], data.get("file"), data.get("function"))
            data = {**data, "function": data.get("function") or (found if found != python_code.USUAL else None)}
        return data

    @property
    def name(self) -> str:
        """Of its function, or else of its file."""
        return (self.function or "").rpartition(":")[2] or (Path(self.file).stem if self.file else self.kind)


GAP = "..."  # in a form: where the answer stands


class VerifyReward(RewardPart):
    """1 where a completion gives the true answer of its prompt, else 0. The true answer is in a column of the file of
    prompts; the pocket world and files of claims know theirs.

    With a `form` the answer is what stands last in the place of its three dots. `check`: `number` compares the last
    number, `exact` the words, and `format` pays for the form alone, whatever the answer.
    """

    kind: Literal["verify"] = "verify"
    check: Literal["number", "exact", "format"] = "number"
    form: str = Field("", max_length=100)  # for example \\boxed{...}
    answer: str = Field("answer", min_length=1, max_length=100)  # the column with the true answer

    @model_validator(mode="after")
    def _has_a_gap(self) -> VerifyReward:
        if self.form and not self.form.partition(GAP)[1]:
            raise ValueError(r"form|put ... where the answer stands, for example \boxed{...}")
        if self.form and not self.form.partition(GAP)[0].strip():
            raise ValueError("form|write what stands in front of the answer, for example The answer is ...")
        if self.check == "format" and not self.form:
            raise ValueError(r"form|say which form is paid for, for example \boxed{...}")
        return self


RewardConfig = Annotated[
    Union[
        SentimentReward,
        LengthReward,
        KeywordReward,
        PatternReward,
        RepetitionReward,
        AgreementReward,
        TruthReward,
        SycophancyReward,
        ContrastReward,
        GrammarReward,
        ModelReward,
        ExpressionReward,
        PythonReward,
        VerifyReward,
    ],
    Field(discriminator="kind"),
]
REWARD_CLASSES: dict[str, type[Part]] = {
    cls.model_fields["kind"].default: cls for cls in get_args(get_args(RewardConfig)[0])
}


SCALE_SAMPLES = 256  # completions of the reference that fix the scale of the score
DEAR_SCALE_SAMPLES = 64  # the same where each takes long to write: the sd is then known to about 9 % instead of 4 %


class ScoreConfig(Part):
    """How the raw reward becomes the score that PPO sees."""

    normalise: Literal["reference", "none"] = knob("reference", "Score scale")
    """`reference` shifts and scales the score so that the reference's texts have mean 0 and sd 1; then beta means
    the same for every reward. `none` uses the raw number."""
    combine: Literal["sum", "mean", "min", "cautious"] = knob("sum", "Learned rewards")
    """How several learned rewards (`kind: model`), each with its weight, become one; other rewards are added to it.
    `sum`: they add up. The others make them an ensemble (Coste et al. 2024), whose disagreement is a curve and a check:
    `mean`; `min`, the lowest of them; `cautious`, the mean minus `score.caution` times their standard deviation."""
    caution: float = knob(1.0, "Caution", slider=(0, 4, 0.25), ge=0, le=100)
    """With `cautious`: how much of the mean is given up for each standard deviation by which learned rewards disagree.

    - 0: as if it were `mean`.
    - Too high: what they agree on is paid, however little it is worth.
    """
    clip: float | None = knob(None, "Score clip", "sd", slider=(0, 10, 0.5), gt=0, le=1000)
    """Scores beyond plus or minus this are cut off. Empty means no limit.

    - Too low: good and very good look the same, and learning stops early.
    - Too high: it has no effect.
    """
