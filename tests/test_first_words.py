"""What is said where the project cannot run as it is: one sentence that says what to do, and no traceback."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import PROJECT


def message_of(*command: str, **environment: str) -> str:
    """What a command that must fail says on stderr, in one line."""
    env = {name: value for name, value in os.environ.items() if name != "SPACE_ID"} | environment
    found = subprocess.run(
        [sys.executable, *command], cwd=PROJECT, env=env, capture_output=True, text=True, timeout=240
    )
    assert found.returncode == 1 and found.stdout == "" and len(found.stderr.splitlines()) == 1, found.stderr
    return found.stderr


def test_an_older_python_gets_the_remedy_for_where_it_is() -> None:
    older = "import sys; sys.version_info = (3, 10, 13); import playground"
    assert "make run PYTHON=python3.12" in (here := message_of("-c", older)) and "Space" not in here
    assert 'python_version: "3.12"' in message_of("-c", older, SPACE_ID="someone/space")


def test_windows_is_referred_to_wsl() -> None:
    assert "`wsl --install`" in message_of("-c", "import sys; sys.platform = 'win32'; import playground")


@pytest.mark.parametrize("command", [["-m", "playground", "presets"], ["app.py"]])
def test_where_packages_are_missing_their_installation_is_named(command: list[str]) -> None:
    found = message_of("-S", *command)  # without the folder in which packages are
    assert "is not installed" in found and "`make run`" in found and "`.venv/bin/python -m playground`" in found


def test_a_module_of_our_own_that_is_missing_is_no_missing_package() -> None:
    import playground

    with pytest.raises(ModuleNotFoundError):
        playground.missing(ModuleNotFoundError(name="playground.gone"))


@pytest.mark.parametrize(
    ("index", "version", "says"),
    [("https://away", "2.0", True), ("https://away", "2.0+cpu", False), ("", "2.0", False), ("pypi", "2.0", False)],
)
def test_make_run_says_when_the_small_pytorch_could_not_be_had(
    index: str, version: str, says: bool, tmp_path: Path
) -> None:
    shutil.copy(PROJECT / "Makefile", tmp_path)
    (tmp_path / "requirements.txt").write_text("torch==2.0\n")
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "pip"):
        (folder / name).write_text(f"#!/bin/sh\n[ \"$1\" != show ] || echo 'Version: {version}'\n")
        (folder / name).chmod(0o755)
    made = subprocess.run(
        ["make", ".venv/.run-ready", f"TORCH_INDEX={index}"], cwd=tmp_path, capture_output=True, text=True, timeout=240
    )
    assert made.returncode == 0, made.stderr
    assert ("https://away did not answer, so this is PyPI's PyTorch" in made.stdout) is says
