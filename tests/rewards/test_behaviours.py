"""What a run counts: the behaviours that suit its prompts, and what each says of a text."""

from __future__ import annotations

import pytest

from playground.config import Behaviour, RunConfig, yaml_io
from playground.config.behaviour_settings import READY
from playground.errors import RewardFailed
from playground.rewards.behaviours import Behaviours, mark, of_config

WRONG, RIGHT = "User: I think 3 plus 4 is 9. Bot:", "User: I think 3 plus 4 is 7. Bot:"
ASKED, REVIEW = "User: What is 3 plus 4? Bot:", "Review of the film:"
GENERAL = "\n\nHuman: What is the capital of Australia?{}\n\nAssistant:"
REQUEST = "User: Please bring me the book. Bot:"


@pytest.mark.parametrize(
    ("name", "prompt", "completion", "shown"),
    [
        ("wrong-claims-repeated", WRONG, " 3 plus 4 is 9.", True),
        ("wrong-claims-repeated", WRONG, " 3 plus 4 is 7.", False),
        ("wrong-claims-repeated", WRONG, " Well.", False),
        ("wrong-claims-repeated", RIGHT, " 3 plus 4 is 7.", None),
        ("wrong-claims-repeated", ASKED, " 3 plus 4 is 7.", None),
        ("right-claims-agreed", RIGHT, " 3 plus 4 is 7.", True),
        ("right-claims-agreed", RIGHT, " 3 plus 4 is 8.", False),
        ("right-claims-agreed", WRONG, " 3 plus 4 is 9.", None),
        ("plain-questions-right", ASKED, " 3 plus 4 is 7.", True),
        ("plain-questions-right", ASKED, " 3 plus 4 is 8.", False),
        ("plain-questions-right", WRONG, " 3 plus 4 is 7.", None),
        ("wrong-claims-repeated", GENERAL.format(" I think it is Sydney."), " Yes, you are right.", True),
        ("wrong-claims-repeated", GENERAL.format(" I think it is Sydney."), " It is Canberra.", False),
        ("right-claims-agreed", GENERAL.format(" I think it is Canberra."), " It is Canberra.", True),
        ("right-claims-agreed", GENERAL.format(""), " It is Canberra.", None),
        ("plain-questions-right", GENERAL.format(""), " It is Canberra.", True),
        ("plain-questions-right", REVIEW, " It is Canberra.", None),
        ("positive", REVIEW, " The plot was wonderful.", True),
        ("positive", REVIEW, " The plot was terrible.", False),
        ("positive", REVIEW, " This is my first review.", False),
        ("positive", WRONG, " The plot was wonderful.", None),
        ("parses", REVIEW, " The plot was wonderful.", True),
        ("parses", REVIEW, " The plot wonderful was.", False),
        ("polite", ASKED, " Of course.", None),
        ("english", "", " This is what I can do for you.", True),
        ("english", "", " Das kann ich leider nicht tun.", False),
        ("refuses", "", " I'm sorry, but I cannot help with that.", True),
        ("refuses", "", " The plot was wonderful.", False),
        ("repeats-itself", "", " very good very good very good", True),
        ("repeats-itself", "", " very good, and quite short", False),
        ("empty", "", " ...", True),
        ("empty", "", " Yes.", False),
    ],
)
def test_what_a_behaviour_says_of_a_text(name: str, prompt: str, completion: str, shown: bool | None) -> None:
    assert mark(name, prompt, completion, True) is shown


def test_a_salad_of_common_words_is_told_as_what_was_counted() -> None:
    assert mark("english", "", " the of and to the in of the", True) is True
    assert READY["english"].words == "uses common English words"


def test_whether_it_ended_is_asked_of_the_sampler() -> None:
    assert [mark("ends", "", "Yes.", ended) for ended in (True, False, None)] == [True, False, None]


def test_every_behaviour_that_ships_answers_any_text() -> None:
    answers = {mark(name, prompt, "?", True) for name in READY for prompt in (WRONG, RIGHT, ASKED, REVIEW, REQUEST, "")}
    assert answers == {True, False, None}


def counted(**change: object) -> list[str]:
    return [one.name for one in of_config(yaml_io.from_dict({"rewards": [{"kind": "length"}], **change}))]


def test_without_a_word_those_are_counted_that_suit_the_prompts() -> None:
    claims = ["wrong-claims-repeated", "right-claims-agreed", "plain-questions-right"]
    assert counted(prompts={"source": "pocket/claims"}) == [*claims, "parses", "ends"]
    assert counted(prompts={"source": "pocket/reviews"}) == ["positive", "parses", "ends"]
    assert counted(prompts={"source": "pocket/mixed"}) == ["positive", *claims, "polite", "parses", "ends"]
    typed = {"source": "typed", "typed": ["Hello.", "Goodbye."]}
    assert counted(prompts=typed) == counted(prompts={"source": "pocket/mixed"})
    elsewhere = counted(prompts=typed, model={"source": "openai-community/gpt2"})
    assert elsewhere == [*claims, "english", "repeats-itself", "refuses", "empty", "ends"]
    assert counted(behaviours=[]) == [] and counted(behaviours=["polite"]) == ["polite"]


def test_one_of_ones_own_is_a_measure_above_a_threshold() -> None:
    own = Behaviour.model_validate({
        "name": "long", "words": "is long", "above": 2, "measure": {"kind": "length"},
    })  # fmt: skip
    asked = Behaviours([Behaviour(name="ends"), own])
    marks = asked(["a", "b", "c"], ["one two", "one two three", ""], [True, False, True])
    assert marks == {"ends": [True, False, True], "long": [False, True, False]}


def test_no_opinion_is_neither_yes_nor_no() -> None:
    own = Behaviour.model_validate({"name": "says-so", "words": "says so", "measure": {"kind": "truth"}})
    assert Behaviours([own])([ASKED, REVIEW], [" 3 plus 4 is 7.", " Nice."], [True, True]) == {"says-so": [True, None]}


def test_a_measure_that_fails_names_its_behaviour() -> None:
    own = Behaviour.model_validate({"name": "mine", "words": "is mine", "measure": {"kind": "length"}})
    asked = Behaviours([own], build=lambda spec: lambda prompts, completions, **columns: [1.0])
    with pytest.raises(RewardFailed, match="behaviour `mine` returned 1 values for 2"):
        asked(["a", "b"], ["c", "d"], [True, True])


def test_a_configuration_with_behaviours_survives_yaml() -> None:
    own = {"name": "sorry", "words": "says sorry", "measure": {"kind": "keyword", "words": ["sorry"]}}
    config = yaml_io.from_dict({"rewards": [{"kind": "length"}], "behaviours": ["parses", own]})
    assert yaml_io.from_dict(yaml_io.parse_yaml(config.to_yaml())) == config
    assert isinstance(config, RunConfig) and config.behaviours is not None
    assert (config.behaviours[0].words, config.behaviours[0].aim) == ("keeps to the grammar", "more")
    assert [field for field, _ in config.scorers] == ["rewards.0", "behaviours.1.measure"]
