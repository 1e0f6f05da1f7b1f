"""The nightly run says in docs/reliability.md when it was green, and that must not be long ago."""

import datetime
import os
import re
import subprocess

import pytest

from tests.support import PROJECT

DAYS = 14
DONE = re.compile(r"<!-- nightly -->\n(\S+), commit \w{8}: [\d,]{5,} cases passed in \d+ minutes on \d+ cores\.\n")


@pytest.mark.skipif("NIGHTLY_RUN" in os.environ, reason="this is the nightly run")
def test_the_nightly_run_was_green_within_14_days_of_the_newest_commit():
    document = (PROJECT / "docs" / "reliability.md").read_text("utf-8")
    written = DONE.search(document)
    assert written, "run .ci/nightly"
    command = ["git", "log", "-1", "--format=%cI"]
    newest = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True).stdout.strip()
    if newest:  # else these files are no checkout
        age = datetime.datetime.fromisoformat(newest).date() - datetime.date.fromisoformat(written[1])
        assert age.days <= DAYS, "run .ci/nightly"
