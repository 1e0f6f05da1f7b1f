import hashlib
import json

import torch
from safetensors.torch import load_file

from playground.runs import checkpoints as run_checkpoints
from playground.training import checkpoints
from playground.training.models import Critic
from tests.training import tiny


def save(folder, update: int):
    model = tiny.model()
    return checkpoints.save(folder, update, model, Critic(model), tiny.tokens(), {"kl_coef": 0.1})


def test_a_checkpoint_holds_weights_facts_and_a_manifest_that_matches(tmp_path):
    folder = save(tmp_path, 40)
    assert folder.name == "update-000040"
    manifest = json.loads((folder / "MANIFEST.json").read_text())
    names = {path.name for path in folder.iterdir()} - {"MANIFEST.json"}
    assert names == set(manifest["files"]) >= {"model.safetensors", "critic.safetensors", "trainer.json", "config.json"}
    for name, facts in manifest["files"].items():
        data = (folder / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (facts["bytes"], facts["sha256"])
    assert json.loads((folder / "trainer.json").read_text()) == {"update": 40, "kl_coef": 0.1}
    assert set(load_file(folder / "critic.safetensors")) == {"value_head.linear.weight", "value_head.linear.bias"}


def test_plain_transformers_loads_it_and_finds_the_same_weights(tmp_path):
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(save(tmp_path, 1))
    for a, b in zip(loaded.parameters(), tiny.model().model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_saving_the_same_update_again_replaces_it_and_pruning_keeps_the_newest(tmp_path):
    for update in (5, 10, 10, 15):
        save(tmp_path, update)
    (tmp_path / ".tmp-update-000020-1").mkdir()  # what a crash leaves
    run_checkpoints.prune(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["update-000010", "update-000015"]


def test_no_pickle_is_written(tmp_path):
    for path in save(tmp_path, 1).iterdir():
        assert path.suffix in (".safetensors", ".json")
