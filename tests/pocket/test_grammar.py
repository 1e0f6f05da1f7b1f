"""The grammar of the pocket world: what a template writes is parsed back, what comes near is not."""

import random

import pytest

from playground.pocket import facts, grammar
from playground.pocket.grammar import ALL_TEMPLATES


def test_every_fact_can_be_told_wrongly_within_its_category():
    assert all(len(set(facts.VALUES[fact.category]) - {fact.value}) >= 3 for fact in facts.FACTS)
    assert all(fact.value in facts.VALUES[fact.category] for fact in facts.FACTS + facts.SUMS)


def test_what_a_template_writes_is_parsed_back_to_it():
    rng = random.Random(0)
    for template in ALL_TEMPLATES * 5:
        bound = {}
        for slot in grammar.slots_of(template.text):
            bare = grammar.bare_slot(slot)
            bound[bare] = rng.choice(grammar.SLOTS[bare.rstrip("0123456789")])
        parsed = grammar.parse_sentence(grammar.render(template.text, bound))
        assert parsed is not None
        assert parsed.template == template
        assert parsed.words == bound


@pytest.mark.parametrize(
    "text",
    [
        *("", ".", "The plot was superb", "the plot was superb.", "The plot was superb. ", "The plot was superb!"),
        *("The plot was very very very superb.", "The plot was was superb.", "The plot  was superb."),
        "The plot was " + "very " * 10_000 + "superb.",
    ],
)
def test_near_misses_are_no_sentences(text):
    assert grammar.parse_sentence(text) is None
