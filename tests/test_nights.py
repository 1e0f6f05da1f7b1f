"""The nightly run says in docs/reliability.md when it was green, and that must not be long ago."""

import datetime
import importlib.machinery
import importlib.util
import os
import re
import subprocess

import pytest

from tests.support import PROJECT

DAYS = 14
DONE = re.compile(r"<!-- nightly -->\n(\S+), commit \w{8}: [\d,]{5,} cases passed in \d+ minutes on \d+ cores\.\n")
NOT_YET = re.compile(r"<!-- nightly -->\nNone yet: the first is due 14 days after (\S+)\.\n")


@pytest.fixture
def nightly():
    """The script, as a module."""
    loader = importlib.machinery.SourceFileLoader("nightly_script", str(PROJECT / ".ci" / "nightly"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.mark.skipif("NIGHTLY_RUN" in os.environ, reason="this is the nightly run")
def test_the_nightly_run_was_green_within_14_days_of_the_newest_commit():
    document = (PROJECT / "docs" / "reliability.md").read_text("utf-8")
    written = DONE.search(document) or NOT_YET.search(document)
    assert written, "run .ci/nightly"
    command = ["git", "log", "-1", "--format=%cI"]
    newest = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True).stdout.strip()
    if newest:  # else these files are no checkout
        age = datetime.datetime.fromisoformat(newest).date() - datetime.date.fromisoformat(written[1])
        assert age.days <= DAYS, "run .ci/nightly"


def test_the_cases_of_both_runs_of_pytest_are_counted_and_written_with_their_commit(nightly, tmp_path, monkeypatch):
    lines = ["3781 passed, 115 warnings in 1255.06s (0:20:55)", "a test that 12 passed in", "131 passed in 9.1s"]
    assert nightly.cases_of(lines) == 3912
    document = tmp_path / "reliability.md"
    document.write_text("a\n<!-- nightly -->\nold\n<!-- end of nightly -->\nz\n")
    monkeypatch.setattr(nightly, "DOCUMENT", document)
    nightly.write(3912, 71)
    assert DONE.search(document.read_text())
    assert document.read_text().startswith("a\n")
    assert document.read_text().endswith("\nz\n")
