"""`make space`: the folder that it writes, how it is uploaded to a hub, and what is said of a hub's refusals."""

import contextlib
import subprocess

import huggingface_hub
import pytest

from bench import space
from tests.hub_server import TOKEN, Account, Space, header_of, serving
from tests.support import PROJECT

NAME = "me/rlhf-playground"


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


def test_the_folder_has_what_runs_and_nothing_else(folder):
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


def test_the_folder_is_one_that_zerogpu_builds(folder):
    """By the facts of docs/spaces.md."""
    header = header_of((folder / "README.md").read_text("utf-8"))
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
def hub(monkeypatch):
    """A free account, and the library as it would be with network and a login there."""
    account = Account()
    with serving(account.answer) as address:
        constants = huggingface_hub.constants
        for name, value in (("ENDPOINT", address), ("HF_HUB_OFFLINE", False), ("HF_HUB_DISABLE_XET", True)):
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield account


def test_a_free_account_gets_the_space_on_zerogpu_and_all_its_files(hub, run, tmp_path):
    output = run(NAME, "--caps", "all")
    assert f"Creates the public ZeroGPU Space {NAME}" in output
    assert "as me" in output
    space = hub.spaces[NAME]
    assert (space.sdk, space.hardware, space.variables) == ("gradio", "zero-a10g", {"PLAYGROUND_SPACE_CAPS": "all"})
    local = {path.relative_to(tmp_path / "space").as_posix(): path for path in (tmp_path / "space").rglob("*")}
    assert space.files == {name: path.read_bytes() for name, path in local.items() if path.is_file()}
    space.files["presets/of-yesterday.yaml"] = b"name: old"
    assert "Replaces the files of the Space" in run(NAME)
    assert "presets/of-yesterday.yaml" not in space.files
    assert "presets/kinder-reviews.yaml" in space.files
    assert space.hardware == "zero-a10g"
    assert len(hub.spaces) == 1


def test_what_the_hub_refuses_is_said_in_its_words(hub, run, monkeypatch):
    hub.spaces = {f"me/{number}": Space("gradio", "zero-a10g") for number in range(2)}
    output = run(NAME, code=1)
    assert "reached the number of ZeroGPU Spaces" in output
    assert "two ZeroGPU Spaces, PRO ten" in output
    assert NAME not in hub.spaces
    assert "don't have the rights" in run("someone/else", code=1)
    monkeypatch.setenv("HF_TOKEN", "hf_of_last_year")
    output = run(NAME, code=1)
    assert "Is the token still valid?" in output
    assert "hf_of_last_year" not in output


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
