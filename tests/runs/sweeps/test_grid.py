"""From words to the configurations of a sweep, and everything that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from playground.config import RunConfig
from playground.errors import InvalidConfig
from playground.runs.sweeps import grid


def allow(config: RunConfig) -> None:
    """A check that has nothing against it."""


def made(vary: Sequence[str], overrides: Sequence[str] = ()) -> grid.Grid:
    base = {"name": "finish", "rewards": [{"kind": "length"}]}  # as a preset's file has it: what a method fills is open
    return grid.grid(base, overrides, grid.read(vary), allow)


def refusal(vary: Sequence[str], overrides: Sequence[str] = ()) -> list[str]:
    with pytest.raises(InvalidConfig) as refused:
        made(vary, overrides)
    return [str(problem) for problem in refused.value.problems]


def test_every_value_of_one_field_meets_every_value_of_the_others() -> None:
    found = made(["kl.coef=0.1, 0.25,5e-1", "seed=0,1"], ["ppo.num_updates=7"])
    values = [(config.kl.coef, config.seed) for config in found.configs]
    assert values == [(0.1, 0), (0.1, 1), (0.25, 0), (0.25, 1), (0.5, 0), (0.5, 1)]
    assert {config.ppo.num_updates for config in found.configs} == {7}


def test_values_may_be_names_lists_and_places_in_lists() -> None:
    found = made(["method=ppo,dpo", "rewards.0.weight=1,2", "prompts.typed=[a, b],[c]"])
    assert len(found.configs) == 8
    last = found.configs[-1]
    assert (last.method, last.rewards[0].weight, last.prompts.typed) == ("dpo", 2.0, ("c",))


def test_everything_wrong_is_said_at_once_and_once() -> None:
    listed = refusal(["kl.coef=0.1,-3", "kl.nothing=1,2", "seed=0,1,x"])
    assert [one.partition(":")[0] for one in sorted(set(listed))] == ["kl.coef", "kl.nothing", "seed"]
    assert len(listed) == 3


REFUSED = """
    kl.coef | field=value,value
    =1,2 | field=value,value
    kl.coef= | Name its values
    kl.coef=0.1 & kl.coef=0.2 | kl.coef: is varied twice
    kl.coef=1,0.5,1.0 | kl.coef: names a value twice
    seed=[0 | seed
    model.adapter.r=4,8 | model.adapter.kind is none
    kl.horizon=10,100 & seed=0,1 | kl.controller is fixed
    steering.strength=1,2 | method ppo does not read it
"""


@pytest.mark.parametrize("case", REFUSED.strip().splitlines())
def test_words_that_vary_nothing_are_refused(case: str) -> None:
    vary, words = case.strip().split(" | ")
    (sentence,) = refusal(vary.split(" & "))
    assert words in sentence
    assert "Name at least one field" in refusal([])[0]


def test_too_many_runs_are_counted_and_none_is_made() -> None:
    (sentence,) = refusal([f"seed={','.join(map(str, range(100)))}", "kl.coef=0.1,0.2,0.3"])
    assert "100 values of seed x 3 values of kl.coef make 300 runs; a sweep has at most 200" in sentence
