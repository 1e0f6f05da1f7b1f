"""What runs hold is for the user who started them: folders 0700, files 0600."""

from __future__ import annotations

import os
import stat

import pytest

from playground.runs import launcher
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import make_outputs
from tests.support import small_config


@pytest.fixture
def open_handed():
    """A user whose files everybody may read."""
    before = os.umask(0o000)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_made_for_runs_is_private(outputs, fake_worker, open_handed, figure):
    run, process = launcher.start(small_config("finish"), outputs, "r")
    assert process.wait(60) == 0
    found = {path: mode(path) for path in run.path.rglob("*") if path.is_file()}
    written = {path.name for path in found}
    assert {"config.yaml", "status.json", "request.json", "metrics.jsonl", "samples.jsonl"} <= written
    assert mode(outputs) == mode(run.path) == 0o700
    readable = [path.name for path, bits in found.items() if bits & 0o077]
    figure("files of a run that only its user can read", len(found), len(found) - len(readable))


def test_a_folder_that_was_there_keeps_its_rights(tmp_path):
    tmp_path.chmod(0o755)
    assert mode(make_outputs(tmp_path)) == 0o755
    assert mode(RunDirectory.create(tmp_path, small_config(), "r").path) == 0o700
