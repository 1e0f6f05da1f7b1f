"""Configurations: every bad input is one sentence that names its field, all at once; what is good survives YAML; a
mistake that is drawn is named nowhere."""

from collections import Counter

import pytest
import yaml

from playground.config import differences, knobs, methods, yaml_io
from playground.config.faults import DRAWN, FAULTS
from playground.errors import InvalidConfig, Problem
from playground.setup import catalog, describe
from tests.support import config_with, data_beside, fields_of, problems_of


def table(name):
    return data_beside(__file__, f"{name}.yaml")


OVERRIDES, SAVED = table("overrides"), table("saved")
NO_YAML = [  # which YAML cannot say, or not in a line
    ({"name": "caf\udce9"}, "name", "must be text in UTF-8."),
    ({"seed": 2**5000}, "seed", "must be at most 2.14748e+09 (got int)."),
]
GOOD = {"rewards": [{"kind": "length"}]}


@pytest.mark.parametrize(("change", "field", "message"), [*table("refusals"), *NO_YAML])
def test_a_bad_value_is_one_sentence_that_names_its_field(change, field, message):
    assert problems_of(yaml_io.from_dict, {**GOOD, **change}) == [Problem(field, message)]


@pytest.mark.parametrize("name", catalog.preset_names())
def test_a_preset_survives_yaml(name):
    config = catalog.preset(name)
    assert yaml_io.from_dict(yaml_io.parse_yaml(config.to_yaml())) == config


def test_every_kind_of_value_survives_yaml():
    config = yaml_io.from_dict(SAVED["every_kind"])
    assert yaml_io.from_dict(yaml_io.parse_yaml(config.to_yaml())) == config


@pytest.mark.parametrize(("override", "expected"), OVERRIDES["set"])
def test_set_path_changes_one_value(override, expected):
    data = {"rewards": [{"kind": "length"}]}
    yaml_io.set_path(data, override)
    assert data == {"rewards": [{"kind": "length"}], **expected}


@pytest.mark.parametrize(("override", "field", "message"), OVERRIDES["refused"])
def test_set_path_refuses_a_path_that_is_not_there(override, field, message):
    assert problems_of(yaml_io.set_path, {"seed": 1, **GOOD}, override) == [Problem(field, message)]


def test_a_small_batch_makes_what_it_is_divided_into_as_small_unless_that_is_given_too(tmp_path):
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({"rewards": [{"kind": "length"}]}))
    ppo = yaml_io.load(tmp_path / "run.yaml", ["ppo.batch_size=8"]).ppo
    assert (ppo.batch_size, ppo.minibatch_size, ppo.micro_batch_size) == (8, 8, 8)
    ppo = yaml_io.load(tmp_path / "run.yaml", ["ppo.batch_size=8", "ppo.minibatch_size=4"]).ppo
    assert (ppo.minibatch_size, ppo.micro_batch_size) == (4, 4)
    with pytest.raises(InvalidConfig, match="must divide batch_size 20, and 16 does not"):
        yaml_io.load(tmp_path / "run.yaml", ["ppo.batch_size=20"])


def test_all_problems_come_at_once_also_with_those_of_overrides(tmp_path):
    wrong = {"sed": 1, "kl": {"coef": -1}, "ppo": {"gamma": 2}, "rewards": [{"kind": "lenght"}]}
    assert {*fields_of(yaml_io.from_dict, wrong)} == {"sed", "kl.coef", "ppo.gamma", "rewards.0.kind"}
    path = tmp_path / "mine.yaml"
    path.write_text("rewards: [{kind: length}]\nkl: {coef: -1}\n")
    fields = fields_of(yaml_io.load, path, ["nonsense", "rewards.9.weight=1", "ppo.gama=1"])
    assert fields == ["nonsense", "rewards.9", "ppo.gama", "kl.coef"]
    with pytest.raises(InvalidConfig, match="No such file"):
        yaml_io.load(tmp_path / "none.yaml")


