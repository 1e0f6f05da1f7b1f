import hashlib
import json
import os

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from playground.runs.folder import checkpoints as run_checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.training.models import checkpoint_files
from playground.training.models.language_model import Critic
from tests.support import small_config
from tests.training import tiny


def save(folder, update, **more):
    model, facts = tiny.model(), {"update": update, "kl_coef": 0.1, **more}
    return checkpoint_files.save(folder / run_checkpoints.name_of(update), model, Critic(model), tiny.tokens(), facts)


def test_a_checkpoint_holds_weights_facts_and_a_manifest_that_matches(tmp_path):
    folder = save(tmp_path, 40)
    assert folder.name == "update-000040"
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    names = {path.name for path in folder.iterdir()} - {"MANIFEST.json"}
    assert {path.suffix for path in folder.iterdir()} == {".safetensors", ".json"}, "and no pickle"
    for a, b in zip(AutoModelForCausalLM.from_pretrained(folder).parameters(), tiny.model().parameters(), strict=True):
        assert torch.equal(a, b)
    assert names == set(manifest["files"]) >= {"model.safetensors", "critic.safetensors", "trainer.json", "config.json"}
    for name, facts in manifest["files"].items():
        data = (folder / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (facts["bytes"], facts["sha256"])
    assert json.loads((folder / "trainer.json").read_text()) == {"update": 40, "kl_coef": 0.1}
    assert set(load_file(folder / "critic.safetensors")) == {"value_head.linear.weight", "value_head.linear.bias"}


def test_there_is_a_whole_checkpoint_at_every_moment_in_which_one_is_replaced(tmp_path, monkeypatch):
    save(tmp_path, 5)
    rename, whole = os.rename, []

    def watched(*names):
        rename(*names)
        whole.append([path for path in tmp_path.iterdir() if not run_checkpoints.problem_of(path)])

    monkeypatch.setattr(os, "rename", watched)
    save(tmp_path, 5)
    assert len(whole) == 2
    assert all(whole)
    assert [path.name for path in tmp_path.iterdir()] == ["update-000005"]


def test_the_newest_and_the_best_stay_and_one_saved_again_is_replaced(tmp_path):
    for update, value in enumerate([0.5, 2.5, None, 1.5, float("nan"), 2.0], 1):
        save(tmp_path, update, **{run_checkpoints.BEST_BY: value})
    save(tmp_path, 6, **{run_checkpoints.BEST_BY: 2.0})
    (tmp_path / ".tmp-update-000020-1").mkdir()  # what a crash leaves
    run_checkpoints.prune(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["update-000002", "update-000005", "update-000006"]
    save(tmp_path, 7, **{run_checkpoints.BEST_BY: 2.5})  # as good, and newer
    run_checkpoints.prune(tmp_path, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["update-000007"]


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "MANIFEST.json", "a\\b", "a\0b"])
def test_a_manifest_with_names_that_lead_elsewhere_is_refused(tmp_path, name):
    folder = save(tmp_path, 1)
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    manifest["files"][name] = {"bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}
    (folder / "MANIFEST.json").write_text(json.dumps(manifest))
    assert "damaged" in run_checkpoints.problem_of(folder)


def test_files_that_are_not_listed_links_and_other_updates_are_problems(tmp_path):
    folder = save(tmp_path, 1)
    assert run_checkpoints.problem_of(folder) == ""
    moved = folder.rename(tmp_path / "update-000002")
    assert run_checkpoints.problem_of(moved) == "its trainer.json is of another update"
    folder = moved.rename(folder)
    (folder / "more.txt").touch()
    assert run_checkpoints.problem_of(folder) == "more.txt is not named in its MANIFEST.json"
    (folder / "more.txt").unlink()
    weights = folder / "model.safetensors"
    weights.rename(tmp_path / "elsewhere")
    weights.symlink_to(tmp_path / "elsewhere")
    assert run_checkpoints.problem_of(folder) == "model.safetensors is not a plain file"
    (tmp_path / "update-000009").symlink_to(folder)
    assert run_checkpoints.problem_of(tmp_path / "update-000009") == "it is a link"


def test_a_setting_that_a_later_version_has_is_no_change_of_a_run(tmp_path):
    run = RunDirectory.create(tmp_path, small_config(), "r")
    assert run_checkpoints.is_of({"config_sha256": run_checkpoints.digest(run.config())}, run, run.config())
    again = small_config(model={"gradient_checkpointing": True})
    assert run_checkpoints.digest_of_objective(again) == run_checkpoints.digest_of_objective(small_config())
    older = run.config_path.read_text().replace("trackers: []\n", "")
    facts = {"config_sha256": hashlib.sha256(older.encode()).hexdigest()}
    for text, same in ((older, True), (older.replace("seed: 0", "seed: 1"), False)):
        run.config_path.write_text(text)
        assert run_checkpoints.is_of(facts, run, run.config()) is same
