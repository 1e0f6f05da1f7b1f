"""What is said where the project cannot run as it is: one sentence that says what to do, and no traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support import PROJECT


def message_of(*command: str) -> str:
    """What a command that must fail says on stderr, in one line."""
    found = subprocess.run([sys.executable, *command], cwd=PROJECT, capture_output=True, text=True, timeout=240)
    assert found.returncode == 1 and found.stdout == "" and len(found.stderr.splitlines()) == 1, found.stderr
    return found.stderr


def test_an_older_python_gets_the_remedy() -> None:
    found = message_of("-c", "import sys; sys.version_info = (3, 10, 13); import playground")
    assert "make run PYTHON=python3.12" in found
    assert 'python_version: "3.12"' in found


def test_windows_is_referred_to_wsl() -> None:
    assert "`wsl --install`" in message_of("-c", "import sys; sys.platform = 'win32'; import playground")


@pytest.mark.parametrize("command", [["-m", "playground", "presets"], ["app.py"]])
def test_where_packages_are_missing_their_installation_is_named(command: list[str]) -> None:
    found = message_of("-S", *command)  # without the folder in which packages are
    assert "is not installed" in found
    assert "`make run`" in found
    assert "`.venv/bin/python -m playground`" in found
