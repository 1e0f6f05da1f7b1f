"""Configurations: every bad input is one sentence that names its field, all at once; what is good survives YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from playground.config import differences, knobs, methods, yaml_io
from playground.config.behaviour_settings import READY
from playground.errors import InvalidConfig, Problem
from playground.setup import catalog

KINDS = (
    "sentiment, length, keyword, pattern, repetition, agreement, truth, sycophancy, contrast, grammar, model, "
    "expression, python"
)
GOOD: dict[str, Any] = {"rewards": [{"kind": "length"}]}


def problems_of(data: Any) -> list[Problem]:
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.from_dict(data)
    return caught.value.problems


def yaml_problems(text: str) -> list[Problem]:
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.from_dict(yaml_io.parse_yaml(text))
    return caught.value.problems


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"seed": -1}, "seed", "must be at least 0 (got -1)."),
        ({"seed": "one"}, "seed", "must be a whole number (got 'one')."),
        ({"seed": 1.5}, "seed", "must be a whole number (got 1.5)."),
        ({"name": ""}, "name", "must not be empty."),
        ({"name": "x" * 81}, "name", "must be at most 80 characters long."),
        ({"kl": 0.1}, "kl", "must be a group of settings, not a single value (got 0.1)."),
        ({"kl": {"coef": float("nan")}}, "kl.coef", "must be a finite number (got nan)."),
        ({"kl": {"target": 0}}, "kl.target", "must be more than 0 (got 0)."),
        ({"kl": {"coeff": 1}}, "kl.coeff", "There is no such setting. Did you mean `kl.coef`?"),
        ({"learning_rate": 1}, "learning_rate", "There is no such setting. Did you mean `ppo.learning_rate`?"),
        ({"ppo": {"kl_coef": 1}}, "ppo.kl_coef", "There is no such setting. Did you mean `kl.coef`?"),
        ({"lr": 1}, "lr", "There is no such setting."),
        ({"rewards": [{"kind": "length", "code": "x"}]}, "rewards.0.code", "There is no such setting."),
        ({"name": "caf\udce9"}, "name", "must be text in UTF-8."),
        ({"seed": 1e300}, "seed", "must be a whole number with fewer digits."),
        (
            {"kl": {"controller": "adaptive", "coef": 0}},
            "kl.coef",
            "must be above 0 while the leash is adaptive, which multiplies beta: 0 would stay 0 forever. Try 0.05.",
        ),
        (
            {"behaviours": ["kind"]},
            "behaviours.0.name",
            f"`kind` is not among those included ({', '.join(READY)}). Choose one of them, or say with `measure` what "
            "to measure, as an entry of `rewards` does.",
        ),
        (
            {"behaviours": [{"name": "parses", "measure": {"kind": "length"}}]},
            "behaviours.0.name",
            "`parses` is the name of an included behaviour; give your own another name.",
        ),
        (
            {"behaviours": [{"name": "So long", "words": "is long", "measure": {"kind": "length"}}]},
            "behaviours.0.name",
            "use 1 to 60 small letters, digits and hyphens, starting with a letter or digit.",
        ),
        (
            {"behaviours": [{"name": "long", "words": "is long", "measure": {"kind": "length", "targt": 1}}]},
            "behaviours.0.measure.targt",
            "There is no such setting. Did you mean `target`?",
        ),
        (
            {"method": "dpo", "kl": {"coef": 0}},
            "kl.coef",
            "must be more than 0 with method dpo, whose beta it is: try 0.25.",
        ),
        ({"ppo": {"learning_rate": None}}, "ppo.learning_rate", "must be a number (got nothing)."),
        (
            {"ppo": {"batch_size": 64, "minibatch_size": 30}},
            "ppo.minibatch_size",
            "must divide batch_size 64, and 30 does not: try 32.",
        ),
        (
            {"ppo": {"samples_per_prompt": 5}},
            "ppo.samples_per_prompt",
            "must divide batch_size 48, and 5 does not: try 4.",
        ),
        (
            {"ppo": {"baseline": "leave_one_out"}},
            "ppo.samples_per_prompt",
            "must be at least 2 with baseline leave_one_out, which compares the completions of one prompt: try 4.",
        ),
        ({"rewards": []}, "rewards", "must have at least one entry."),
        ({"rewards": ["length"]}, "rewards.0", "must be a group of settings with a `kind` (got 'length')."),
        (
            {"rewards": [{"kind": "lenght"}]},
            "rewards.0.kind",
            f"must be one of {KINDS} (got 'lenght').",
        ),
        ({"rewards": [{"kind": "keyword"}]}, "rewards.0.words", "This setting is missing; give it a value."),
        ({"rewards": [{"kind": "keyword", "words": [""]}]}, "rewards.0.words.0", "must not be empty."),
        (
            {"rewards": [{"kind": "pattern", "pattern": "(a"}]},
            "rewards.0.pattern",
            "is not a regular expression (missing ), unterminated subpattern at position 0).",
        ),
        ({1: 2}, "1", "is not a setting's name; names are words (got 1)."),
        ({"seed": 2**5000}, "seed", "must be at most 2.14748e+09 (got int)."),
    ],
)
def test_a_bad_value_is_one_sentence_that_names_its_field(change: dict[Any, Any], field: str, message: str) -> None:
    assert problems_of({**GOOD, **change}) == [Problem(field, message)]


def test_all_problems_come_at_once() -> None:
    found = problems_of({"sed": 1, "kl": {"coef": -1}, "ppo": {"gamma": 2}, "rewards": [{"kind": "lenght"}]})
    assert {problem.field for problem in found} == {"sed", "kl.coef", "ppo.gamma", "rewards.0.kind"}


@pytest.mark.parametrize("name", catalog.preset_names())
def test_a_preset_survives_yaml(name: str) -> None:
    config = catalog.preset(name)
    assert yaml_io.from_dict(yaml_io.parse_yaml(config.to_yaml())) == config


def test_every_kind_of_value_survives_yaml() -> None:
    config = yaml_io.from_dict(
        {
            "name": "Ärger: # 'x' \u2028 yes",
            "rewards": [
                {"kind": "keyword", "words": ["no", "1", "ja\nnein", "*a", "<<"], "weight": -1e-7},
                {"kind": "pattern", "pattern": r"\b(good|bad)\b: \d+"},
                {"kind": "length", "target": 12},
            ],
            "score": {"clip": 2.5},
            "ppo": {"learning_rate": 3e-4, "update_kl_stop": None},
        }
    )
    assert yaml_io.from_dict(yaml_io.parse_yaml(config.to_yaml())) == config


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("kl.coef=0.2", {"kl": {"coef": 0.2}}),
        ("ppo.learning_rate=3e-4", {"ppo": {"learning_rate": 0.0003}}),
        ("score.clip=null", {"score": {"clip": None}}),
        ("seed= 7 ", {"seed": 7}),
        ("name=a = b", {"name": "a = b"}),
        ("name=[unclosed", {"name": "[unclosed"}),
        ("name=*star", {"name": "*star"}),
        ("rewards.0.weight=2", {"rewards": [{"kind": "length", "weight": 2}]}),
        ("rewards=[{kind: truth}]", {"rewards": [{"kind": "truth"}]}),
    ],
)
def test_set_path_changes_one_value(override: str, expected: dict[str, Any]) -> None:
    data: dict[str, Any] = {"rewards": [{"kind": "length"}]}
    yaml_io.set_path(data, override)
    assert data == {"rewards": [{"kind": "length"}], **expected}


@pytest.mark.parametrize(
    ("override", "field", "message"),
    [
        ("kl.coef", "kl.coef", "Write it as path=value, for example kl.coef=0.2."),
        ("kl..coef=1", "kl..coef=1", "Write it as path=value, for example kl.coef=0.2."),
        ("rewards.1.weight=2", "rewards.1", "The list has 1 entry, numbered from 0."),
        ("rewards.-1.weight=2", "rewards.-1", "The list has 1 entry, numbered from 0."),
        ("seed.x=2", "seed.x", "`seed` is a single value, not a group."),
    ],
)
def test_set_path_refuses_a_path_that_is_not_there(override: str, field: str, message: str) -> None:
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.set_path({"seed": 1, "rewards": [{"kind": "length"}]}, override)
    assert caught.value.problems == [Problem(field, message)]


def test_load_lists_bad_overrides_and_bad_values_together(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("rewards: [{kind: length}]\nkl: {coef: -1}\n")
    with pytest.raises(InvalidConfig) as caught:
        yaml_io.load(path, ["nonsense", "rewards.9.weight=1", "ppo.gama=1"])
    assert [problem.field for problem in caught.value.problems] == ["nonsense", "rewards.9", "ppo.gama", "kl.coef"]


def test_load_says_when_a_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="No such file"):
        yaml_io.load(tmp_path / "none.yaml")


def test_differences_are_the_settings_that_differ_and_not_the_words() -> None:
    base = yaml_io.from_dict(GOOD)
    changed = yaml_io.from_dict(
        {"name": "other", "about": {"title": "T"}, "seed": 5, "kl": {"coef": 0.3}, "rewards": [{"kind": "truth"}]}
    )
    assert differences(changed, base) == {
        "seed": (0, 5),
        "kl.coef": (0.25, 0.3),
        "rewards": (
            [{"kind": "length", "weight": 1.0, "normalise": False, "cap": None, "target": None}],
            [{"kind": "truth", "weight": 1.0, "normalise": False, "cap": None}],
        ),
    }
    assert differences(base, base) == {}


def test_every_knob_has_words_and_a_default_within_its_limits() -> None:
    found = knobs()
    assert {"seed", "model.source", "kl.coef", "ppo.learning_rate", "evaluation.num_prompts"} <= set(found)
    for name, knob in found.items():
        assert knob["label"] and knob["help"].endswith("."), name
        if knob["slider"] and knob["default"] is not None:
            low, high, _ = knob["slider"]
            assert low <= knob["default"] <= high, name
            assert knob["minimum"] is None or knob["minimum"] <= low, name
            assert knob["maximum"] is None or high <= knob["maximum"], name


def test_steering_is_read_by_its_own_method_alone_and_needs_texts_to_compare():
    assert methods.unused("ppo", "steering.strength")
    assert not methods.unused("steer", "steering.strength")
    assert methods.unused("steer", "kl.coef")
    assert not methods.unused("steer", "ppo.samples_per_prompt")
    made = yaml_io.from_dict(
        {"method": "steer", "rewards": [{"kind": "length"}], "steering": {"layer": None, "strength": -2}}
    )
    assert (made.ppo.samples_per_prompt, made.steering.layer, made.steering.strength) == (8, None, -2.0)
    with pytest.raises(InvalidConfig, match=r"ppo\.samples_per_prompt: must be at least 2 with method steer"):
        yaml_io.from_dict({"method": "steer", "rewards": [{"kind": "length"}], "ppo": {"samples_per_prompt": 1}})
