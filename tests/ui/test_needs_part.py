"""What a run needs, as the page is told: an estimate, or why there is none; and the pickers of model and device."""

from pathlib import Path

import pytest

from playground.errors import InvalidConfig, Problem
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog, checks
from playground.ui.train import needs_part
from tests.support import small_config, update_metrics


def read(config, base=None):
    return lambda: (base or config, config)


def test_the_panel_gets_the_estimate_or_the_reason_why_there_is_none(tmp_path: Path, monkeypatch):
    assert needs_part.needs(read(small_config()), tmp_path)["problem"] == ""
    elsewhere = small_config(device="cuda:77")
    assert needs_part.needs(read(elsewhere), tmp_path)["problem"].startswith("There is no cuda:77")
    suggested = catalog.preset("tinyllama-1.1b-chat")
    monkeypatch.setattr(checks, "out_of_reach", lambda config, outputs: [])  # as if the hub could be asked
    found = needs_part.needs(read(suggested), tmp_path)
    assert found["problem"] == "" and found["download"]["source"] == "TinyLlama/TinyLlama-1.1B-Chat-v1.0"


@pytest.mark.parametrize("part", ["model", "rewards"])
def test_a_model_that_cannot_be_had_is_never_said_to_fit(tmp_path: Path, part):
    """Also one of which all measures are known because it is suggested."""
    named = {
        "model": {"model": {"source": "TinyLlama/TinyLlama-1.1B-Chat-v1.0"}},
        "rewards": {"rewards": [{"kind": "model", "source": "someone/judge"}]},
    }[part]
    found = needs_part.needs(read(small_config(**named)), tmp_path)
    assert "HF_HUB_OFFLINE forbids" in found["problem"] and "verdict" not in found


def test_a_chosen_model_is_offered_what_fits_it_and_the_presets_own_is_not(tmp_path: Path):
    base = catalog.preset("kinder-reviews")
    smaller = base.model_copy(update={"model": base.model.model_copy(update={"source": "pocket-1m"})})
    assert needs_part.needs(read(smaller, base), tmp_path)["fit"] is None  # it fits
    whole = base.ppo.model_copy(update={"learning_rate": 0.05})
    off = smaller.model_copy(update={"ppo": whole})
    found = needs_part.needs(read(off, base), tmp_path)
    assert found["model"] == "pocket-1m" and found["fit"]["own"] is True
    assert found["fit"]["values"] == {"ppo.learning_rate": 2e-4}
    assert [(item["label"], item["after"]) for item in found["fit"]["differences"]] == [("Learning rate", "0.0002")]
    assert needs_part.needs(read(off, off), tmp_path)["fit"] is None


def test_the_panel_tells_the_time_that_a_finished_run_of_the_model_took(tmp_path: Path):
    config = small_config(device="cpu")
    assert needs_part.needs(read(config), tmp_path)["as_last_runs"] is False
    writer = RunWriter(RunDirectory.create(tmp_path, config, "one"), num_updates=3)
    for update in (1, 2, 3):
        writer.metrics(update_metrics(update, seconds_rollout=500.0, seconds=2000.0 * update))
    writer.finish("finished")
    found = needs_part.needs(read(config), tmp_path)
    assert found["as_last_runs"] is True
    assert found["seconds_per_update"][0] < 500 < found["seconds_per_update"][1]
    assert found["seconds"][0] < 6000 < found["seconds"][1]


def test_the_panel_stays_as_it_is_while_a_setting_is_wrong(tmp_path: Path):
    def refuse():
        raise InvalidConfig([Problem("seed", "no")])

    assert needs_part.needs(refuse, tmp_path) == {"__type__": "update"}


def test_the_picker_offers_what_ships_what_was_used_and_what_the_hub_has(tmp_path: Path):
    for source in ("openai-community/gpt2", "someone/tiny"):
        RunDirectory.create(tmp_path, small_config(model={"source": source}))
    offered = needs_part.model_choices(tmp_path)
    names = [name for _, name in offered]
    assert names[:4] == ["pocket-2m", "pocket-1m", "pocket-2m-yes-man", "someone/tiny"]
    assert len(names) == len(set(names)) == 4 + len(catalog.CURATED)
    assert ("GPT-2 (hub, 548 MB)", "openai-community/gpt2") in offered


@pytest.mark.parametrize("value", ["auto", "cuda:9"])
def test_the_device_picker_offers_what_is_there_and_keeps_what_was_chosen(value: str):
    picker = needs_part.device_picker(value, "x")
    names = [name for _, name in picker.choices]
    assert names[0] == "auto" and "cpu" in names
    assert picker.value == value
