"""`make space`: the folder it writes, pushed with git or uploaded by huggingface_hub, against a hub that refuses."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import huggingface_hub
import pytest

from bench import space as made
from tests.spaces import hub
from tests.spaces.hub import TOKEN, Hub, Post, Refused, Space

NAME = "me/rlhf-playground"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made") / "space"
    made.write(place, NAME)
    return place


@pytest.fixture
def free_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub whose user has a free account, and the library as it would be with network and a login there."""
    with closing(Hub("free")) as served:
        constants = huggingface_hub.constants
        for name, value in (("ENDPOINT", served.url), ("HF_HUB_OFFLINE", False), ("HF_HUB_DISABLE_XET", True)):
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield served


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """`make space`: what it says, with its exit code at the end."""

    def call(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["space.py", *arguments, "--folder", str(tmp_path / "space")])
        code = made.main()
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


def test_the_folder_can_be_pushed_as_it_is(folder: Path, tmp_path: Path) -> None:
    pushed = posts(folder)
    hub.pushed(pushed)
    assert sum(post.stored_apart for post in pushed.values()) > 100  # weights, recordings, a picture
    bare = {name: post._replace(stored_apart=False) for name, post in pushed.items()}
    with pytest.raises(Refused, match=r"binary files: .*\.safetensors"):
        hub.pushed(bare)


def test_the_folder_has_what_runs_and_nothing_else(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()} - {".git"}
    assert names == {*made.FILES, "README.md", ".gitattributes", "requirements.txt", made.THUMBNAIL}
    assert not [path for path in folder.rglob("*") if path.name == "__pycache__" or path.is_symlink()]
    found = hub.header_of((folder / "README.md").read_text("utf-8"))
    assert found["hardware"] == "zero-a10g"
    assert NAME in found["thumbnail"]
    assert "rlhf" in found["tags"]
    assert "HuggingFaceTB/SmolLM2-135M" in found["models"]
    assert len((folder / "README.md").read_text("utf-8")) < 2_500


def test_the_hub_would_build_it(folder: Path) -> None:
    assert hub.build_problems(folder, "zero-a10g") == []


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("README.md", "3.12.12", "3.12", "python_version"),
        ("README.md", "sdk: gradio", "sdk: docker", "sdk docker"),
        ("requirements.txt", "torch==2.11.0", "torch==2.13.0", "torch"),
        ("requirements.txt", "torch==", "gradio==6.31.0\ntorch==", "pinned"),
    ],
)
def test_a_hub_that_would_not_build_says_why(
    folder: Path, tmp_path: Path, file: str, old: str, new: str, problem: str
) -> None:
    for name in ("README.md", "requirements.txt", "app.py"):
        shutil.copy(folder / name, tmp_path)
    text = (tmp_path / file).read_text("utf-8")
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    (found,) = hub.build_problems(tmp_path, "zero-a10g")
    assert found.startswith(problem)


def test_a_free_account_gets_the_space_on_zerogpu_and_all_its_files(
    free_hub: Hub, run: Callable[..., str], tmp_path: Path
) -> None:
    said = run(NAME, "--caps", "all")
    assert f"Creates the public ZeroGPU Space {NAME}" in said
    assert "as me" in said
    assert said.endswith("[0]")
    space = free_hub.spaces[NAME]
    assert (space.sdk, space.hardware, space.variables) == ("gradio", "zero-a10g", {"PLAYGROUND_SPACE_CAPS": "all"})
    local = {path.relative_to(tmp_path / "space").as_posix(): path for path in (tmp_path / "space").rglob("*")}
    assert space.files == {name: path.read_bytes() for name, path in local.items() if path.is_file()}
    space.files["presets/of-yesterday.yaml"] = b"name: old"
    said = run(NAME)
    assert "Replaces the files of the Space" in said
    assert said.endswith("[0]")
    assert "presets/of-yesterday.yaml" not in space.files
    assert "presets/kinder-reviews.yaml" in space.files
    assert space.hardware == "zero-a10g"
    assert len(free_hub.spaces) == 1


def test_what_the_hub_refuses_is_said_in_its_words(free_hub: Hub, run: Callable[..., str]) -> None:
    free_hub.spaces = {f"me/{number}": Space("gradio", "zero-a10g") for number in range(2)}
    said = run(NAME)
    assert "reached the number of ZeroGPU Spaces" in said
    assert "two ZeroGPU Spaces, PRO ten" in said
    assert said.endswith("[1]")
    assert NAME not in free_hub.spaces
    assert "don't have the rights" in run("someone/else")
    api = huggingface_hub.HfApi(endpoint=free_hub.url)
    with pytest.raises(huggingface_hub.errors.HfHubHTTPError, match="PRO"):  # what a free account does not get
        api.create_repo("me/cpu", repo_type="space", space_sdk="gradio")
    with pytest.raises(huggingface_hub.errors.HfHubHTTPError, match="only available for Gradio"):
        api.create_repo("me/d", repo_type="space", space_sdk="docker", space_hardware="zero-a10g")


def test_a_token_that_is_not_valid_is_said(
    free_hub: Hub, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_of_last_year")
    said = run(NAME)
    assert "Is the token still valid?" in said
    assert said.endswith("[1]")
    assert "hf_of_last_year" not in said


def test_a_header_that_the_hub_does_not_take_is_said(
    free_hub: Hub, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = made.header
    monkeypatch.setattr(made, "header", lambda space: {**usual(space), "short_description": "x" * 61})
    said = run(NAME)
    assert "short_description is not valid" in said
    assert said.endswith("[1]")
    assert not free_hub.spaces[NAME].files


def test_without_a_token_nothing_leaves_the_machine(
    free_hub: Hub, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(made, "upload", None)
    said = run(NAME)
    assert "Nothing was uploaded: there is no token" in said
    assert said.endswith("[0]")
    assert (tmp_path / "space" / "README.md").is_file()
    assert not free_hub.spaces


@pytest.mark.parametrize("name", ["rlhf", "two/many/parts", "bad name/x", ""])
def test_a_name_that_cannot_be_is_refused_before_anything_is_written(
    name: str, run: Callable[..., str], tmp_path: Path
) -> None:
    said = run(name)
    assert said.startswith("SPACE: ")
    assert said.endswith("[2]")
    assert not (tmp_path / "space").exists()


def test_a_folder_of_somebody_else_is_left_as_it_is(run: Callable[..., str], tmp_path: Path) -> None:
    theirs = tmp_path / "space" / "thesis.txt"
    theirs.parent.mkdir()
    theirs.write_text("mine")
    said = run(NAME)
    assert "was not made by this" in said
    assert said.endswith("[2]")
    assert theirs.read_text() == "mine"
