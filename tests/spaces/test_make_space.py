"""`make space`: the folder that it writes, how it is uploaded to a hub, and what is said of a hub's refusals."""

import contextlib
import subprocess
from unittest import mock

import httpx2
import huggingface_hub
import pytest
from huggingface_hub.errors import HfHubHTTPError

from bench import space
from tests.hub_server import header_of
from tests.support import PROJECT

NAME, TOKEN = "me/rlhf-playground", "hf_of_the_tests"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("made") / "space"
    space.write(place, NAME)
    return place


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """`make space`: what it says, where it ends with this exit code."""

    def call(*arguments, code=0):
        monkeypatch.setattr("sys.argv", ["space.py", *arguments, "--folder", str(tmp_path / "space")])
        assert space.main() == code
        output = capsys.readouterr()
        return output.out + output.err

    return call


def is_text(data):
    """As the hub sees it."""
    with contextlib.suppress(UnicodeDecodeError):
        return "\0" not in data.decode()
    return False


def test_the_folder_can_be_pushed_as_it_is(folder):
    """By git, which does what .gitattributes says: the hub takes what is not text, or large, through LFS only."""
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    names = "\0".join(path.relative_to(folder).as_posix() for path in files)
    command = ["git", "check-attr", "--stdin", "-z", "filter"]
    answer = subprocess.run(command, cwd=folder, input=names, capture_output=True, text=True, check=True).stdout
    apart = answer.split("\0")[2::3]
    for path, how in zip(files, apart, strict=True):
        data = path.read_bytes()
        assert how == "lfs" or (is_text(data) and len(data) <= 10 * 2**20), path
        assert not (path.suffix == ".safetensors" and is_text(data)), path
    assert apart.count("lfs") > 100  # weights, recordings, a picture


def test_the_folder_has_what_runs_and_nothing_else_and_is_one_that_zerogpu_builds(folder):
    names = {path.name for path in folder.iterdir()} - {".git"}
    assert names == {*space.FILES, "README.md", ".gitattributes", "requirements.txt", space.THUMBNAIL}
    assert not [path for path in folder.rglob("*") if path.name == "__pycache__" or path.is_symlink()]
    readme = (folder / "README.md").read_text("utf-8")
    header = header_of(readme)
    assert header["hardware"] == "zero-a10g"
    assert NAME in header["thumbnail"]
    assert "rlhf" in header["tags"]
    assert "HuggingFaceTB/SmolLM2-135M" in header["models"]
    assert len(readme) < 2_500
    # ZeroGPU builds it, by the facts of docs/spaces.md
    pins = space.pins(folder / "requirements.txt")
    torch = tuple(map(int, pins["torch"].split(".")[:2]))
    assert header["sdk"] == "gradio"
    assert header["python_version"] in ("3.10.13", "3.12.12")
    assert (2, 8) <= torch <= (2, 11)
    assert not {"gradio", "spaces", "huggingface_hub", "huggingface-hub"} & pins.keys()  # which the hub brings
    assert (folder / header["app_file"]).is_file()


def test_its_requirements_are_those_of_all_but_for_what_the_hub_brings_and_what_that_needs():
    usual, own = (space.pins(PROJECT / name) for name in ("requirements.txt", "requirements-zerogpu.txt"))
    converts = {"gguf"}  # files of one's own, which nobody has there
    assert usual.keys() - own.keys() == {"gradio", "huggingface_hub"} | converts
    assert not own.keys() - usual.keys()
    assert {name for name in own if own[name] != usual[name]} == {"torch", "pydantic"}


@pytest.fixture
def api(monkeypatch):
    """The hub's client, whose methods only take what the real ones take: of a free account without a Space."""
    client = mock.create_autospec(huggingface_hub.HfApi, instance=True)
    client.whoami.return_value = {"name": "me"}
    client.repo_exists.return_value = False
    monkeypatch.setattr(space, "HfApi", mock.Mock(return_value=client))
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return client


def test_a_free_account_gets_the_space_on_zerogpu_and_all_its_files(api, run, tmp_path):
    output = run(NAME, "--caps", "all")
    assert f"Creates the public ZeroGPU Space {NAME}" in output
    assert "as me" in output
    kind = {"repo_type": "space", "space_sdk": "gradio", "space_hardware": "zero-a10g", "exist_ok": True}
    assert api.create_repo.call_args == mock.call(NAME, **kind)
    assert api.add_space_variable.call_args == mock.call(NAME, "PLAYGROUND_SPACE_CAPS", "all")
    sent = api.upload_folder.call_args.kwargs
    assert (sent["repo_id"], sent["repo_type"], sent["folder_path"]) == (NAME, "space", tmp_path / "space")
    assert "presets/*" in sent["delete_patterns"], "those of yesterday go"
    api.repo_exists.return_value = True
    assert "Replaces the files of the Space" in run(NAME)


@pytest.mark.parametrize(("status", "words"), [(401, "still valid?"), (402, "PRO ten"), (403, "allowed to write")])
def test_what_the_hub_refuses_is_said_in_its_words_with_what_to_do(api, run, status, words):
    answer = httpx2.Response(status, request=httpx2.Request("POST", "https://hub.test"))
    api.create_repo.side_effect = HfHubHTTPError("In its words.", response=answer)
    output = run(NAME, code=1)
    assert "In its words." in output
    assert words in output
    assert TOKEN not in output
    assert not api.upload_folder.called


def test_without_a_token_nothing_leaves_the_machine(run, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(space, "upload", None)
    assert "Nothing was uploaded: there is no token" in run(NAME)
    assert (tmp_path / "space" / "README.md").is_file()


@pytest.mark.parametrize("name", ["rlhf", "two/many/parts", "bad name/x", ""])
def test_a_name_that_cannot_be_is_refused_before_anything_is_written(name, run, tmp_path):
    assert run(name, code=2).startswith("SPACE: ")
    assert not (tmp_path / "space").exists()


def test_a_folder_of_somebody_else_is_left_as_it_is(run, tmp_path):
    thesis = tmp_path / "space" / "thesis.txt"
    thesis.parent.mkdir()
    thesis.write_text("mine")
    assert "was not made by this" in run(NAME, code=2)
    assert thesis.read_text() == "mine"
