"""What the reward self-test reports, and what its figures mean. Plain data and plain numbers; knows no model.

`format_check` measures and fills these in. FINDINGS has everything that it may find, with what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from playground.rewards import agreement

LEVELS = ("ok", "warn", "fail")
LUCK = 0.01  # a difference that luck alone would show less often than this is no luck
LOW_ACCURACY, LOW_GENERIC_ACCURACY = 0.65, 0.75
GOOD_ACCURACY = 0.75  # pairs that do not shut this out cannot say that a model only guesses
CLEARER, ERRORS = 1.5, 4  # a margin larger by this factor, and by so many standard errors, is a sign by itself
FEWEST = 8  # pairs; of fewer a standard error says too little
FINDINGS = {  # level, name, and a sentence that says what was measured and what to do
    "no such model": ("fail", "no such model", "{why}"),
    "not usable": ("fail", "not usable", "{why}"),
    "another template": ("fail", "another template than trained on",
        "The reward model was trained on the template `{trained_on}` and is read in `{template}`. Set template: auto."),
    "missing end token": ("warn", "missing end token",
        "The model's configuration names token {end} ({shown}) as its end, and the examples do not end with it. If it "
        "was trained with it, set eos_token in its tokenizer_config.json."),
    "cut": ("warn", "examples are cut",
        "{share:.0%} of the examples are longer than {limit} tokens and lose the beginning of their prompt. Raise "
        "max_length, or use shorter prompts."),
    "not finite": ("fail", "scores are not finite",
        "{count} of {of} scores are infinite or not a number. Try precision fp32 or no quantization; if that does not "
        "help, the weights are broken."),
    "pairs not finite": ("fail", "scores are not finite", "Some scores of the pairs are infinite or not a number."),
    "no spread": ("fail", "no spread",
        "All {of} completions get the same score ({score:.4g}), so there is nothing to learn from. The model "
        "saturates, is read in the wrong form, or is cut to nothing."),
    "bad beats good": ("fail", "bad beats good",
        "The bad completion scores higher in {wrong:.0%} of {on}: the wrong label is rewarded, or chosen and rejected "
        "are exchanged. A negative weight turns a reward round."),
    "low accuracy on built-in pairs": ("warn", "low accuracy",
        "Right on {right:.0%} of {on}. They may not be what this model judges; give pairs of your own."),
    "too few pairs": ("warn", "too few pairs",
        "Right on {right:.0%} of {on}: too few to tell this from guessing, which is right on 50%. Give more pairs."),
    "guessing": ("fail", "cannot tell good from bad",
        "Right on {right:.0%} of {on}; guessing is right on 50%. PPO would learn noise."),
    "low accuracy": ("warn", "low accuracy", "Right on only {right:.0%} of {on}; guessing is right on 50%."),
    "better": ("fail", "better: {form.name}",
        "`{form.name}` is right on {form.accuracy:.0%} of the pairs, the form in force on {mine.accuracy:.0%}: it does "
        "not fit the model. {form.mend}{also}"),
    "better without": ("warn", "better: {form.name}",
        "`{form.name}` is right on {form.accuracy:.0%} of the pairs, the form in force on {mine.accuracy:.0%}: it does "
        "not fit the model. This model was not trained to read prompt and completion together in this form.{also}"),
    "clearer": ("warn", "clearer: {form.name}",
        "`{form.name}` tells good from bad by {form.margin:.2f} on average, the form in force by only "
        "{mine.margin:.2f}: the model was probably trained on another form. {form.mend}"),
    "prompt twice": ("fail", "prompt twice",
        "In {twice} of {of} pairs the completion begins with its prompt, so the model reads the prompt twice. Leave "
        "the prompt out of the completions."),
    "another order": ("warn", "quantization changes the order",
        "In {quantization} the scores order the completions differently than in full (rank correlation "
        "{correlation}). Use int8 instead of nf4, or none."),
    "fit": ("ok", "fit to train on",
        "Right on {pairs[accuracy]:.0%} of {pairs[count]} pairs, and no other form does better. Scores of "
        "{reference[completions]} completions: mean {reference[mean]:.3g}, sd {reference[sd]:.3g} (a mean near 0 is no "
        "fault)."),
}  # fmt: skip


@dataclass
class Finding:
    """One thing that was found, in words."""

    level: str
    name: str
    text: str


@dataclass
class FormatRow:
    """The pairs under one form.

    Margin: score of the good completion less that of the bad one. Pair by pair against the form in force, each with
    its standard error: `ahead` in accuracy, `gain` in margin. `better_by_luck`: how likely luck alone would put it so
    far ahead in accuracy. `mend`: what to do if this form is the right one; empty where nothing can be set.
    """

    name: str
    help: str
    in_force: bool
    accuracy: float
    margin: float
    margin_error: float
    ahead: float
    ahead_error: float
    gain: float
    gain_error: float
    better_by_luck: float
    example: str
    mend: str


@dataclass
class Cost:
    """What holding the reward model in fewer bits costs, on completions of the model that would be trained."""

    quantization: str
    bytes_full: int
    bytes_held: int
    rank_correlation: float | None
    pair_agreement: float | None
    completions: int


@dataclass
class Report:
    """All of it. What could not be measured, because the model was refused, is empty."""

    name: str
    source: str
    verdict: str = "ok"
    findings: list[Finding] = field(default_factory=list)
    template: str = ""
    output: str = ""
    max_length: int | None = None
    bytes_held: int = 0
    example: dict[str, Any] = field(default_factory=dict)
    lengths: dict[str, Any] = field(default_factory=dict)
    good: dict[str, Any] = field(default_factory=dict)
    bad: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Any] = field(default_factory=dict)
    pairs: dict[str, Any] = field(default_factory=dict)
    formats: list[FormatRow] = field(default_factory=list)
    cost: Cost | None = None

    def say(self, finding: str, **figures: Any) -> None:
        """Add one of FINDINGS; the verdict is the worst of them."""
        level, name, text = FINDINGS[finding]
        self.findings.append(Finding(level, name.format(**figures), text.format(**figures)))
        self.verdict = max(self.verdict, level, key=LEVELS.index)


def judge_accuracy(report: Report, right: Sequence[float], source: str, *, generic: bool) -> None:
    """What the accuracy in the form in force means. `right`: of each pair 1, 0, or 1/2 where both score the same."""
    accuracy, wins, losses = fmean(right), right.count(1), right.count(0)
    guessing = agreement.at_least(wins, wins + losses) > LUCK
    found = ""
    if agreement.at_least(losses, wins + losses) < LUCK:
        found = "bad beats good"
    elif generic:
        found = "low accuracy on built-in pairs" if accuracy < LOW_GENERIC_ACCURACY else ""
    elif guessing:
        found = "too few pairs" if agreement.wilson(accuracy, len(right))[1] >= GOOD_ACCURACY else "guessing"
    elif accuracy < LOW_ACCURACY:
        found = "low accuracy"
    if found:
        report.say(found, right=accuracy, wrong=1 - accuracy, on=f"{len(right)} pairs ({source})")


def judge_formats(report: Report) -> None:
    """Another form that does better, beyond luck, is what the model was trained on, or nearer to it.

    More pairs right is a failure of the form in force. As many right, but told apart far more clearly, is a warning:
    the difference of two scores is the model's own log-odds that one is better (Bradley and Terry), and it shrinks
    where the model reads what it does not know.
    """
    mine = next(row for row in report.formats if row.in_force)
    others = [row for row in report.formats if not row.in_force]
    better = [row for row in others if row.better_by_luck * len(others) < LUCK]
    clearer = [
        row
        for row in others
        if row.mend
        and row.accuracy >= mine.accuracy
        and row.margin > CLEARER * max(mine.margin, 0)
        and row.gain > ERRORS * row.gain_error
    ]
    if better:
        form, *rest = better
        also = f" Also better: {', '.join(row.name for row in rest)}." if rest else ""
        report.say("better" if form.mend else "better without", form=form, mine=mine, also=also)
    elif clearer and report.pairs["count"] >= FEWEST:
        report.say("clearer", form=max(clearer, key=lambda row: row.margin), mine=mine)
