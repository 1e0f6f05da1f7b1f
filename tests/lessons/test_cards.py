"""Formulas of the answer cards: TeX with a run's figures becomes a tree of MathML, and nothing else gets through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidConfig
from playground.lessons import cards
from playground.lessons.cards import Formula, FormulaError
from playground.lessons.loading import Lessons
from playground.lessons.reveal import reveal
from tests.lessons import lesson, recording


def text_of(formula: Formula | str) -> str:
    return formula if isinstance(formula, str) else "".join(map(text_of, formula.parts))


def elements_of(formula: Formula) -> set[str]:
    inner = [part for part in formula.parts if isinstance(part, Formula)]
    return {formula.name}.union(*map(elements_of, inner))


@pytest.mark.parametrize(
    ("tex", "elements", "text"),
    [
        (r"\frac{a}{b}", {"math", "mrow", "mfrac", "mi"}, "ab"),
        (r"x_1^2", {"math", "mrow", "msubsup", "mi", "mn"}, "x12"),
        (r"\sqrt{2}", {"math", "mrow", "msqrt", "mn"}, "2"),
        (r"\text{a < b}", set(), None),
    ],
)
def test_tex_becomes_mathml(tex: str, elements: set[str], text: str | None) -> None:
    if text is None:  # would be markup
        with pytest.raises(FormulaError):
            cards.formula(tex)
        return
    found = cards.formula(tex)
    assert elements_of(found) == elements
    assert text_of(found) == text


@pytest.mark.parametrize(
    ("written", "values", "shown"),
    [
        (r"\fact{kl}", {"kl": 8.4321}, "8.4"),
        (r"\fact{kl}", {"kl": 1234.5}, "1234"),  # rounded to even, as format does
        (r"\fact{kl}", {"kl": 0.0001234}, "0.00012"),
        (r"\fact{updates}", {"updates": 40.0}, "40"),
        (r"\fact{score}", {"score": -0.25}, "\u22120.25"),
        (r"\fact{1 / beta}", {"beta": 5.0}, "0.2"),
        (r"\fact{first.kl * beta - 1}", {"first.kl": 2.0, "beta": 3.0}, "5"),
        (r"\fact{1 - wrong-claims-repeated.before}", {"wrong-claims-repeated.before": 0.75}, "0.25"),
        (r"\fact{sqrt(kl)}", {"kl": 9.0}, "3"),
    ],
)
def test_a_figure_of_the_run_is_put_in_as_digits(written: str, values: dict[str, float], shown: str) -> None:
    found = cards.with_facts(written, values)
    assert found
    assert text_of(found) == shown
    assert {*cards.names(written)} == {*values}


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (r"\fact{kl}", {}),
        (r"\fact{kl}", {"kl": None}),
        (r"\fact{kl}", {"kl": float("nan")}),
        (r"\fact{1 / kl}", {"kl": 0.0}),
        (r"\fact{log(kl)}", {"kl": -1.0}),
        (r"\fact{exp(kl)}", {"kl": 1e6}),
    ],
)
def test_what_is_not_known_or_cannot_be_computed_leaves_the_formula_out(written: str, values: dict[str, Any]) -> None:
    assert cards.with_facts(written, values) is None


@pytest.mark.parametrize(
    ("tex", "words"),
    [
        (r"\nosuch{a}", r"`\nosuch`"),
        (r"\frac{a}", "a part is missing"),
        (r"{a", "brace"),
        (r"a}", "brace"),
        (r"\left( a", "TeX"),
        (r"a^2^3", "TeX"),
        (r"\href{javascript:alert(1)}{x}", "`href`"),
        (r"\text{<script>alert(1)</script>}", "<script>"),
        (r"\text{<mi onclick='x'>a</mi>}", "TeX"),
        (r"\text{<annotation-xml>a</annotation-xml>}", "annotation-xml"),
        (r"\text{<!DOCTYPE math [<!ENTITY a 'b'>]>&a;}", "TeX"),
        (r"\color{red}x", "`mathcolor`"),
    ],
)
def test_what_is_no_formula_is_refused(tex: str, words: str) -> None:
    with pytest.raises(FormulaError) as caught:
        cards.formula(tex)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["__import__('os')", "kl[0]", "kl ** 99", "kl if kl else 1", "'a'", "sqrt", "f(kl)", "", "True"],
)
def test_nothing_but_arithmetic_is_computed(text: str) -> None:
    with pytest.raises(FormulaError):
        cards.names(rf"\fact{{{text}}}")


STEP = {"say": "The distance is {kl}.", "math": r"\beta \cdot K", "numbers": r"\fact{beta} \cdot \fact{kl}"}


def test_a_card_has_the_numbers_of_the_last_run(tmp_path: Path) -> None:
    made = lesson(tmp_path, card={"title": "What it pays", "steps": [STEP]})
    first, second = recording("no-leash"), recording("kinder-reviews")
    assert reveal(made, 0, first).card is None
    card = reveal(made, 1, second, first).card
    assert card
    assert card.title == "What it pays"
    (step,) = card.steps
    assert step.say == "The distance is 8.4 nats."
    assert step.numbers
    assert text_of(step.numbers) == "0.25\u00b78.4"


@pytest.mark.parametrize(
    ("step", "field", "words"),
    [
        ({"say": "{nothing}"}, "say", "no fact"),
        ({"math": r"\fact{nothing}"}, "math", "no fact `nothing`"),
        ({"numbers": r"\fact{kl ** 2}"}, "numbers", "cannot compute"),
        ({"math": r"\nosuch"}, "math", r"`\nosuch`"),
    ],
)
def test_what_is_wrong_with_a_card_stands_beside_its_field(
    tmp_path: Path, step: dict[str, str], field: str, words: str
) -> None:
    with pytest.raises(InvalidConfig) as caught:
        lesson(tmp_path, card={"title": "One", "steps": [{"say": "A line."}, {**STEP, **step}]})
    problems = dict(caught.value.problems)
    assert words in problems[f"card.steps.1.{field}"]


def test_formulas_of_the_lessons_that_ship_are_of_few_symbols() -> None:
    """So that they fit a phone: what is wider is two formulas."""
    steps = [
        step
        for course in Lessons().courses
        for one in course.lessons
        if one.card
        for step in one.card.steps
        if step.math
    ]
    assert len(steps) > 20
    lines = [line for step in steps for line in step.math.split(r"\\")]
    shown = [
        text_of(cards.with_facts(line, dict.fromkeys(cards.names(line), 0.25)) or "")
        for line in lines
        if "begin" not in line and "end" not in line
    ]
    assert max(map(len, shown)) < 45
