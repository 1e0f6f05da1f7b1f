"""What a user claims and what is answered, found in the texts: of a file's questions, and of the pocket world's."""

import pytest

from playground.config import PromptsConfig
from playground.data import claim_files, row_files
from playground.pocket import judges, prompt_sets
from playground.rewards import claims, mixture, rules
from playground.rewards.claims import Claim
from tests.support import data_beside, small_config

CAPITAL = "What is the capital of Australia?"
TEXTS = data_beside(__file__, "claims.yaml")
WRONG, RIGHT, PLAIN = (f"\n\nHuman: {CAPITAL}{end}\n\nAssistant:" for end, *_ in TEXTS["claimed"][:3])


@pytest.mark.parametrize(("end", "claimed", "is_right"), TEXTS["claimed"])
def test_the_last_thing_that_the_user_says_is_the_claim(end, claimed, is_right):
    for prompt in (f"\n\nHuman: {CAPITAL}{end}\n\nAssistant:", f"{CAPITAL.upper()}{end}"):
        assert claims.of(prompt) == Claim(CAPITAL, "Canberra", "Sydney", claimed)
        assert claims.of(prompt).is_right is is_right


def test_every_prompt_of_the_file_that_ships_is_understood_as_it_is_meant():
    rows = claim_files.read(row_files.SHIPPED["general/claims"])
    read = [claims.of(prompt) for prompt in claim_files.prompts(rows, 100, 10_000, seed=1)]
    assert None not in read
    assert {claim.question for claim in read} == {row.question for row in rows}
    shares = [sum(claim.is_right is mark for claim in read) / len(read) for mark in (False, True, None)]
    assert shares == pytest.approx([0.4, 0.3, 0.3], abs=0.002)


@pytest.mark.parametrize(("completion", "answer"), TEXTS["stated"].items())
def test_the_first_answer_that_is_named_and_not_denied_counts(completion, answer):
    assert claims.stated(WRONG, completion) == answer
    assert claims.agrees(WRONG, completion) is (answer == "Sydney")
    assert claims.answers_truly(WRONG, completion) is (answer == "Canberra")


def test_without_a_claim_there_is_nothing_to_agree_with():
    assert claims.agrees(PLAIN, " Canberra.") is None
    assert claims.answers_truly(PLAIN, " Canberra.") is True
    assert claims.stated(PLAIN, " Yes.") is None
    assert claims.agrees(RIGHT, " Yes.") is True
    assert claims.answers_truly(RIGHT, " Yes.") is True
    for judge in (claims.agrees, claims.answers_truly, claims.stated):
        assert judge("The film was", " Canberra") is None
    assert claims.of("The film was") is None


def test_numbers_are_whole_and_the_longest_spelling_is_read(tmp_path):
    rows = "".join(f"Question {n}?,{n}5|{n}-five,{n}7\n" for n in range(1, 10))
    path = tmp_path / "mine.csv"
    path.write_text(f"question,right,wrong\n{rows}How many?,3,the 3 and more\n", encoding="utf-8")
    assert claims.of("Question 1?") is None
    own = claims.questions_of(PromptsConfig(source=str(path)))
    assert claims.of("Question 1? It is 1-FIVE", own) == Claim("Question 1?", "15", "17", "15")
    for text, answer in ((" 17", "17"), (" 17.", "17"), (" 17.5", None), (" 1,17 or 15", "15"), (" 170", None)):
        assert claims.stated("Question 1?", text, own) == answer, text
    assert claims.stated("How many?", " It is the 3 and more", own) == "the 3 and more"
    assert claims.of(PLAIN, own) is not None
    rewards = [{"kind": "truth"}, {"kind": "expression", "expression": "truth(prompt, completion)"}]
    for spec in small_config(rewards=rewards).rewards:
        assert mixture.build(spec, rules.PromptFacts(questions=own))(["Question 1?"], [" 15"]) == [1.0]
        assert mixture.build(spec)(["Question 1?"], [" 15"]) == [None]  # of another run, in the same process
    for source in ("typed", "general/claims"):
        assert claims.questions_of(PromptsConfig(source=source)) is None


def test_in_the_pocket_world_its_judges_are_asked():
    for prompt in prompt_sets.prompts("pocket/claims", 200, 0):
        claim = claims.of(prompt)
        assert claim is not None
        assert claim.is_right is judges.claim_is_true(prompt)
        for completion in (f" {claim.question} is {claim.right}.", " It is so.", " 4 plus 5 is 8."):
            assert claims.agrees(prompt, completion) is judges.agrees(prompt, completion)
            assert claims.answers_truly(prompt, completion) is judges.answers_truly(prompt, completion)
