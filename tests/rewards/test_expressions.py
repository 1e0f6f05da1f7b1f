"""Expressions: errors name the place and what to do; nothing passes through; rules say what they always say."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from playground import config
from playground.config import ExpressionReward, yaml_io
from playground.config import expression_language as table
from playground.errors import InvalidConfig, RewardFailed
from playground.rewards import expressions, kinds
from playground.setup import checks
from tests.support import small_config

PROMPT = "Review of the film: The plot was"


def value(expression: str, completion: str = " good, so good.", prompt: str = PROMPT) -> float | None:
    reward = kinds.build(ExpressionReward(expression=expression))
    (found,) = reward(prompts=[prompt], completions=[completion])
    return found


def message(expression: str) -> str:
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.from_dict({"rewards": [{"kind": "expression", "expression": expression}]})
    (problem,) = caught.value.problems
    assert problem.field == "rewards.0.expression"
    return problem.message


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("wrods(completion)", "Character 1, `wrods`: There is no such function. Did you mean `words`?"),
        ("1 + len(completion)", "Character 5, `len`: There is no such function. Did you mean `characters`?"),
        ('"ä" == completion and\n  foo', "Line 2, character 3, `foo`: There is no such name. Did you mean `floor`?"),
        ("words + 1", "Character 1, `words`: This is a function: write words(text)."),
        ("words(completion) +", "Character 19: This is not a complete expression"),
        ("completion * 2", "Character 1, `completion`: `*` needs numbers, and this is a text. Measure it"),
        ("completion", "This gives a text; a reward is a number. Measure it, for example with words(...)."),
        ("clip(1, 2)", "Character 1, `clip(1, 2)`: This has 2 values. Write clip(x, low, high)."),
        ("round(1, 2, 3)", "This has 3 values. Write round(x[, digits])."),
        ("words(3)", "Character 7, `3`: `text` of words is a text, and this is a number."),
        ("completion[0]", "An index in brackets cannot be used here; there are only numbers, texts in quotes"),
        ('"a" if completion else "b"', "After `if` stands a condition or a number, and this is a text."),
        ('1 if 1 else "b"', "One way gives a number and the other a text."),
        ("a | b", "for a condition write `and`, `or`, `not`"),
        (r'matches(completion, "\bgood\b")', r'Put an r in front of the quotes of a pattern, for example r"\bgood\b".'),
        (r'matches(completion, r"(a)\1")', "RE2 does not take this pattern"),
        ("words(completion) # the length", "Character 19: `#` can only stand in quotes."),
        ("None", "Write `nothing` for no opinion."),
        ("(" * 33 + "1" + ")" * 33, "Character 33: More than 32 brackets inside each other."),
        ("×", "Character 1: `×` can only stand in quotes."),
        ("1" * 2001, "must be at most 2000 characters long."),
        (" ", "The expression is empty. Write one, for example words(completion)."),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_what_to_do(expression: str, told: str) -> None:
    assert told in message(expression)


def test_every_problem_of_a_configuration_is_told_at_once() -> None:
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.from_dict({"seed": -1, "rewards": [{"kind": "expression", "expression": "x | y"}, {"kind": "python"}]})
    fields = [problem.field for problem in caught.value.problems]
    assert fields == ["seed", "rewards.0.expression", "rewards.1.code"]


def test_the_table_of_functions_is_what_can_be_computed() -> None:
    computed = {*expressions.FUNCTIONS, "otherwise"}
    assert computed == set(table.FUNCTIONS)
    for name, signature in table.FUNCTIONS.items():
        assert signature.help.endswith(".") and signature.written(name).startswith(f"{name}(")
    assert table.FUNCTIONS["min"].written("min") == "min(x, y, ...)"


@pytest.mark.parametrize(
    ("expression", "spec"),
    [
        ("words(completion)", config.LengthReward()),
        ('keywords(completion, "good", "so")', config.KeywordReward(words=("good", "so"))),
        ("sentiment(completion)", config.SentimentReward()),
        ("vader(completion)", config.SentimentReward(judge="vader")),
        ("pocket_sentiment(prompt, completion)", config.SentimentReward(judge="pocket-world")),
        ("repeated(completion)", config.RepetitionReward()),
        ("grammar(prompt, completion)", config.GrammarReward()),
        ("quality(prompt, completion)", config.GrammarReward(measure="quality")),
        ("agreement(prompt, completion)", config.AgreementReward()),
        ("truth(prompt, completion)", config.TruthReward()),
    ],
)
def test_a_function_says_what_the_reward_of_that_name_says(expression: str, spec: Any) -> None:
    prompts = [PROMPT, PROMPT, "User: I think 4 plus 5 is 8. Bot:", "Free"]
    completions = [" lovely and the ending was lovely.", " It is.", " 4 plus 5 is 8, as you say.", " so good so good"]
    by_rule = kinds.build(spec)(prompts=prompts, completions=completions)
    by_formula = kinds.build(ExpressionReward(expression=expression))(prompts=prompts, completions=completions)
    assert list(by_formula) == list(by_rule)
    assert set(by_rule) - {0.0, None}


def test_nothing_passes_through_and_otherwise_catches_it() -> None:
    assert value("nothing") is None
    assert value("nothing + 1") is value("-nothing") is value("not nothing") is value("1 < nothing < 2") is None
    assert value("max(1, nothing)") is value("5 if nothing else 6") is None
    assert value("otherwise(nothing, 4) + otherwise(3, nothing)") == 7
    assert value('words((completion if nothing else prompt) + "x")') is None
    assert value("0 and nothing") == 0 and value("1 or nothing") == 1 and value("1 and nothing") is None
    assert value("otherwise(truth(prompt, completion), 0.5)") == 0.5


def test_a_chain_of_comparisons_looks_at_each_pair() -> None:
    assert [value(f"{first} < {second} < 3") for first, second in ((1, 2), (2, 1), (1, 4))] == [1, 0, 0]
    assert value("1 < 2 != 2") == 0 and value('"good" in completion in prompt') == 0


def test_only_the_way_that_is_taken_is_computed() -> None:
    assert value("1 if 1 else 1 / 0") == 1 and value("1 or 1 / 0") == 1 and value("0 and 1 / 0") == 0


def test_what_cannot_be_computed_ends_in_a_sentence_with_its_place() -> None:
    with pytest.raises(RewardFailed) as caught:
        value("1 + words(prompt) / (words(completion) - 3)")
    told = str(caught.value)
    assert "' good, so good.'" in told and "Character 5, `words(prompt) / (words(completion) - 3)`" in told
    assert "It divides by 0. Guard it, for example `/ max(1, words(completion))`." in told


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("1 / words(completion)", "It cannot be computed for an empty completion. Character 1"),
        ("log(words(completion) - 1)", "an empty completion"),
        ("1 / (words(completion) - 1)", "a completion of one word"),
        ("exp(words(completion))", "a long completion"),
    ],
)
def test_what_fails_on_ordinary_completions_is_told_before_a_run(expression: str, told: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        checks.check(small_config(judges=[{"kind": "expression", "expression": expression}]))
    (problem,) = caught.value.problems
    assert problem.field == "judges.0.expression" and told in problem.message


def test_only_so_much_of_a_long_text_is_read() -> None:
    assert value("characters(completion)", "x" * 50_000) == expressions.MAX_TEXT
    assert value('starts_with(prompt, "b")', prompt="a" + "b" * expressions.MAX_TEXT) == 1
    assert value("matches_count(completion, 'x')", "x" * 50_000) == expressions.MAX_MATCHES


def test_without_re2_only_patterns_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert value("words(completion)") == 3
    assert "google-re2, which is not installed: run `pip install -r requirements.txt`" in message(
        "matches(completion, 'a')"
    )


def test_lone_surrogates_and_other_odd_texts_are_read() -> None:
    for odd in ("\ud800", "\x00", "\u202e", "😀" * 9):
        assert value("words(completion) + matches_count(completion, '.') >= 0", odd) == 1


def test_a_slow_batch_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    spent, passed = iter(range(1000)), iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(passed)))
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)
    assert value("words(completion) + words(prompt)") == 10  # a busy machine, and none of our own time
    monkeypatch.setattr(time, "thread_time", lambda: float(next(spent)))
    with pytest.raises(RewardFailed, match="takes too long"):
        value("words(completion) + words(prompt)")
