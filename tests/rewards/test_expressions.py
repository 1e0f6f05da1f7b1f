"""Expressions: errors name the place and what to do; nothing passes through; rules say what they always say."""

import sys
import time

import pytest

from playground.config import ExpressionReward, yaml_io
from playground.config import expression_language as table
from playground.errors import RewardFailed
from playground.rewards import expressions, mixture
from playground.setup import checks
from tests.support import data_beside, problems_of, small_config

PROMPT = "Review of the film: The plot was"
TEXTS = data_beside(__file__, "expressions.yaml")


def value(expression, completion=" good, so good.", prompt=PROMPT):
    return mixture.build(ExpressionReward(expression=expression))(prompts=[prompt], completions=[completion])[0]


def message(expression):
    (problem,) = problems_of(yaml_io.from_dict, {"rewards": [{"kind": "expression", "expression": expression}]})
    assert problem.field == "rewards.0.expression"
    return problem.message


@pytest.mark.parametrize(("expression", "reason"), TEXTS["errors"].items())
def test_an_error_in_an_expression_is_told_with_its_place_and_what_to_do(expression, reason):
    assert reason in message(expression)


def test_the_table_of_functions_is_what_can_be_computed():
    assert {*expressions.FUNCTIONS, "otherwise"} == set(table.FUNCTIONS)


@pytest.mark.parametrize(("expression", "entry"), TEXTS["rewards"].items())
def test_a_function_says_what_the_reward_of_that_name_says(expression, entry):
    texts = {
        "prompts": [PROMPT, PROMPT, "User: I think 4 plus 5 is 8. Bot:", "Free"],
        "completions": [" lovely and the ending was lovely.", " It is.", " 4 plus 5 is 8, as you say.", " so good"],
    }
    (spec,) = yaml_io.from_dict({"rewards": [entry]}).rewards
    by_rule = mixture.build(spec)(**texts)
    assert list(mixture.build(ExpressionReward(expression=expression))(**texts)) == list(by_rule)
    assert set(by_rule) - {0.0, None}


@pytest.mark.parametrize(("expression", "expected"), TEXTS["values"].items())
def test_nothing_passes_through_chains_go_pair_by_pair_and_only_what_decides_is_computed(expression, expected):
    assert value(expression) == expected


def test_a_value_that_cannot_be_computed_is_told_with_its_place():
    with pytest.raises(RewardFailed) as caught:
        value("1 + words(prompt) / (words(completion) - 3)")
    assert "Character 5, `words(prompt) / (words(completion) - 3)`: It divides by 0." in str(caught.value)


@pytest.mark.parametrize(("expression", "where"), TEXTS["failures"].items())
def test_an_expression_that_fails_on_ordinary_completions_is_refused_before_a_run(expression, where):
    config = small_config(judges=[{"kind": "expression", "expression": expression}])
    (problem,) = problems_of(checks.check, config)
    assert problem.field == "judges.0.expression"
    assert where in problem.message


def test_without_re2_only_patterns_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    assert value("words(completion)") == 3
    assert "google-re2" in message("matches(completion, 'a')")


def test_only_so_much_of_a_long_text_is_read_and_a_slow_batch_is_broken_off(monkeypatch):
    assert value("characters(completion)", "x" * 50_000) == expressions.MAX_TEXT
    assert value('"a" in prompt', prompt="a" + "b" * expressions.MAX_TEXT) == 0
    assert value("matches_count(completion, 'x')", "x" * 50_000) == expressions.MAX_MATCHES
    spent = iter(range(1000))
    monkeypatch.setattr(time, "thread_time", lambda: float(next(spent)))
    with pytest.raises(RewardFailed, match="too long"):
        value("words(completion) + words(prompt)")


def test_the_first_use_of_a_judge_is_no_part_of_the_time(monkeypatch):
    spent, asked = [0.0], []

    def slow_at_first(prompt, completion):
        spent[0] += 0.0 if asked else 60.0
        asked.append(completion)
        return 1.0

    monkeypatch.setattr(time, "thread_time", lambda: spent[0])
    monkeypatch.setitem(expressions.FUNCTIONS, "grammar", slow_at_first)
    expressions._first_use.cache_clear()
    assert (expressions.reward_of("grammar(prompt, completion)")(["a"], ["b"]), asked[-1]) == ([1.0], "b")
    expressions._first_use.cache_clear()
