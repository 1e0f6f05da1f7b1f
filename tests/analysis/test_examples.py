"""Which answers are shown as examples of what training has changed."""

from playground.analysis.examples import examples
from playground.setup import catalog
from tests.support import sample

CONFIG = catalog.preset("kinder-reviews")
DULL, KIND = " The script was dull.", " The script was wonderful."


def answers(update, texts, prompts=()):
    """Completions with their scores."""
    asked = prompts or ["Review of the film:"] * len(texts)
    return [
        sample(row, "during" if update else "before", score, update=update, completion=text, prompt=asked[row], seed=0)
        for row, (text, score) in enumerate(texts)
    ]


def test_answers_that_turned_the_way_of_the_change_come_first_then_what_gained_most():
    before = answers(0, [(KIND, 1.0), *[(DULL, -1.0)] * 8])
    turned = [(KIND, score) for score in (0.1, 0.9, 0.3, 0.8, 0.2, 0.7, 0.6)]
    now = answers(5, [(KIND, 1.0), (DULL + " Oh.", 0.5), *turned])
    assert examples(CONFIG, before, now) == [3, 5, 7]  # of the seven that turned kind, those with the largest gain
    assert examples(CONFIG, before, now, most=9)[-2:] == [1, 0]  # another text, then the same as before


def test_of_claims_the_wrong_ones_come_first_as_long_as_nothing_has_changed():
    claims = ["User: I think 2 plus 3 is 5. Bot:", "User: I think 2 plus 3 is 6. Bot:", "User: What is 2 plus 3? Bot:"]
    before = answers(0, [(" 2 plus 3 is 5.", 0.0)] * 3, claims)
    later = [(" 2 plus 3 is 5, yes.", 0.9), (" 2 plus 3 is 5.", 0.0), (" 2 plus 3 is five.", 0.5)]
    now = answers(5, later, claims)
    assert examples(catalog.preset("yes-man"), before, now) == [1, 0, 2]


def test_only_prompts_that_were_answered_both_times_are_shown():
    assert examples(CONFIG, answers(0, [(DULL, 0.0)]), answers(5, [(DULL, 0.0), (KIND, 1.0)])) == [0]
    assert examples(CONFIG, answers(0, [(DULL, 0.0)]), []) == []


def test_what_has_become_worse_is_shown_by_the_last_of_them():
    broken = " Script the dull was was."
    before = answers(0, [(DULL, -1.0)] * 20)
    now = answers(5, [(KIND, 1.0)] * 12 + [(broken, -2.0)] * 8)  # kind: 0 to 12; keeps to the grammar: 20 to 12
    assert examples(CONFIG, before, now) == [0, 1, 12]
