"""What a run counts: the behaviours that suit its prompts, and what each says of a text."""

import pytest

from playground.config import Behaviour, yaml_io
from playground.rewards.behaviours import Behaviours, mark, of_config, surely_counted
from tests.support import data_beside

TEXTS = data_beside(__file__, "behaviours.yaml")
PROMPTS = TEXTS["prompts"]


@pytest.mark.parametrize(("name", "prompt", "shown", "not_shown", "elsewhere"), TEXTS["texts"])
def test_a_behaviour_is_shown_or_not_or_does_not_apply_to_the_prompt(name, prompt, shown, not_shown, elsewhere):
    assert [mark(name, PROMPTS[prompt], text, True) for text in (shown, not_shown)] == [True, False]
    assert [mark(name, PROMPTS[other], shown, True) for other in elsewhere] == [None] * len(elsewhere)


def counted(**change):
    return [behaviour.name for behaviour in of_config(yaml_io.from_dict({"rewards": [{"kind": "length"}], **change}))]


CLAIMS = ["wrong-claims-repeated", "right-claims-agreed", "plain-questions-right"]
ALWAYS = ["english", "repeats-itself", "refuses", "empty", "ends"]


def test_without_a_choice_those_are_counted_that_suit_the_prompts():
    assert counted(prompts={"source": "pocket/claims"}) == [*CLAIMS, "parses", "ends"]
    assert counted(prompts={"source": "pocket/mixed"}) == ["positive", *CLAIMS, "polite", "parses", "ends"]
    typed = {"source": "typed", "typed": ["Hello.", "Goodbye."]}
    assert counted(prompts=typed) == counted(prompts={"source": "pocket/mixed"})
    elsewhere = counted(prompts=typed, model={"source": "openai-community/gpt2"})
    assert elsewhere == [*CLAIMS, *ALWAYS]
    assert counted(behaviours=[]) == []
    assert counted(behaviours=["polite"]) == ["polite"]


def test_before_anything_is_counted_no_claims_are_named_where_none_may_be_asked():
    def named(source, *typed, model="openai-community/gpt2", **change):
        prompts = {"source": source, "typed": list(typed)}
        config = {"rewards": [{"kind": "length"}], "prompts": prompts, "model": {"source": model}, **change}
        return [behaviour.name for behaviour in surely_counted(yaml_io.from_dict(config))]

    assert named("typed", "Why is the sky blue?") == ALWAYS == named("owner/prompts")
    assert named("typed", "Why is the sky blue?", PROMPTS["sydney"]) == [CLAIMS[0], *ALWAYS]
    assert named("general/claims") == [*CLAIMS, *ALWAYS]
    assert named("typed", PROMPTS["wrong"], model="pocket-3m") == [CLAIMS[0], "parses", "ends"]
    assert named("pocket/mixed", model="pocket-3m") == ["positive", *CLAIMS, "polite", "parses", "ends"]
    own = {"name": "long", "words": "is long", "measure": {"kind": "length"}}
    assert named("owner/prompts", behaviours=["polite", own, "ends"]) == ["long", "ends"]


def test_a_behaviour_of_ones_own_is_a_measure_above_a_threshold_and_no_opinion_is_neither_yes_nor_no():
    own = {"name": "long", "words": "is long", "above": 2, "measure": {"kind": "length"}}
    says = {"name": "says-so", "words": "says so", "measure": {"kind": "truth"}}
    asked = Behaviours([Behaviour(name="ends"), Behaviour.model_validate(own), Behaviour.model_validate(says)])
    prompts = [PROMPTS[name] for name in ("asked", "review", "asked")]
    marks = asked(prompts, ["3 plus 4 is 7.", "one two three", ""], [True, False, True])
    expected = {"ends": [True, False, True], "long": [True, True, False], "says-so": [True, None, False]}
    assert marks == expected
