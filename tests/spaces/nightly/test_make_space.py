"""`make space` against a hub: the folder is uploaded by huggingface_hub, and what the hub refuses is said."""

import huggingface_hub
import pytest

from bench import space
from tests.hub_server import TOKEN, Account, Space, serving
from tests.spaces.test_make_space import NAME, run  # noqa: F401


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


def test_a_free_account_gets_the_space_on_zerogpu_and_all_its_files(hub, run, tmp_path):  # noqa: F811
    said = run(NAME, "--caps", "all")
    assert f"Creates the public ZeroGPU Space {NAME}" in said
    assert "as me" in said
    assert said.endswith("[0]")
    there = hub.spaces[NAME]
    assert (there.sdk, there.hardware, there.variables) == ("gradio", "zero-a10g", {"PLAYGROUND_SPACE_CAPS": "all"})
    local = {path.relative_to(tmp_path / "space").as_posix(): path for path in (tmp_path / "space").rglob("*")}
    assert there.files == {name: path.read_bytes() for name, path in local.items() if path.is_file()}
    there.files["presets/of-yesterday.yaml"] = b"name: old"
    said = run(NAME)
    assert "Replaces the files of the Space" in said
    assert said.endswith("[0]")
    assert "presets/of-yesterday.yaml" not in there.files
    assert "presets/kinder-reviews.yaml" in there.files
    assert there.hardware == "zero-a10g"
    assert len(hub.spaces) == 1


def test_what_the_hub_refuses_is_said_in_its_words(hub, run):  # noqa: F811
    hub.spaces = {f"me/{number}": Space("gradio", "zero-a10g") for number in range(2)}
    said = run(NAME)
    assert "reached the number of ZeroGPU Spaces" in said
    assert "two ZeroGPU Spaces, PRO ten" in said
    assert said.endswith("[1]")
    assert NAME not in hub.spaces
    assert "don't have the rights" in run("someone/else")


def test_a_token_that_is_not_valid_is_said(hub, run, monkeypatch):  # noqa: F811
    monkeypatch.setenv("HF_TOKEN", "hf_of_last_year")
    said = run(NAME)
    assert "Is the token still valid?" in said
    assert said.endswith("[1]")
    assert "hf_of_last_year" not in said


def test_a_header_that_the_hub_does_not_take_is_said(hub, run, monkeypatch):  # noqa: F811
    usual = space.header
    monkeypatch.setattr(space, "header", lambda name: {**usual(name), "short_description": "x" * 61})
    said = run(NAME)
    assert "short_description is not valid" in said
    assert said.endswith("[1]")
    assert not hub.spaces[NAME].files
