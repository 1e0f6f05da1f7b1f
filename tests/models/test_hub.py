"""Models of the hub: what lies in its cache, what it says before a download, the download, and every way it can fail.

The hub's own library talks to a server on this machine, in a process of its own, because it reads its settings once.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from playground.errors import ModelNotFound
from playground.models import hub
from tests.hub_server import hub as serve
from tests.model_folders import NUM_WEIGHTS, hub_cache, model_folder, write_json
from tests.support import PROJECT, data_beside

SETTINGS = {"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": ""}
TABLES = data_beside(__file__, "tables.yaml")
PROGRAM = Path(__file__).with_name("hub.py.txt").read_text(encoding="utf-8")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    return folder


def asked(address, cache, *codes):
    """What some expressions give in a process that may use the network of this machine."""
    environment = {**os.environ, **SETTINGS, "HF_HUB_CACHE": str(cache), "HF_HOME": str(cache), "HF_ENDPOINT": address}
    command = [sys.executable, "-c", PROGRAM, *codes]
    answer = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr[-3000:]
    return dict(zip(codes, map(json.loads, answer.stdout.splitlines()), strict=True))


@pytest.mark.parametrize(("source", "name"), TABLES["repositories"])
def test_only_owner_and_name_can_be_an_id_of_the_hub(source, name):
    assert hub.repository(source) == name


def test_a_complete_snapshot_is_found_by_branch_and_by_commit_and_one_broken_off_is_not_there(cache):
    folder = model_folder(hub_cache(cache, "someone/tiny", "a" * 40, "v1"))
    assert hub.cached("someone/tiny", "v1") == hub.cached("someone/tiny", "a" * 40) == folder
    assert hub.cached("someone/tiny") is hub.cached("someone/other") is None  # there is no main
    with pytest.raises(ModelNotFound, match="cannot be a revision"):
        hub.cached("someone/tiny", "../../x")
    old = model_folder(hub_cache(cache, "openai-community/gpt2"))
    assert hub.cached("gpt2") == old
    folder = model_folder(hub_cache(cache, "someone/broken"))
    (folder / "model.safetensors").unlink()
    write_json(folder / "model.safetensors.index.json", {"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})
    (folder / "1.safetensors").touch()
    assert hub.cached("someone/broken") is None
    (folder / "2.safetensors").touch()
    assert hub.cached("someone/broken") == folder


REFUSALS = TABLES["refusals"]
FACTS, STOPPED, DOWNLOAD = "hub.facts('a/tiny')._asdict()", "download('a/tiny')", "download('a/tiny', [])"
REACH = ["reach('a/tiny')", "reach('a/none')"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hub")


@pytest.fixture(scope="module")
def answers(folder):
    """What a process that asks a hub with a good model and four others is told."""
    tiny, pickled = model_folder(folder / "tiny"), model_folder(folder / "pickled")
    coded = model_folder(folder / "coded", auto_map={"AutoModel": "x.Y"})
    for name in ("pytorch_model.bin", "modeling.py", "README.md"):
        (tiny / name).write_text("x" * 1000)
    (tiny / "merges.txt").write_text("")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    models = {"a/tiny": tiny, "a/pickled": pickled, "a/coded": coded, "a/gated": tiny}
    with serve(models, gated=("a/gated",)) as address:
        return asked(address, folder / "cache", FACTS, STOPPED, DOWNLOAD, *REFUSALS, *REACH)


def test_facts_come_before_a_download_and_only_what_is_safe_is_fetched(answers, folder, monkeypatch):
    facts, (path, first) = answers[FACTS], answers[DOWNLOAD]
    names = ["config.json", "merges.txt", "model.safetensors", "tokenizer.json"]
    assert (facts["licence"], facts["gated"]) == ("mit", False)
    assert facts["download_bytes"] == sum((folder / "tiny" / name).stat().st_size for name in names)
    assert f"parameters={NUM_WEIGHTS}, " in facts["architecture"]
    assert answers[STOPPED] == ["PlaygroundError", "stopped by who asked"]
    assert sorted(file.name for file in Path(path).iterdir()) == names
    assert first == "downloading a/tiny: 0 of 0 MB"
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "cache"))
    assert hub.cached("a/tiny") == Path(path)


@pytest.mark.parametrize(("code", "words"), REFUSALS.items())
def test_a_refusal_of_the_hub_is_a_sentence(answers, code, words):
    kind, message = answers[code]
    assert kind == "ModelNotFound"
    assert words in message
    assert "\n" not in message


def test_a_run_is_refused_by_its_field_where_the_hub_has_no_such_model(answers):
    there, ((field, _),) = (answers[code] for code in REACH)
    assert (there, field) == ([], "model.source")


def test_a_hub_that_cannot_be_reached_is_said(tmp_path):
    ((kind, message),) = asked("http://127.0.0.1:9", tmp_path, FACTS).values()
    assert kind == "ModelNotHere"
    assert "cannot be reached" in message
