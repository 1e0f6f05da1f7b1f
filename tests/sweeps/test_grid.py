"""From words to the configurations of a sweep, and everything that is wrong with them at once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from playground.config import RunConfig
from playground.errors import InvalidConfig, Problem
from playground.sweeps import grid
from tests.support import small_config


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
    assert [(config.kl.coef, config.seed) for config in found.configs] == [
        (0.1, 0),
        (0.1, 1),
        (0.25, 0),
        (0.25, 1),
        (0.5, 0),
        (0.5, 1),
    ]
    assert {config.ppo.num_updates for config in found.configs} == {7}


def test_values_may_be_names_lists_and_places_in_lists() -> None:
    found = made(["method=ppo,dpo", "rewards.0.weight=1,2", "prompts.typed=[a, b],[c]"])
    assert len(found.configs) == 8
    last = found.configs[-1]
    assert (last.method, last.rewards[0].weight, last.prompts.typed) == ("dpo", 2.0, ("c",))


def test_everything_wrong_is_said_at_once_and_once() -> None:
    told = refusal(["kl.coef=0.1,-3", "kl.nothing=1,2", "seed=0,1,x"])
    assert [one.partition(":")[0] for one in sorted(set(told))] == ["kl.coef", "kl.nothing", "seed"]
    assert len(told) == 3


@pytest.mark.parametrize(
    ("vary", "told"),
    [
        (["kl.coef"], "Write it as field=value,value"),
        (["=1,2"], "Write it as field=value,value"),
        (["kl.coef="], "Name its values"),
        (["kl.coef=0.1", "kl.coef=0.2"], "kl.coef: is varied twice"),
        (["kl.coef=0.1", "kl={coef: 1}"], "kl: is varied beside kl.coef"),
        (["seed=0,1,0"], "seed: has the value 0 twice"),
        (["seed=[0"], "seed"),
        ([], "Name at least one field"),
        (["model.adapter.r=4,8"], "model.adapter.r: has no effect here: model.adapter.kind is none."),
        (["kl.horizon=10,100", "seed=0,1"], "kl.horizon: has no effect here: kl.controller is fixed."),
        (["steering.strength=1,2"], "steering.strength: has no effect here: method ppo does not read it."),
    ],
)
def test_words_that_vary_nothing_are_refused_with_the_right_form(vary: list[str], told: str) -> None:
    (sentence,) = refusal(vary)
    assert told in sentence


def test_a_field_is_either_set_for_all_or_varied() -> None:
    assert refusal(["kl.coef=0.1,0.2"], ["kl.coef=0.3"]) == [
        "kl.coef: is both set for all runs and varied. Do one of them."
    ]


def test_too_many_runs_are_counted_and_none_is_made() -> None:
    (sentence,) = refusal([f"seed={','.join(map(str, range(100)))}", "kl.coef=0.1,0.2,0.3"])
    assert "100 values of seed x 3 values of kl.coef are 300 runs; a sweep has at most 200" in sentence


def test_a_problem_of_one_run_only_is_listed_too() -> None:
    def check(config: RunConfig) -> None:
        if config.seed == 2:
            raise InvalidConfig([Problem("seed", "not this one.")])

    with pytest.raises(InvalidConfig, match=r"^seed: not this one\.$"):
        grid.grid(small_config().model_dump(mode="json"), [], grid.read(["kl.coef=0.1,0.2", "seed=1,2"]), check)
