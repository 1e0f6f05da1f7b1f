"""Files of claims: rows of a question, its right answer and a wrong one, and the prompts in which a user states them.

Of the prompts 40 % claim something wrong, 30 % something right, and 30 % only ask, as in the pocket world's claims. All
are dialogues, which a chat template takes apart and a plain model reads as they are. `rewards.claims` judges what is
answered; `training.data.prompts` reads prompts here.
"""

from __future__ import annotations

import math
import random
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from playground.data import dialogues, row_files
from playground.data.dialogues import Turn
from playground.data.row_files import TableUnusable

SHIPPED = "general/claims"  # the prompt source that is the file of this project
COLUMNS = ("question", "right", "wrong")
BETWEEN_SPELLINGS = "|"
LEAST_ROWS, MOST_ROWS = 10, 10_000
MOST_CHARACTERS = 2_000  # of a question, and of all spellings of an answer
MIX = {"wrong": 0.4, "right": 0.3, "neutral": 0.3}
KEPT_ASIDE = 5  # one question in so many is for the fixed prompts only
PROMPTS_OF_ONE = 20  # about how many different ones a question gives while the mix holds

_TABLE = tomllib.loads(Path(__file__).with_name("claim_forms.toml").read_text(encoding="utf-8"))
_FORMS: dict[str, list[list[str]]] = {  # in the order of MIX; each form is what the user, the assistant, the user says
    "wrong": _TABLE["claimed"] + _TABLE["doubted"],
    "right": _TABLE["claimed"] + _TABLE["assented"],
    "neutral": _TABLE["neutral"],
}


class Question(NamedTuple):
    """A question and how its right and its wrong answer may be spelt; the first spelling is the one that is shown."""

    question: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]


def is_source(source: str, column: str | None = None) -> bool:
    """True for the claims that ship, and for a table with the columns of claims, unless one column of it is asked for.

    Raises: TableUnusable, if the file cannot be read.
    """
    if source == SHIPPED:
        return True
    if column is not None or row_files.kind_of(source) in (None, ".txt"):
        return False
    first = next(row_files.rows(row_files.path_of(source)))
    return all(name in first for name in COLUMNS)


def read(path: Path) -> list[Question]:
    """The questions of a file of claims.

    Raises:
        TableUnusable: with the row, and what to do.
    """
    rows: list[Question] = []
    seen: dict[str, int] = {}
    for number, row in enumerate(row_files.rows(path), 1):
        if number > MOST_ROWS:
            raise TableUnusable(f"{path.name} has more than {MOST_ROWS:,} claims. Keep only those that are needed.")
        cells = [" ".join(str(row.get(name) or "").split()) for name in COLUMNS]
        question, right, wrong = cells[0], _spellings(cells[1]), _spellings(cells[2])
        alike = {text.casefold() for text in right} & {text.casefold() for text in wrong}
        if not (question and right and wrong) or alike or max(map(len, cells)) > MOST_CHARACTERS:
            raise TableUnusable(
                f"Row {number} of {path.name} cannot be used. Give a question, a right and a wrong answer that "
                f"differ, each of at most {MOST_CHARACTERS:,} characters."
            )
        first = seen.setdefault(question.casefold(), number)
        if first != number:
            raise TableUnusable(f"Row {number} of {path.name} asks the same as row {first}. Keep one of them.")
        rows.append(Question(question, right, wrong))
    if len(rows) < LEAST_ROWS:
        raise TableUnusable(f"{path.name} has {len(rows)} claims, and a run needs at least {LEAST_ROWS}.")
    return rows


def prompts(rows: Sequence[Question], num_fixed: int, count: int, seed: int | str) -> list[str]:
    """Distinct prompts, always the same for one seed: first the fixed ones, about questions that no other asks, then
    `count` others; fewer where the rows do not give so many in the mix."""
    rng = random.Random(f"claims {seed}")
    shuffled = rng.sample(rows, len(rows))
    aside = 0
    if num_fixed:
        aside = min(max(len(rows) // KEPT_ASIDE, math.ceil(num_fixed / PROMPTS_OF_ONE)), len(rows) // 2)
    return [*_mixed(shuffled[:aside], num_fixed, rng), *_mixed(shuffled[aside:], count, rng)]


def _mixed(rows: Sequence[Question], count: int, rng: random.Random) -> list[str]:
    """Up to `count` prompts in the shares of MIX. Only these are made: all forms of every row take gigabytes."""
    for kind, share in MIX.items():
        most = len(rows) * len(_FORMS[kind]) / share
        count = min(count, int(most))
    ends = [round(count * share) for share in (MIX["wrong"], MIX["wrong"] + MIX["right"], 1.0)]
    claims: list[str] = []
    for (kind, forms), end in zip(_FORMS.items(), ends, strict=True):
        pairs = range(len(rows) * len(forms))
        for number in rng.sample(pairs, end - len(claims)):
            row, form = divmod(number, len(forms))
            claims.append(_text(rows[row], kind, forms[form]))
    rng.shuffle(claims)
    return claims


def _text(row: Question, kind: str, form: Sequence[str]) -> str:
    words = {
        "question": row.question,
        "right": row.right[0],
        "claimed": (row.wrong if kind == "wrong" else row.right)[0],
    }
    dialogue = [Turn(("user", "assistant")[turn % 2], text.format(**words)) for turn, text in enumerate(form)]
    return dialogues.text_of(dialogue)


def _spellings(cell: str) -> tuple[str, ...]:
    return tuple(filter(None, (text.strip() for text in cell.split(BETWEEN_SPELLINGS))))
