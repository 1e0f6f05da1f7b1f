import pytest

from playground.config import RunConfig, VerifyReward
from playground.errors import InvalidConfig
from playground.rewards import behaviours, mixture, rules, verify
from playground.setup import checks
from tests.support import data_beside

TABLES = data_beside(__file__, "verify.yaml")


@pytest.mark.parametrize(("check", "form", "text", "answer"), TABLES["readings"])
def test_an_answer_is_read_where_the_form_has_its_gap(check, form, text, answer):
    assert verify.parsed(VerifyReward(check=check, form=form), text) == answer


@pytest.mark.parametrize(("check", "answer", "true", "same"), TABLES["agreements"])
def test_numbers_agree_by_value_and_words_whatever_their_case(check, answer, true, same):
    assert verify.agree(VerifyReward(check=check), answer, true) is same


@pytest.mark.parametrize(("lines", "why"), TABLES["files"])
def test_a_file_without_an_answer_to_each_prompt_is_refused_with_the_row(tmp_path, lines, why):
    path = tmp_path / ("sums.jsonl" if lines.startswith("{") else "sums.csv")
    path.write_text(lines)
    config = config_of(source=str(path))
    if not why:
        return checks.check(config)
    with pytest.raises(InvalidConfig) as refused:
        checks.check(config)
    [problem] = refused.value.problems
    assert problem.field == "rewards.0.answer"
    assert problem.message.endswith(why)


@pytest.mark.parametrize(("prompts", "why"), TABLES["without"])
def test_prompts_without_a_right_answer_are_refused(prompts, why):
    with pytest.raises(InvalidConfig, match=why):
        checks.check(config_of(**prompts))


def test_a_column_goes_before_what_the_pocket_world_knows():
    spec, prompt = VerifyReward(answer="solution.value"), "User: What is 4 plus 5? Bot:"
    facts = rules.PromptFacts({prompt: {"solution": {"value": 12}}})
    assert mixture.build(spec, facts)([prompt] * 2, ["It is 12.", "It is 9."]) == [1, 0]
    assert mixture.build(spec)([prompt] * 2, ["It is 12.", "It is 9."]) == [0, 1]


def test_right_answers_are_counted_beside_those_in_the_form():
    config = config_of(source="pocket/sums", form="is ...")
    right, form = behaviours.of_config(config)[:2]
    assert form.words == "keeps to the form \u201cis ...\u201d"
    counted = behaviours.Behaviours((right, form))
    prompts = ["User: I think 4 plus 5 is 8. Bot:"] * 3
    marks = counted(prompts, [" 4 plus 5 is 9, not 8.", " 4 plus 5 is 8.", " 9."], [True] * 3)
    assert marks == {verify.RIGHT: [True, False, False], verify.IN_FORM: [True, True, False]}
    assert behaviours.of_rewards(config, {right.name, form.name}) == {verify.RIGHT}


def config_of(form="", **prompts):
    return RunConfig.model_validate({"rewards": [{"kind": "verify", "form": form}], "prompts": prompts})
