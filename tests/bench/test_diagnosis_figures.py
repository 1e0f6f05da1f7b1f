"""What `make diagnosis` has measured: planted faults raise their own alerts on three seeds, healthy presets none."""

import pytest

from bench import diagnosis
from playground.config.faults import FAULTS
from tests.bench import recorded

FIGURES = recorded("diagnosis")
RAISED_ON_PURPOSE = {  # what the unhealthy presets are there to show
    "no-leash": {"kl-runaway", "strange-texts"},
    "chatterbox": {"length"},
}


def rows(name):
    of_run = [row for row in FIGURES["runs"] if row["run"] == name]
    assert [row["seed"] for row in of_run] == [0, 1, 2]
    return of_run


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_raises_its_own_alert_within_40_updates(fault):
    assert all(0 < (row["since"] or 99) <= 40 for row in rows(fault))


@pytest.mark.parametrize("preset", diagnosis.HEALTHY)
def test_a_healthy_preset_raises_no_red_alert(preset):
    for row in rows(preset):
        if preset in RAISED_ON_PURPOSE:
            assert RAISED_ON_PURPOSE[preset] <= {*row["red"]}
        else:
            assert not row["red"]
            assert row["amber"] in ([], ["flat"])[: 1 + (preset == "short-leash")]


@pytest.mark.parametrize("run", diagnosis.REMEDIED)
def test_a_remedy_that_an_alert_offers_ends_the_alert(run):
    red: dict[str, list[int | None]] = {}
    for row in FIGURES["remedies"]:
        if row["run"] == run:
            assert row["lamp"] == diagnosis.REMEDIED[run]
            red.setdefault(row["remedy"], []).append(row["red"])
    assert [None, None, None] in red.values()
