"""What is said where the project cannot run as it is: one sentence that says what to do, and no traceback."""

import subprocess
import sys

import pytest

from tests.support import PROJECT


def message_of(*command):
    """What a command that must fail says on stderr, in one line."""
    answer = subprocess.run([sys.executable, *command], cwd=PROJECT, capture_output=True, text=True, timeout=240)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (1, "", 1), answer.stderr
    return answer.stderr


def test_an_older_python_gets_the_remedy():
    said = message_of("-c", "import sys; sys.version_info = (3, 10, 13); import playground")
    assert "make run PYTHON=python3.12" in said
    assert 'python_version: "3.12"' in said


def test_windows_is_referred_to_wsl():
    assert "`wsl --install`" in message_of("-c", "import sys; sys.platform = 'win32'; import playground")


@pytest.mark.parametrize("command", [["-m", "playground", "presets"], ["app.py"]])
def test_where_packages_are_missing_their_installation_is_named(command):
    said = message_of("-S", *command)  # without the folder in which packages are
    assert "is not installed" in said
    assert "`make run`" in said
    assert "`.venv/bin/python -m playground`" in said
