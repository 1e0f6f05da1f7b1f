"""Functions as people have them: files, packages, callables; how they are called; what is said before a run starts."""

import contextlib
import functools
import json
import re
import sys

import pytest

from playground.config import PromptsConfig, RunConfig, yaml_io
from playground.errors import InvalidConfig
from playground.rewards import functions, mixture
from playground.rewards.python_function import PythonFunction
from playground.rewards.rules import PromptFacts
from playground.setup import checks
from tests.support import data_beside, problems_of

CASES = data_beside(__file__, "functions.yaml")
COLUMNS = {"p": {"prompt": "p", "answer": 1, "note": "x"}, "q": {"prompt": "q", "answer": 2, "note": "y"}}
PATTERN, FACTOR = re.compile("[a-c]", re.I), 2


def spec_of(reward, **fields):
    return yaml_io.from_dict({"rewards": functions.entries_of(reward), **fields}).rewards[0]


@pytest.mark.parametrize("case", CASES["called"].values(), ids=CASES["called"])
def test_a_function_is_called_as_its_parameters_say(case):
    facts = PromptFacts(COLUMNS, system="s", encode=lambda text: [7] * len(text.split()))
    with contextlib.closing(PythonFunction(case["code"], 20.0, facts=facts)) as function:
        for facts.in_chat, expected in ((False, case.get("values")), (True, case.get("chat"))):
            assert expected is None or function(["p", "q"], ["a b", "c"]) == expected


def test_a_prompt_without_a_row_has_no_opinion_where_a_column_is_asked_for():
    code = "def reward(completions, answer): return answer"
    with contextlib.closing(PythonFunction(code, 20.0, facts=PromptFacts(COLUMNS))) as function:
        assert function(["typed", "q"], ["a", "b"]) == [None, 2.0]


@pytest.fixture
def rows(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(
        "".join(json.dumps({"prompt": f"{number} plus 1?", "answer": number + 1}) + "\n" for number in range(9))
    )
    return PromptsConfig(source=str(file))


@pytest.mark.parametrize("case", CASES["wrong"].values(), ids=CASES["wrong"])
def test_what_is_wrong_with_a_function_is_said_before_the_start_with_its_file_and_line(case, rows, tmp_path):
    (tmp_path / "my_reward.py").write_text(f"import math\n{case['code']}\n")
    config = RunConfig(rewards=(spec_of(f"{tmp_path}/my_reward.py:f"),), prompts=rows)
    (problem,) = problems_of(checks.require_functions, config)
    assert problem.field == "rewards.0"
    assert all(words in problem.message for words in case["said"]), problem.message
    assert case.get("unsaid", "nothing of this") not in problem.message


def test_a_function_that_takes_what_there_is_may_start(rows, tmp_path):
    code = "def f(completions, answer, **rest):\n  return [float(str(a) in c) for a, c in zip(answer, completions)]"
    (tmp_path / "my_reward.py").write_text(code)
    spec = spec_of(f"{tmp_path}/my_reward.py")
    checks.require_functions(RunConfig(rewards=(spec,), prompts=rows))
    (tmp_path / "fixed.jsonl").write_text('{"prompt": "9 plus 1?"}\n')
    (problem,) = problems_of(
        checks.require_functions,
        RunConfig(rewards=(spec,), prompts=rows, evaluation={"prompts": str(tmp_path / "fixed.jsonl")}),
    )
    assert "needs `answer`" in problem.message
    assert "`answer`" in functions.problem(spec, PromptsConfig(), False)
    hub = PromptsConfig(source="owner/name")  # its columns are not known yet
    assert functions.problem(spec, hub, None) == ""
    by_any_name = spec_of(lambda completions, **columns: columns["answer"])
    assert [functions.problem(by_any_name, where, None) == "" for where in (rows, hub, PromptsConfig())] == [1, 1, 0]
    messages = spec_of(lambda completions, **columns: [len(one[0]["content"]) for one in completions])
    assert [functions.problem(messages, rows, chat) == "" for chat in (True, None, False)] == [True, True, False]


@pytest.mark.parametrize("case", CASES["chosen"], ids=lambda case: str(case["is"]))
def test_which_function_of_a_file_is_meant(case, tmp_path):
    file = tmp_path / "my_reward.py"
    file.write_text(case["code"])
    named = f"{file}:{case['name']}" if "name" in case else str(file)
    if isinstance(case["is"], list):
        (problem,) = problems_of(spec_of, named)
        assert all(words in problem.message for words in case["is"]), problem.message
    else:
        spec = spec_of(named)
        assert (spec.function, spec.file, spec.code) == (case["is"], str(file), case["code"])
        assert mixture.term_names([spec]) == [case["is"] or "my_reward"]
        file.unlink()  # a run keeps the code
        assert yaml_io.from_dict(yaml_io.parse_yaml(RunConfig(rewards=(spec,)).to_yaml())).rewards == (spec,)


def test_a_function_of_a_package_is_found_without_running_it_and_imports_beside_it_work(tmp_path, monkeypatch):
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("TEN = 10")
    (package / "scores.py").write_text("from .helper import TEN\ndef f(completion): return TEN")
    monkeypatch.chdir(tmp_path)
    spec = spec_of("mine.scores:f")
    assert "mine" not in sys.modules
    assert (spec.file, spec.name) == (str(package / "scores.py"), "f")
    with contextlib.closing(mixture.build(spec)) as function:
        assert function(["p"], ["c"]) == [10.0]
    for named, words in (("mine.nix:f", "no module `mine.nix`"), ("nix.py", "Cannot read nix.py: No such file")):
        (problem,) = problems_of(spec_of, named)
        assert words in problem.message


def counted(text):
    return FACTOR * len(PATTERN.findall(text))


def closed(factor):
    def reward(completions, **columns):
        return [factor * counted(text) for text in completions]

    return reward


def partly(completions, factor, **columns):
    return [factor * counted(text) for text in completions]


def test_a_callable_becomes_code_that_another_process_runs(monkeypatch):
    in_lambda = lambda completions, **columns: [3 * counted(text) for text in completions]  # noqa: E731
    assert spec_of(partly).file == __file__  # it stands in a module
    for function in (closed(3), in_lambda, functools.partial(partly, factor=3)):
        spec = spec_of(function)
        with contextlib.closing(mixture.build(spec)) as built:
            assert built(["p"], ["abC d"]) == [18.0], spec.code
    monkeypatch.setattr(sys.modules[__name__], "__name__", "__main__")
    for function in (counted, partly, closed):
        monkeypatch.setattr(function, "__module__", "__main__")
    monkeypatch.setitem(sys.modules, "__main__", sys.modules[__name__])
    spec = spec_of(closed(3))  # as in a notebook: the functions that it uses are no module's
    assert "PATTERN = " in spec.code
    assert "import tests" not in spec.code
    with contextlib.closing(mixture.build(spec)) as built:
        assert built(["p"], ["abC d"]) == [18.0]
    with pytest.raises(InvalidConfig, match="reward: The function `reward` uses `factor`, a object, which stays"):
        functions.entries_of(closed(object()))


def test_several_rewards_with_weights_are_a_mix():
    mix = functions.entries_of(["length", {"kind": "repetition"}, partly], [1, -0.5, 2])
    assert [(entry["kind"], entry["weight"]) for entry in mix] == [("length", 1), ("repetition", -0.5), ("python", 2)]
    for wrong, field in ((("length", [1, 2]), "reward_weights"), (("nix",), "reward")):
        (problem,) = problems_of(functions.entries_of, *wrong)
        assert problem.field == field
