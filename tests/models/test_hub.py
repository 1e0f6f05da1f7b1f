"""Models of the hub: what lies in its cache, what it says before a download, the download, and every way it can fail.

The hub's own library talks to a server on this machine, in a process of its own, because it reads its settings once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from playground.errors import ModelNotFound
from playground.models import hub
from tests.hub_server import hub as serve
from tests.model_folders import NUM_WEIGHTS, hub_cache, model_folder, write_json
from tests.support import PROJECT

SETTINGS = {"HF_HUB_OFFLINE": "0", "TRANSFORMERS_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": ""}
PROGRAM = """
import json, sys
from playground.config import yaml_io
from playground.errors import PlaygroundError
from playground.setup import checks
from playground.models import hub

def reach(source):
    config = yaml_io.from_dict({"rewards": [{"kind": "length"}], "model": {"source": source}})
    return checks.model_problems(checks.needs(config), ask_hub=True)

def download(source, seen=None):
    def progress(text):
        if seen is None:
            raise PlaygroundError("stopped by who asked")
        seen.append(text)
    return [hub.snapshot(source, None, progress), seen[0]]

for code in sys.argv[1:]:
    try:
        answer = eval(code)
    except PlaygroundError as error:
        answer = [type(error).__name__, str(error)]
    print(json.dumps(answer, default=str))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    return folder


def asked(address: str, cache: Path, *codes: str) -> list[Any]:
    """What some expressions give in a process that may use the network of this machine."""
    environment = {**os.environ, **SETTINGS, "HF_HUB_CACHE": str(cache), "HF_HOME": str(cache), "HF_ENDPOINT": address}
    command = [sys.executable, "-c", PROGRAM, *codes]
    answer = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr[-3000:]
    return [json.loads(line) for line in answer.stdout.splitlines()]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("someone/tiny-1.5B_x", "someone/tiny-1.5B_x"),
        ("gpt2", "openai-community/gpt2"),
        *((source, None) for source in ("pocket-2m", "a/b/c", "../x", "a/..", "~me/x", "a--b/c", "https://x.y/z")),
    ],
)
def test_what_can_be_an_id_of_the_hub(source: str, name: str | None) -> None:
    assert hub.repository(source) == name


def test_a_complete_snapshot_is_found_by_branch_and_by_commit(cache: Path) -> None:
    folder = model_folder(hub_cache(cache, "someone/tiny", "a" * 40, "v1"))
    assert hub.cached("someone/tiny", "v1") == hub.cached("someone/tiny", "a" * 40) == folder
    assert hub.cached("someone/tiny") is hub.cached("someone/other") is None  # there is no main
    with pytest.raises(ModelNotFound, match="cannot be a revision"):
        hub.cached("someone/tiny", "../../x")
    old = model_folder(hub_cache(cache, "openai-community/gpt2"))
    assert hub.cached("gpt2") == old


def test_a_download_that_was_broken_off_does_not_count_as_there(cache: Path) -> None:
    folder = model_folder(hub_cache(cache, "someone/tiny"))
    (folder / "model.safetensors").unlink()
    write_json(folder / "model.safetensors.index.json", {"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})
    (folder / "1.safetensors").touch()
    assert hub.cached("someone/tiny") is None
    (folder / "2.safetensors").touch()
    assert hub.cached("someone/tiny") == folder


def test_facts_before_a_download_and_the_download(tmp_path: Path, cache: Path) -> None:
    folder = model_folder(tmp_path / "tiny")
    for name in ("pytorch_model.bin", "modeling.py", "README.md"):
        (folder / name).write_text("x" * 1000)
    (folder / "merges.txt").write_text("")
    wanted = [folder / name for name in ("config.json", "tokenizer.json", "model.safetensors", "merges.txt")]
    codes = ("hub.facts('a/tiny')._asdict()", "download('a/tiny')", "download('a/tiny', [])")
    with serve({"a/tiny": folder}) as address:
        facts, stopped, (path, first) = asked(address, cache, *codes)
    assert (facts["licence"], facts["gated"]) == ("mit", False)
    assert facts["download_bytes"] == sum(file.stat().st_size for file in wanted)
    assert f"parameters={NUM_WEIGHTS})" in facts["architecture"]
    assert stopped == ["PlaygroundError", "stopped by who asked"]
    # only what is safe is fetched
    assert sorted(file.name for file in Path(path).iterdir()) == sorted(file.name for file in wanted)
    assert first == "downloading a/tiny: 0 of 0 MB"
    assert hub.cached("a/tiny") == Path(path)


def test_every_refusal_of_the_hub_is_a_sentence(tmp_path: Path, cache: Path) -> None:
    good, pickled = model_folder(tmp_path / "good"), model_folder(tmp_path / "pickled")
    coded = model_folder(tmp_path / "coded", auto_map={"AutoModel": "x.Y"})
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    models = {"a/good": good, "a/pickled": pickled, "a/coded": coded, "a/gated": good}
    expected = {
        "'a/none'": "is not on the hub",
        "'a/good', 'v9'": "has no revision `v9`",
        "'a/pickled'": "has no safetensors",
        "'a/coded'": "its own code",
        "'a/gated'": "is gated",
    }
    codes = [f"hub.facts({call})._asdict()" for call in expected]
    with serve(models, gated=("a/gated",)) as address:
        *answers, reached, out = asked(address, cache, *codes, "reach('a/good')", "reach('a/none')")
    assert [kind for kind, _ in answers] == ["ModelNotFound"] * 5
    for (_, message), words in zip(answers, expected.values(), strict=True):
        assert words in message
        assert "\n" not in message
    assert reached == []
    assert out[0][0] == "model.source"
    ((kind, message),) = asked("http://127.0.0.1:9", cache / "none", "hub.facts('a/good')._asdict()")
    assert kind == "ModelNotHere"
    assert "cannot be reached" in message
