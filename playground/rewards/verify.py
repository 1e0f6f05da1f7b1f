"""Rewards that check an answer against the true one: what a text says, what is true, and whether the two agree.

The true answer comes with the prompt: in a column of its row, or from the pocket world and files of claims, which know
what they ask. `rules` makes the reward of it; page, notes of a run and figures show what was read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
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
_NUMBER = re.compile(
    r"(?:(?<![\w)])[-\u2212])?(?:"
    r"(?P<whole>\d{0,99})\\[dt]?frac\{(?P<above>\d{1,99})\}\{(?P<below>[1-9]\d{0,99})\}"  # LaTeX, also 1\frac{1}{2}
    r"|(?<![\d/])(?P<over>\d{1,99})/(?P<under>[1-9]\d{0,99})(?![\d/])"
    r"|(?:\d+(?:,\d{3})*(?:\.\d+)?|(?<![\w.])\.\d+)(?:[eE][-+]?\d{1,3}\b)?)"
)
_UNITS = re.compile(r"\\(?:text|mathrm|mbox)\s*\{[^{}\d]*\}(?:\^\{?\d\}?)?|\^\{?\\circ\}?|\\[%$!, ]")
_FORMULA = re.compile(r"\\(?![dt]?frac\{\d+\}\{\d+\}|text|left|right)[a-zA-Z]|[\^_]")  # more than a number
_BOXED = r"\boxed{...}"
MOST_WORDS = 5  # of a true answer that stands alone; in a longer one, such as a solution, the last number counts
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
    if spec.check != "number":
        return text or None
    if spec.form and _FORMULA.search(_without_units(text)):
        return None
    return last_number(text)


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
    """The last number in a text, as it stands there: whole, decimal, or a fraction."""
    numbers = [match[0] for match in _NUMBER.finditer(_without_units(text))]
    return numbers[-1] if numbers else None


@functools.lru_cache(maxsize=256)  # it is asked for again with every completion
def true_number(text: str) -> str | None:
    """The number that a true answer is: what stands behind the last `####` or in the last `\\boxed{}` of a solution,
    else all of it. None where that is none, or more than one: several numbers, a root, a power."""
    marked = text.rpartition("####")[2]
    if boxed := _in_form(_BOXED, text):
        marked = boxed
    plain = _without_units(marked)
    if marked == text and len(plain.split()) > MOST_WORDS:
        return last_number(plain)
    numbers = [match[0] for match in _NUMBER.finditer(plain)]
    if len(numbers) != 1 or _FORMULA.search(plain):
        return None
    return numbers[0]


def _without_units(text: str) -> str:
    """Without what LaTeX puts around a number: its unit, a degree, a dollar, the space in thousands."""
    return _UNITS.sub("", text.replace("{,}", ","))


def agree(spec: VerifyReward | Check, answer: str, true: str) -> bool:
    """Whether an answer is the true one: the same number, or the same words, whatever their case and last mark."""
    if spec.check == "number":
        number = true_number(true)
        return number is not None and _value(answer) == _value(number)
    return _plain(answer) == _plain(true)


def value(spec: VerifyReward | Check, completion: str, true: str | None) -> float | None:
    """1 for the true answer, or where the form alone counts for any; 0 for another or none. No opinion without a true
    answer, and where numbers are compared and it is none."""
    if spec.check == "format":
        return float(keeps_form(spec, completion))
    if true is None or (spec.check == "number" and true_number(true) is None):
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
    answer = cell(rows.get(prompt, {}), spec.answer)
    if answer in (None, ""):
        return known_answer(prompt, own)
    return str(answer)


def cell(row: Mapping[str, Any], column: str) -> Any:
    """What a row has in a column, or in a field of one, as in `reward_model.ground_truth`; None if nothing."""
    value: Any = row.get(column)
    name, dot, inner = column.partition(".")
    if column not in row and dot and isinstance(row.get(name), Mapping):
        value = cell(row[name], inner)
    return value


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
        value = cell(row, spec.answer)
        if value is None and spec.answer not in row:
            return f"{path.name} has no column `{spec.answer}`; there are {', '.join(_columns(row))}."
        if isinstance(value, Mapping):
            fields = ", ".join(f"{spec.answer}.{name}" for name in value)
            return f"`{spec.answer}` of {path.name} holds several things. Set answer to one of {fields}."
        answer = str(value or "")
        if not answer.strip():
            return f"Row {number} of {path.name} has nothing in the column `{spec.answer}`."
        if spec.check == "number" and last_number(answer) is None:
            return f"Row {number} of {path.name} has no number in the column `{spec.answer}`. Set check to exact."
        if spec.check == "number" and true_number(answer) is None:
            here = f"Row {number} of {path.name} has more than a number in the column `{spec.answer}`"
            return f"{here}: {answer.strip()[-SHORT_FORM:]!r}. Set check to exact, or leave such rows out."
        if not any(str(value or "").strip() for name, value in row.items() if name != spec.answer):
            return f"Row {number} of {path.name} has an answer and no prompt."
    return ""


def _columns(row: Mapping[str, Any]) -> list[str]:
    """Their names; of one that holds fields those of the fields."""
    names: list[str] = []
    for name, value in row.items():
        names += [f"{name}.{field}" for field in value] if isinstance(value, Mapping) else [name]
    return names


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


def _value(number: str) -> Fraction:
    """What a number is worth."""
    match = _NUMBER.fullmatch(number)
    parts = match.groupdict() if match else {}
    above, below = parts.get("above") or parts.get("over"), parts.get("below") or parts.get("under")
    if not above or not below:
        return Fraction(Decimal(number.replace(",", "").replace("\u2212", "-")))
    value = int(parts.get("whole") or 0) + Fraction(int(above), int(below))
    return -value if number[0] in "-\u2212" else value


def _plain(text: str) -> str:
    return " ".join(text.split()).strip(" .!?'\"").casefold()
