"""Which of several processes a worker is, by the environment that its launcher has made."""

import pytest

from playground.errors import InvalidConfig
from playground.runs import launched
from tests.support import data_beside


@pytest.mark.parametrize(("environment", "expected"), data_beside(__file__, "launched.yaml"))
def test_the_environment_says_which_process_this_is(environment, expected):
    found = launched.of_environment({name: str(value) for name, value in environment.items()})
    assert (list(found) if found else found) == expected


def test_half_an_environment_is_refused_and_one_of_our_own_launcher_counts_for_nothing(monkeypatch):
    half = {"WORLD_SIZE": "4", "RANK": "1"}
    with pytest.raises(InvalidConfig, match=r"ranks: WORLD_SIZE says that this is one of 4 processes, but .*MASTER_"):
        launched.of_environment(half)
    assert launched.of_environment(half, by_hand=False) is None
    member = launched.Launched(3, 4, 1, "node07", 29500)
    for handed in (member, None):
        monkeypatch.setenv(launched.VARIABLE, "")
        launched.hand_down(handed)
        assert launched.of_environment(dict(launched.os.environ), by_hand=False) == handed
