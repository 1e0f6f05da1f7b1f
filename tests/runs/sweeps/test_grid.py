"""From words to the configurations of a sweep, and everything that is wrong with them at once."""

from pathlib import Path

import pytest

from playground.runs.sweeps import grid
from tests.support import problems_of


def grid_of(vary, overrides=()):
    base = {"name": "finish", "rewards": [{"kind": "length"}]}  # as a preset's file has it: what a method fills is open
    return grid.grid(base, overrides, grid.read(vary), lambda config: None)


def refusal(vary):
    return [str(problem) for problem in problems_of(grid_of, vary)]


def test_every_value_of_one_field_meets_every_value_of_the_others_whatever_they_are():
    varied = grid_of(["kl.coef=0.1, 0.25,5e-1", "seed=0,1"], ["ppo.num_updates=7"])
    values = [(config.kl.coef, config.seed) for config in varied.configs]
    assert values == [(0.1, 0), (0.1, 1), (0.25, 0), (0.25, 1), (0.5, 0), (0.5, 1)]
    assert {config.ppo.num_updates for config in varied.configs} == {7}
    varied = grid_of(["method=ppo,dpo", "rewards.0.weight=1,2", "prompts.typed=[a, b],[c]"])
    assert len(varied.configs) == 8
    last = varied.configs[-1]
    assert (last.method, last.rewards[0].weight, last.prompts.typed) == ("dpo", 2.0, ("c",))


def test_everything_wrong_is_said_at_once_and_once():
    listed = refusal(["kl.coef=0.1,-3", "kl.nothing=1,2", "seed=0,1,x"])
    assert [one.partition(":")[0] for one in sorted(set(listed))] == ["kl.coef", "kl.nothing", "seed"]
    assert len(listed) == 3


@pytest.mark.parametrize("case", Path(__file__).with_name("refused.txt").read_text().splitlines())
def test_words_that_vary_nothing_are_refused(case):
    vary, words = case.split(" | ")
    (sentence,) = refusal(vary.split(" & "))
    assert words in sentence
    assert "Name at least one field" in refusal([])[0]


def test_too_many_runs_are_counted_and_none_is_made():
    (sentence,) = refusal([f"seed={','.join(map(str, range(100)))}", "kl.coef=0.1,0.2,0.3"])
    assert "100 values of seed x 3 values of kl.coef make 300 runs; a sweep has at most 200" in sentence
