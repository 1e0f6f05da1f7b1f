"""What a run needs, as the page is told: an estimate, or why there is none; and the pickers of model and device."""

from pathlib import Path

import pytest

from playground.config import yaml_io
from playground.errors import InvalidConfig, Problem
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.runs.start import used_models
from playground.setup import catalog
from playground.ui.train import needs_part
from tests.support import small_config, update_metrics


def test_the_panel_gets_the_estimate_or_the_reason_why_there_is_none(tmp_path: Path):
    found = needs_part.needs(lambda: catalog.preset("tinyllama-1.1b-chat"), tmp_path)
    assert found["problem"] == "" and found["download"]["source"] == "TinyLlama/TinyLlama-1.1B-Chat-v1.0"
    unknown = yaml_io.from_dict({"rewards": [{"kind": "length"}], "model": {"source": "someone/unknown"}})
    assert "HF_HUB_OFFLINE forbids" in needs_part.needs(lambda: unknown, tmp_path)["problem"]
    elsewhere = unknown.model_copy(update={"model": catalog.preset("gpt2").model, "device": "cuda:77"})
    assert needs_part.needs(lambda: elsewhere, tmp_path)["problem"].startswith("There is no cuda:77")


def test_the_panel_tells_the_time_that_a_finished_run_of_the_model_took(tmp_path: Path):
    config = small_config(device="cpu")
    assert needs_part.needs(lambda: config, tmp_path)["as_last_runs"] is False
    writer = RunWriter(RunDirectory.create(tmp_path, config, "one"), num_updates=3)
    for update in (1, 2, 3):
        writer.metrics(update_metrics(update, seconds_rollout=500.0, seconds=2000.0 * update))
    writer.finish("finished")
    found = needs_part.needs(lambda: config, tmp_path)
    assert found["as_last_runs"] is True
    assert found["seconds_per_update"][0] < 500 < found["seconds_per_update"][1]
    assert found["seconds"][0] < 6000 < found["seconds"][1]


def test_the_panel_stays_as_it_is_while_a_setting_is_wrong(tmp_path: Path):
    def read():
        raise InvalidConfig([Problem("seed", "no")])

    assert needs_part.needs(read, tmp_path) == {"__type__": "update"}


def test_the_picker_offers_what_ships_what_was_used_and_what_the_hub_has(tmp_path: Path):
    for source in ("openai-community/gpt2", "someone/tiny"):
        used_models.remember(tmp_path, source)
    offered = needs_part.model_choices(tmp_path)
    names = [name for _, name in offered]
    assert names[:3] == ["pocket-2m", "pocket-1m", "someone/tiny"]
    assert len(names) == len(set(names)) == 3 + len(catalog.CURATED)
    assert ("GPT-2 (hub, 548 MB)", "openai-community/gpt2") in offered


@pytest.mark.parametrize("value", ["auto", "cuda:9"])
def test_the_device_picker_offers_what_is_there_and_keeps_what_was_chosen(value: str):
    picker = needs_part.device_picker(value, "x")
    names = [name for _, name in picker.choices]
    assert names[0] == "auto" and "cpu" in names
    assert picker.value == value
