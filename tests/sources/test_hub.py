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

from playground.errors import ModelNotFound, ModelNotHere
from playground.sources import hub
from tests.hub_server import COMMIT
from tests.hub_server import hub as serve
from tests.model_folders import NUM_WEIGHTS, hub_cache, model_folder, write_json
from tests.support import PROJECT


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("HF_HUB_CACHE", str(folder))
    return folder


def asked(code: str, address: str, cache: Path) -> Any:
    """What an expression of `hub` gives in a process that may use the network of this machine."""
    program = (
        "import json\nfrom playground.config import yaml_io\nfrom playground.setup import catalog, checks\n"
        "from playground.sources import hub\n"
        "from playground.errors import PlaygroundError\n"
        f"try:\n    answer = {code}\nexcept PlaygroundError as error:\n"
        "    answer = [type(error).__name__, str(error)]\nprint(json.dumps(answer, default=str))"
    )
    environment = {**os.environ, "HF_HUB_CACHE": str(cache), "HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0",
                   "TRANSFORMERS_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(cache)}  # fmt: skip
    environment.pop("HF_TOKEN", None)
    answer = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=120
    )
    assert answer.returncode == 0, answer.stderr[-3000:]
    return json.loads(answer.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("someone/tiny-1.5B_x", "someone/tiny-1.5B_x"),
        ("gpt2", "openai-community/gpt2"),
        ("pocket-2m", None),
        ("no/such/folder", None),
        ("../x", None),
        ("a/..", None),
        ("~me/x", None),
        ("a--b/c", None),
        ("https://x.y/z", None),
    ],
)
def test_what_can_be_an_id_of_the_hub(source: str, name: str | None) -> None:
    assert hub.repository(source) == name


def test_a_complete_snapshot_is_found_by_branch_and_by_commit(cache: Path) -> None:
    folder = model_folder(hub_cache(cache, "someone/tiny", "a" * 40, "v1"))
    assert hub.cached("someone/tiny", "v1") == hub.cached("someone/tiny", "a" * 40) == folder
    assert hub.cached("someone/tiny") is None  # there is no main
    assert hub.cached("someone/other") is None
    with pytest.raises(ModelNotFound, match="cannot be a revision"):
        hub.cached("someone/tiny", "../../x")


def test_an_old_name_is_found_under_both(cache: Path) -> None:
    folder = model_folder(hub_cache(cache, "gpt2"))
    assert hub.cached("gpt2") == folder
    assert hub.cached("openai-community/gpt2") is None


def test_a_download_that_was_broken_off_does_not_count_as_there(cache: Path) -> None:
    folder = model_folder(hub_cache(cache, "someone/tiny"))
    (folder / "model.safetensors").unlink()
    write_json(folder / "model.safetensors.index.json", {"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})
    (folder / "1.safetensors").touch()
    assert hub.cached("someone/tiny") is None
    (folder / "2.safetensors").touch()
    assert hub.cached("someone/tiny") == folder


def test_offline_nothing_is_asked(cache: Path) -> None:
    for ask in (hub.facts, hub.snapshot):
        with pytest.raises(ModelNotHere, match="HF_HUB_OFFLINE forbids to download it"):
            ask("someone/tiny")


def test_facts_before_a_download_and_the_download(tmp_path: Path, cache: Path) -> None:
    folder = model_folder(tmp_path / "tiny")
    for name in ("pytorch_model.bin", "modeling.py", "README.md"):
        (folder / name).write_text("x" * 1000)
    (folder / "merges.txt").write_text("")
    with serve({"someone/tiny": folder}) as address:
        facts = asked("hub.facts('someone/tiny').__dict__", address, cache)
        assert (facts["licence"], facts["gated"], facts["commit"]) == ("mit", False, COMMIT)
        wanted = [folder / name for name in ("config.json", "tokenizer.json", "model.safetensors", "merges.txt")]
        assert facts["download_bytes"] == sum(file.stat().st_size for file in wanted)
        assert f"parameters={NUM_WEIGHTS})" in facts["architecture"]
        told = "(lambda seen: [hub.snapshot('someone/tiny', None, seen.append), seen[0]])([])"
        path, first = asked(told, address, cache)
    # only what is safe is fetched
    assert sorted(file.name for file in Path(path).iterdir()) == sorted(file.name for file in wanted)
    assert first == "downloading someone/tiny: 0 of 0 MB"
    assert hub.cached("someone/tiny") == Path(path)


def test_a_download_can_be_broken_off(tmp_path: Path, cache: Path) -> None:
    code = "(lambda stop: hub.snapshot('someone/tiny', None, stop))(lambda text: next(iter(())))"
    program = f"(lambda: [1 for _ in [0] if {code}])()"
    with (
        serve({"someone/tiny": model_folder(tmp_path / "tiny")}) as address,
        pytest.raises(AssertionError, match="StopIteration"),
    ):
        asked(program, address, cache)


def test_every_refusal_of_the_hub_is_a_sentence(tmp_path: Path, cache: Path) -> None:
    good, pickled = model_folder(tmp_path / "good"), model_folder(tmp_path / "pickled")
    coded = model_folder(tmp_path / "coded", auto_map={"AutoModel": "x.Y"})
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    models = {"a/good": good, "a/pickled": pickled, "a/coded": coded, "a/gated": good}
    with serve(models, gated=("a/gated",)) as address:
        calls = ["'a/none'", "'a/good', 'v9'", "'a/pickled'", "'a/coded'", "'a/gated'"]
        answers = [asked(f"hub.facts({call}).__dict__", address, cache) for call in calls]
        config = "yaml_io.from_dict({'rewards': [{'kind': 'length'}], 'model': {'source': %r}})"
        reached = [asked(f"checks.out_of_reach({config % source})", address, cache) for source in ("a/good", "a/none")]
    assert [kind for kind, _ in answers] == ["ModelNotFound"] * 5
    expected = ["There is no model a/none on the hub", "has no revision `v9`", "has no safetensors on the hub",
                "code of its own", "a/gated is gated: accept its terms"]  # fmt: skip
    for (_, message), words in zip(answers, expected, strict=True):
        assert words in message and "\n" not in message
    assert reached[0] == [] and reached[1][0][0] == "model.source" and expected[0] in reached[1][0][1]
    kind, message = asked("hub.facts('a/good').__dict__", "http://127.0.0.1:9", cache / "none")
    assert kind == "ModelNotHere" and "the hub cannot be reached" in message
