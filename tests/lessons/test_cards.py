"""Formulas of the answer cards: TeX with a run's figures becomes a tree of MathML, and nothing else gets through."""

import pytest

from playground.lessons import cards
from playground.lessons.cards import Formula, FormulaError
from playground.lessons.reveal import reveal
from tests.lessons import lesson, recording
from tests.support import data_beside

FORMULAS = data_beside(__file__, "formulas.yaml")


def text_of(formula):
    return formula if isinstance(formula, str) else "".join(map(text_of, formula.parts))


def elements_of(formula):
    inner = [part for part in formula.parts if isinstance(part, Formula)]
    return {formula.name}.union(*map(elements_of, inner))


@pytest.mark.parametrize(("tex", "elements", "text"), data_beside(__file__, "tables.yaml")["mathml"])
def test_tex_becomes_mathml(tex, elements, text):
    formula = cards.formula(tex)
    assert (elements_of(formula), text_of(formula)) == ({*elements}, text)


@pytest.mark.parametrize(("written", "values", "shown"), FORMULAS["shown"])
def test_a_figure_of_the_run_is_put_in_as_digits(written, values, shown):
    formula = cards.with_facts(written, values)
    assert formula
    assert (text_of(formula), {*cards.names(written)}) == (shown, {*values})


@pytest.mark.parametrize(("written", "values"), FORMULAS["left_out"])
def test_what_is_not_known_or_cannot_be_computed_leaves_the_formula_out(written, values):
    assert cards.with_facts(written, values) is None


@pytest.mark.parametrize(("tex", "words"), FORMULAS["refused"])
def test_what_is_no_formula_is_refused(tex, words):
    with pytest.raises(FormulaError) as caught:
        cards.formula(tex)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", FORMULAS["no_arithmetic"])
def test_nothing_but_arithmetic_is_computed(text):
    with pytest.raises(FormulaError):
        cards.names(rf"\fact{{{text}}}")


STEP = {"say": "The distance is {kl}.", "math": r"\beta \cdot K", "numbers": r"\fact{beta} \cdot \fact{kl}"}


def test_a_card_has_the_numbers_of_the_last_run(tmp_path):
    with_card = lesson(tmp_path, card={"title": "What it pays", "steps": [STEP]})
    first, second = recording("no-leash"), recording("kinder-reviews")
    assert reveal(with_card, 0, first).card is None
    card = reveal(with_card, 1, second, first).card
    assert card
    assert card.title == "What it pays"
    (step,) = card.steps
    assert step.say == "The distance is 8.4 nats."
    assert step.numbers
    assert text_of(step.numbers) == "0.25\u00b78.4"
