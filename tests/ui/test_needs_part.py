"""What a run needs, as the page shows it: an estimate, or why there is none; and the choices of model and device."""

from pathlib import Path

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog, checks
from playground.ui.train import needs_part
from tests.support import small_config, update_metrics


def needs(config, outputs, base=None):
    return needs_part.needs(config, base or config, outputs)


def test_the_panel_gets_the_estimate_or_the_reason_why_there_is_none(tmp_path: Path, monkeypatch):
    assert needs(small_config(), tmp_path)["problem"] == ""
    assert "cuda:77" in needs(small_config(device="cuda:77"), tmp_path)["problem"]
    suggested = catalog.preset("tinyllama-1.1b-chat")
    monkeypatch.setattr(checks, "require_in_reach", lambda config, outputs: None)  # as if the hub could be asked
    found = needs(suggested, tmp_path)
    assert found["problem"] == "" and found["download"]["source"] == "TinyLlama/TinyLlama-1.1B-Chat-v1.0"


@pytest.mark.parametrize(
    "named",
    [
        {"model": {"source": "TinyLlama/TinyLlama-1.1B-Chat-v1.0"}},
        {"rewards": [{"kind": "model", "source": "someone/judge"}]},
    ],
)
def test_a_model_that_cannot_be_had_is_never_said_to_fit(tmp_path: Path, named):
    """Also one of which all measures are known because it is suggested."""
    found = needs(small_config(**named), tmp_path)
    assert "HF_HUB_OFFLINE forbids" in found["problem"] and "verdict" not in found


def test_a_chosen_model_is_offered_what_fits_it_and_the_presets_own_is_not(tmp_path: Path):
    base = catalog.preset("kinder-reviews")
    smaller = base.model_copy(update={"model": base.model.model_copy(update={"source": "pocket-1m"})})
    assert needs(smaller, tmp_path, base)["fit"] is None  # it fits
    off = smaller.model_copy(update={"ppo": base.ppo.model_copy(update={"learning_rate": 0.05})})
    found = needs(off, tmp_path, base)
    assert found["model"] == "pocket-1m" and found["fit"]["own"] is True
    assert found["fit"]["values"] == {"ppo.learning_rate": 2e-4}
    assert [(item["label"], item["after"]) for item in found["fit"]["differences"]] == [("Learning rate", "0.0002")]
    assert needs(off, tmp_path)["fit"] is None


def test_the_panel_has_the_time_that_a_finished_run_of_the_model_took(tmp_path: Path):
    config = small_config(device="cpu")
    assert needs(config, tmp_path)["as_last_runs"] is False
    writer = RunWriter(RunDirectory.create(tmp_path, config, "one"), num_updates=3)
    for update in (1, 2, 3):
        writer.metrics(update_metrics(update, seconds_rollout=500.0, seconds=2000.0 * update))
    writer.finish("finished")
    found = needs(config, tmp_path)
    assert found["as_last_runs"] is True
    assert found["seconds_per_update"][0] < 500 < found["seconds_per_update"][1]
    assert found["seconds"][0] < 6000 < found["seconds"][1]


def test_the_pickers_offer_what_ships_what_was_used_what_the_hub_has_and_the_devices_here(tmp_path: Path):
    for source in ("openai-community/gpt2", "someone/tiny"):
        RunDirectory.create(tmp_path, small_config(model={"source": source}))
    offered = needs_part.model_choices(tmp_path)
    names = [name for _, name in offered]
    assert names[:4] == ["pocket-2m", "pocket-1m", "pocket-2m-yes-man", "someone/tiny"]
    assert len(names) == len(set(names)) == 4 + len(catalog.CURATED)
    assert ("GPT-2 (hub, 548 MB)", "openai-community/gpt2") in offered
    devices = [name for _, name in needs_part.device_choices()]
    assert devices[0] == "auto" and "cpu" in devices
