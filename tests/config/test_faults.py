"""The mistake that is drawn: by the seed, of those that are possible, and named nowhere."""

from collections import Counter

import pytest

from playground.config.faults import DRAWN, FAULTS
from playground.errors import InvalidConfig
from playground.setup import catalog, describe
from tests.support import config_with

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


def test_the_seed_decides_and_a_named_mistake_stays_what_it_is():
    assert drawn(7).planted == drawn(7).planted
    assert len(drawn(7).planted) == 1
    assert drawn(faults=["reward-sign", "no-clip"]).planted == ("reward-sign", "no-clip")
    assert catalog.preset("kinder-reviews").planted == ()


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


def test_another_setting_changes_a_draw_only_where_it_has_to():
    for seed in range(100):
        (mistake,), (other,) = (drawn(seed, kl__controller=name).planted for name in ("ziegler", "adaptive"))
        assert mistake in (other, "chapter-controller")


def test_what_is_said_of_a_run_with_a_drawn_mistake_names_none():
    for seed in range(40):
        config = drawn(seed)
        said = config.to_yaml() + describe.wrong_on_purpose(config)
        assert "One mistake is planted; which one is for you to find" in said
        assert not any(fault in said or words in said for fault, words in FAULTS.items())
