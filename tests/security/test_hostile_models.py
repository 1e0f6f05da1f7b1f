"""Model folders of strangers: refused with a sentence before anything of them is deserialised, run or downloaded."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from playground.errors import ModelNotFound
from playground.models import model_files
from playground.setup import catalog
from tests.figures import Figure
from tests.security import hostile_models
from tests.security.hostile_models import CONFIGS, FOLDERS, LATE, Hostile, build, canary
from tests.support import PROJECT

GATE_SECONDS = 2.0


def refusal(folder: Path) -> str:
    """What the gate says, in the time that it may take; empty if it lets the folder through."""
    clock = time.process_time()
    try:
        catalog.model_folder(str(folder))
        sentence = ""
    except ModelNotFound as error:
        sentence = str(error)
    assert time.process_time() - clock < GATE_SECONDS
    return sentence


def is_good(sentence: str, hostile: Hostile) -> bool:
    return hostile.words in sentence and "\n" not in sentence and len(sentence) < 1500


def test_hostile_folders_are_refused_by_name_before_anything_is_opened(tmp_path: Path, figure: Figure) -> None:
    bad = {}
    for hostile in FOLDERS:
        folder = build(hostile, tmp_path)
        sentence = refusal(folder)
        if not is_good(sentence, hostile) or canary(folder).exists():
            bad[hostile.name] = sentence
    assert bad == {}
    figure("hostile model folders refused by the gate", len(FOLDERS), len(FOLDERS) - len(bad))


def test_hostile_configurations_are_refused_by_the_field(tmp_path: Path, figure: Figure) -> None:
    said = {hostile: refusal(build(hostile, tmp_path)) for hostile in CONFIGS}
    bad = {hostile.name: sentence for hostile, sentence in said.items() if not is_good(sentence, hostile)}
    assert bad == {}
    figure("hostile model configurations refused by the gate", len(CONFIGS), len(CONFIGS) - len(bad))


def test_the_folder_that_all_of_them_are_made_of_is_good(tmp_path: Path) -> None:
    folder = build(Hostile("good", "", lambda folder: None), tmp_path)
    assert refusal(folder) == ""
    hostile_models.adapter(folder)
    assert refusal(folder) == ""


def test_left_overs_of_a_training_beside_good_weights_are_left_alone(tmp_path: Path) -> None:
    folder = build(Hostile("left", "", lambda folder: None), tmp_path)
    for name in ("rng_state.pth", "optimizer.pt", "scheduler.pt", "training_args.bin"):
        (folder / name).write_bytes(hostile_models.poison(folder))
    assert refusal(folder) == ""  # the test below shows that they are never opened
    (folder / "model.safetensors").unlink()
    assert "pickle file only" in refusal(folder)


def test_the_hub_s_own_links_into_its_store_are_followed(tmp_path: Path) -> None:
    folder = tmp_path / "models--a--b" / "snapshots" / "c0ffee"
    store = tmp_path / "models--a--b" / "blobs"
    store.mkdir(parents=True)
    shutil.copytree(hostile_models.SOURCE, folder)
    for path in list(folder.iterdir()):
        path.rename(store / path.name)
        path.symlink_to(f"../../blobs/{path.name}")
    assert model_files.inspect(folder).architecture.layers == 4
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("../../../elsewhere")
    (tmp_path / "elsewhere").write_bytes((store / "model.safetensors").read_bytes())
    with pytest.raises(ModelNotFound, match="leads out of its folder"):
        model_files.inspect(folder)


@pytest.mark.nightly
def test_loading_refuses_them_too_and_opens_connects_and_runs_nothing(tmp_path: Path, figure: Figure) -> None:
    """Policies and reward models, in one process with an audit hook."""
    good = build(Hostile("good", "", lambda folder: None), tmp_path)
    for name in ("rng_state.pth", "optimizer.pt", "training_args.bin"):
        (good / name).write_bytes(hostile_models.poison(good))
    hostile = (*FOLDERS, *CONFIGS, *LATE)
    folders = {str(build(item, tmp_path)): item for item in hostile}
    command = [sys.executable, "-m", "tests.security.load_hostile", str(good), *folders]
    answer = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=900)
    assert answer.returncode == 0, answer.stderr[-3000:]
    found = json.loads(answer.stdout.splitlines()[-1])
    assert found.pop(f"policy {good}")["sentence"] == ""
    assert found.pop(f"reward {good}")["seen"] == []
    bad = {
        kind_and_folder: one
        for kind_and_folder, one in found.items()
        if not one["sentence"] or one["seen"] or one["seconds"] > 30 or "\n" in one["sentence"]
    }
    assert bad == {}
    assert [folder for folder in folders if canary(Path(folder)).exists()] == []
    assert not canary(good).exists()
    figure("hostile models and configurations loaded as policy and as reward model", len(found), len(found) - len(bad))
