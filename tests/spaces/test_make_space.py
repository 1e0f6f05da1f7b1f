"""`make space`: the folder that it writes, and what it does not do. nightly/test_make_space.py has it meet a hub."""

import subprocess
from pathlib import Path

import huggingface_hub
import pytest

from bench import space
from tests import hub_server
from tests.hub_server import Post, Refused
from tests.support import PROJECT

NAME = "me/rlhf-playground"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("made") / "space"
    space.write(place, NAME)
    return place


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """`make space`: what it says, with its exit code at the end."""

    def call(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["space.py", *arguments, "--folder", str(tmp_path / "space")])
        code = space.main()
        said = capsys.readouterr()
        return f"{said.out}{said.err}[{code}]"

    return call


def posts(folder: Path) -> dict[str, Post]:
    """A push of the folder with git, which does what .gitattributes says."""
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    paths = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    names = [path.relative_to(folder).as_posix() for path in paths]
    asked = ["git", "check-attr", "--stdin", "-z", "filter"]
    answer = subprocess.run(
        asked, cwd=folder, input="\0".join(names), capture_output=True, text=True, check=True
    ).stdout
    fields = answer.split("\0")
    apart = {name for name, value in zip(fields[::3], fields[2::3], strict=False) if value == "lfs"}
    return {name: Post(path.read_bytes(), name in apart) for name, path in zip(names, paths, strict=True)}


def test_the_folder_can_be_pushed_as_it_is(folder):
    pushed = posts(folder)
    hub_server.check_push(pushed)
    assert sum(post.stored_apart for post in pushed.values()) > 100  # weights, recordings, a picture
    bare = {name: post._replace(stored_apart=False) for name, post in pushed.items()}
    with pytest.raises(Refused, match=r"binary files: .*\.safetensors"):
        hub_server.check_push(bare)


def test_the_folder_has_what_runs_and_nothing_else(folder):
    names = {path.name for path in folder.iterdir()} - {".git"}
    assert names == {*space.FILES, "README.md", ".gitattributes", "requirements.txt", space.THUMBNAIL}
    assert not [path for path in folder.rglob("*") if path.name == "__pycache__" or path.is_symlink()]
    readme = (folder / "README.md").read_text("utf-8")
    header = hub_server.header_of(readme)
    assert header["hardware"] == "zero-a10g"
    assert NAME in header["thumbnail"]
    assert "rlhf" in header["tags"]
    assert "HuggingFaceTB/SmolLM2-135M" in header["models"]
    assert len(readme) < 2_500


def test_the_folder_is_one_that_zerogpu_builds(folder):
    """By the facts of docs/spaces.md."""
    header = hub_server.header_of((folder / "README.md").read_text("utf-8"))
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


def test_without_a_token_nothing_leaves_the_machine(run, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(space, "upload", None)
    said = run(NAME)
    assert "Nothing was uploaded: there is no token" in said
    assert said.endswith("[0]")
    assert (tmp_path / "space" / "README.md").is_file()


@pytest.mark.parametrize("name", ["rlhf", "two/many/parts", "bad name/x", ""])
def test_a_name_that_cannot_be_is_refused_before_anything_is_written(name, run, tmp_path):
    said = run(name)
    assert said.startswith("SPACE: ")
    assert said.endswith("[2]")
    assert not (tmp_path / "space").exists()


def test_a_folder_of_somebody_else_is_left_as_it_is(run, tmp_path):
    theirs = tmp_path / "space" / "thesis.txt"
    theirs.parent.mkdir()
    theirs.write_text("mine")
    said = run(NAME)
    assert "was not made by this" in said
    assert said.endswith("[2]")
    assert theirs.read_text() == "mine"