def test_differences_are_the_settings_that_differ_and_not_the_words():
    base, changed = yaml_io.from_dict(GOOD), yaml_io.from_dict(SAVED["other"])
    pairs = differences(changed, base)
    assert {name: list(values) for name, values in pairs.items()} == SAVED["differences"]
    assert differences(base, base) == {}


def test_every_knob_has_words_and_a_default_within_its_limits():
    assert {"seed", "model.source", "kl.coef", "ppo.learning_rate", "evaluation.num_prompts"} <= {*knobs()}
    for name, knob in knobs().items():
        assert knob["label"], name
        assert knob["help"].endswith("."), name
        if knob["slider"] and knob["default"] is not None:
            low, high, _ = knob["slider"]
            assert low <= knob["default"] <= high, name
            assert knob["minimum"] is None or knob["minimum"] <= low, name
            assert knob["maximum"] is None or high <= knob["maximum"], name


def test_steering_is_read_by_its_own_method_alone():
    assert methods.unused("ppo", "steering.strength")
    assert not methods.unused("steer", "steering.strength")
    assert methods.unused("steer", "kl.coef")
    assert not methods.unused("steer", "ppo.samples_per_prompt")
    config = yaml_io.from_dict({**GOOD, "method": "steer", "steering": {"layer": None, "strength": -2}})
    assert (config.ppo.samples_per_prompt, config.steering.layer, config.steering.strength) == (8, None, -2.0)


POSSIBLE_ANYWHERE = {*FAULTS} - {"headless-critic", "reward-format", "chapter-controller"}


def drawn(seed=0, **changes):
    base = {"rewards": [{"kind": "sentiment"}], "experiments": True, "faults": [DRAWN], "seed": seed}
    return config_with(base, changes)


def possible(**changes):
    """Those that are drawn on some seed."""
    config = drawn(**changes)
    return {fault for seed in range(400) for fault in config.model_copy(update={"seed": seed}).planted}


def test_a_drawn_mistake_stands_alone_and_needs_experiments():
    with pytest.raises(InvalidConfig, match="has to be alone"):
        drawn(faults=[DRAWN, "reward-sign"])
    with pytest.raises(InvalidConfig, match="experiments: true"):
        drawn(experiments=False)
    with pytest.raises(InvalidConfig, match="own PPO only"):
        drawn(method="rloo")


def test_only_what_the_settings_allow_is_drawn():
    assert possible() == POSSIBLE_ANYWHERE | {"headless-critic"}
    assert possible(kl__controller="ziegler") == POSSIBLE_ANYWHERE | {"headless-critic", "chapter-controller"}
    judge = [{"kind": "model", "source": "pocket-agreeable"}]
    assert possible(rewards=judge) == POSSIBLE_ANYWHERE | {"headless-critic", "reward-format"}


def test_each_mistake_is_drawn_about_as_often():
    config, seeds = catalog.preset("mystery"), 4000
    counts = Counter(config.model_copy(update={"seed": seed}).planted[0] for seed in range(seeds))
    assert len(counts) == 8
    share = 1 / 8
    four_errors = 4 * (seeds * share * (1 - share)) ** 0.5
    assert all(abs(count - seeds * share) < four_errors for count in counts.values())


def test_the_seed_decides_a_draw_and_another_setting_changes_it_only_where_it_has_to():
    assert drawn(7).planted == drawn(7).planted
    assert len(drawn(7).planted) == 1
    assert drawn(faults=["reward-sign", "no-clip"]).planted == ("reward-sign", "no-clip")
    assert catalog.preset("kinder-reviews").planted == ()
    for seed in range(100):
        (mistake,), (other,) = (drawn(seed, kl__controller=name).planted for name in ("ziegler", "adaptive"))
        assert mistake in (other, "chapter-controller")


def test_what_is_said_of_a_run_with_a_drawn_mistake_names_none():
    for seed in range(40):
        config = drawn(seed)
        said = config.to_yaml() + describe.wrong_on_purpose(config)
        assert "One mistake is planted; which one is for you to find" in said
        assert not any(fault in said or words in said for fault, words in FAULTS.items())
