"""Rewards that check an answer against the true one: what a text says, what is true, and whether the two agree.

The true answer comes with the prompt: in a column of its row, or from the pocket world and files of claims, which know
what they ask. `rules` makes the reward of it; page, notes of a run and figures show what was read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import Behaviour, PromptsConfig, RewardConfig, RunConfig, VerifyReward
from playground.config.behaviour_settings import CHECKED
from playground.config.reward_settings import GAP
from playground.data import claim_files, row_files
from playground.pocket import prompt_sets
from playground.pocket.prompt_sets import PROMPT_SETS
from playground.rewards import claims

EXAMPLES = 64  # prompts of a set in which one with an answer is looked for
MOST_ROWS = 1000  # of a file that are looked at before a start
SHORT_FORM = 40  # characters of a form that stands in the words of a count
RIGHT, IN_FORM = CHECKED
_NUMBER = re.compile(r"(?:(?<![\w)])[-\u2212])?\d+(?:,\d{3})*(?:\.\d+)?")
_END = re.compile(r"[.,;:!?](?:\s|$)|\n")  # of an answer behind which the form has nothing
_BRACKETS = {"{": "}", "(": ")", "[": "]"}


class Reading(NamedTuple):
    """One text as the reward reads it: the answer that was found in it and the true one; None where there is none."""

    answer: str | None
    true: str | None
    is_right: bool


class Check(NamedTuple):
    """What of a reward says how a text is read."""

    check: str
    form: str


def parsed(spec: VerifyReward | Check, completion: str) -> str | None:
    """What a text gives as its answer: all of it, or what stands last where the form has its gap; of that the last
    number, where numbers are compared. None where there is nothing of the kind."""
    text = _in_form(spec.form, completion)
    return last_number(text) if spec.check == "number" else text or None


def keeps_form(spec: VerifyReward | Check, completion: str) -> bool:
    """Whether a text has an answer where the form has its gap."""
    return bool(_in_form(spec.form, completion))


def _in_form(form: str, text: str) -> str:
    """What stands last where a form has its gap; without a form the text, and nothing where it is not kept to."""
    if form:
        before, _, after = form.partition(GAP)
        _, start, text = text.rpartition(before)
        if not start:
            return ""
        text = _before_end(text, before, after) if after else _END.split(text, maxsplit=1)[0]
    return " ".join(text.split())


def _before_end(text: str, before: str, after: str) -> str:
    """What stands before the end of a form, nothing without one. Where the form puts the answer in brackets, those of
    this kind within the answer come in pairs, as in `\\boxed{\\frac{1}{2}}`; one behind a backslash does not count."""
    opening = before.rstrip()[-1]
    closing = _BRACKETS.get(opening, "")
    if not closing or not after.lstrip().startswith(closing):
        answer, end, _ = text.partition(after)
        return answer if end else ""
    depth, lead = 0, after.find(closing)
    for mark in re.finditer(r"\\.|.", text, re.DOTALL):
        depth += (mark[0] == opening) - (mark[0] == closing)
        answer = text[: max(mark.start() - lead, 0)]
        if mark[0] == closing and depth == -1 and text.startswith(after, len(answer)):
            return answer
    return ""


def last_number(text: str) -> str | None:
    """The last number in a text, as it stands there."""
    numbers = _NUMBER.findall(text)
    return numbers[-1] if numbers else None


def agree(spec: VerifyReward | Check, answer: str, true: str) -> bool:
    """Whether an answer is the true one: the same number, or the same words, whatever their case and last mark."""
    if spec.check == "number":
        number = last_number(true)
        return number is not None and _value(answer) == _value(number)
    return _plain(answer) == _plain(true)


def value(spec: VerifyReward | Check, completion: str, true: str | None) -> float | None:
    """1 for the true answer, or where the form alone counts for any; 0 for another or none. No opinion without a true
    answer, and where numbers are compared and it is none."""
    if spec.check == "format":
        return float(keeps_form(spec, completion))
    if true is None or (spec.check == "number" and last_number(true) is None):
        return None
    answer = parsed(spec, completion)
    return float(answer is not None and agree(spec, answer, true))


def known_answer(prompt: str, own: claims.Questions | None = None) -> str | None:
    """The true answer of a question of the pocket world or of a file of claims."""
    claim = claims.of(prompt, own)
    return claim.right if claim else None


def true_answer(
    spec: VerifyReward, prompt: str, rows: Mapping[str, Mapping[str, Any]], own: claims.Questions | None = None
) -> str | None:
    """The true answer to a prompt, of its row or known; None where there is none."""
    answer = rows.get(prompt, {}).get(spec.answer)
    if answer in (None, ""):
        return known_answer(prompt, own)
    return str(answer)


def has_answers(
    spec: VerifyReward,
    prompts: Iterable[str],
    rows: Mapping[str, Mapping[str, Any]],
    own: claims.Questions | None = None,
) -> bool:
    """Whether the true answer to any of these prompts is known, where one is needed."""
    return spec.check == "format" or any(true_answer(spec, prompt, rows, own) is not None for prompt in prompts)


def problem(spec: VerifyReward, prompts: PromptsConfig) -> str:
    """Why answers cannot be checked on these prompts, by what can be told before a start, as a sentence; empty if they
    can. Of a dataset of the hub that is known once it is read."""
    if spec.check == "format" or claim_files.is_source(prompts.source, prompts.column):
        return ""
    if prompts.source in PROMPT_SETS:
        drawn = prompt_sets.prompts(prompts.source, EXAMPLES, 0)
        if any(map(known_answer, drawn)):
            return ""
        return f"{prompts.source} asks nothing that has one right answer."
    if prompts.source == "typed":
        unknown = next((text for text in prompts.typed if known_answer(text) is None), None)
        if unknown is None:
            return ""
        return f"No answer is known to `{unknown}`. Give a file with the columns prompt and {spec.answer} instead."
    if not row_files.is_file(prompts.source):
        return ""
    return _problem_of_rows(spec, row_files.path_of(prompts.source))


def _problem_of_rows(spec: VerifyReward, path: Path) -> str:
    for number, row in enumerate(islice(row_files.rows(path), MOST_ROWS), 1):
        if spec.answer not in row:
            return f"{path.name} has no column `{spec.answer}`; there are {', '.join(row)}."
        answer = str(row[spec.answer] or "")
        if not answer.strip():
            return f"Row {number} of {path.name} has nothing in the column `{spec.answer}`."
        if spec.check == "number" and last_number(answer) is None:
            return f"Row {number} of {path.name} has no number in the column `{spec.answer}`. Set check to exact."
        if not any(str(value or "").strip() for name, value in row.items() if name != spec.answer):
            return f"Row {number} of {path.name} has an answer and no prompt."
    return ""


def reading(spec: VerifyReward, completion: str, true: str | None) -> Reading:
    """See `Reading`."""
    return Reading(parsed(spec, completion), true, value(spec, completion, true) == 1)


def first_of(rewards: Iterable[RewardConfig]) -> VerifyReward | None:
    """The first reward that compares answers."""
    return next((spec for spec in verifiers(rewards) if spec.check != "format"), None)


def verifiers(rewards: Iterable[RewardConfig]) -> list[VerifyReward]:
    """Those of them that check an answer or its form."""
    return [spec for spec in rewards if isinstance(spec, VerifyReward)]


def behaviours(config: RunConfig) -> Sequence[Behaviour]:
    """What is counted of a run that checks answers: those that are right, and beside them those in the right form."""
    specs = (*config.rewards, *config.judges)
    counted = []
    if right := first_of(specs):
        counted.append(_counted(RIGHT, right))
    if form := next((spec for spec in verifiers(specs) if spec.form), None):
        counted.append(_counted(IN_FORM, form.model_copy(update={"check": "format"})))
    return counted


def _counted(name: str, spec: VerifyReward) -> Behaviour:
    """Of a reward whether its value is 1, whatever is done with that."""
    measure = VerifyReward(check=spec.check, form=spec.form, answer=spec.answer)
    words = CHECKED[name].words
    if name == IN_FORM and len(spec.form) <= SHORT_FORM:
        words = f"{words} \u201c{spec.form}\u201d"
    return Behaviour(name=name, words=words, aim=CHECKED[name].aim, measure=measure, above=0.5)


def _value(number: str) -> Decimal:
    return Decimal(number.replace(",", "").replace("\u2212", "-"))


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" .!?'\"").casefold()
