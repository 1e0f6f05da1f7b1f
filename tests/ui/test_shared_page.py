"""What a failed test leaves open on the page that the tests of a module share does not fail the next one."""

import subprocess
import sys

import pytest

from tests.ui.conftest import CHROMIUM, PROJECT

pytest.importorskip("playwright.sync_api")

TESTS = '''
from tests.ui.conftest import (  # noqa: F401
    _open_pages, browser, go, open_page, recorded, server, site,
)


def test_one_fails_while_its_dialog_is_open(open_page):
    open_page.evaluate("""() => {
        document.body.append(Object.assign(document.createElement("dialog"), { id: "left" }));
        document.querySelector("#left").showModal();
    }""")
    raise AssertionError("on purpose")


def test_two_finds_a_page_as_it_was(open_page):
    assert not open_page.locator("dialog[open]").count()
    open_page.locator("#header").get_by_role("link", name="Compare").click()


def test_three_has_the_same_page_as_two(open_page):
    assert open_page.evaluate("!document.querySelector('#left')")
    open_page.evaluate("window.mine = true")


def test_four_too(open_page):
    assert open_page.evaluate("window.mine")
'''


def test_a_failed_test_takes_its_page_with_it(tmp_path):
    file = tmp_path / "test_dialogs.py"
    file.write_text(TESTS)
    plugins = ["-p", "no:xdist", "-p", "no:cacheprovider", "-p", "tests.stress"]
    command = [sys.executable, "-m", "pytest", *plugins, "--rootdir", str(PROJECT), "--confcutdir", str(tmp_path),
               "-c", str(PROJECT / "pyproject.toml"), str(file)]  # fmt: skip
    assert CHROMIUM
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=500)
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "on purpose" in done.stdout
