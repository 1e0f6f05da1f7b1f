"""`reward-train` for real, from pairs to a folder."""

import json

import pytest

from playground import cli


def test_pairs_become_a_reward_model(outputs, forked_workers):
    settings = ("pairs.limit=60", "max_steps=4", "batch_size=8", "device=cpu")
    arguments = [
        "--base",
        "pocket-1m",
        "--name",
        "real",
        *(part for setting in settings for part in ("--set", setting)),
    ]
    with pytest.raises(SystemExit) as leaving:
        cli.main(["reward-train", *arguments, "--outputs", str(outputs)])
    assert not leaving.value.code
    folder = outputs / "reward-models" / "real"
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "reward.json", "README.md"} <= names
    assert json.loads((folder / "reward.json").read_text())["pairs"]["kept"] == 60
