"""A public page clears away by itself what strangers leave on its disk."""

from __future__ import annotations

import os
import time

import pytest

from playground.runs import history
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher
from playground.setup import limits
from playground.ui import server
from tests.security import pages
from tests.support import small_config, wait_until
from tests.ui import fake_run
from tests.ui.conftest import recorded  # noqa: F401


@pytest.mark.parametrize("mode", ["space", "classroom"])
def test_old_runs_the_bin_and_what_came_go_on_a_public_page_and_runs_nowhere_else(
    mode,
    outputs,
    recorded,  # noqa: F811
    monkeypatch,
    figure,
):
    monkeypatch.setattr(server, "CHORE_SECONDS", 0)
    monkeypatch.setitem(limits.LIMITS, "space", limits.LIMITS["space"]._replace(kept_runs=2))
    for age, name in enumerate(["newest", "newer", "older", "oldest", "binned"]):
        run = RunDirectory(fake_run.write_run(outputs, name).path)
        os.utime(run.status_path, (1e9 - age, 1e9 - age))
    history.delete_run(run)
    living = RunDirectory.create(outputs, small_config(), "living")
    lock = launcher.take_lock(living)
    assert lock is not None
    with pages.served(mode, outputs, recorded) as page:
        came = page.running.incoming.folder / "came"
        came.write_text("x")
        os.utime(came, (time.time() - 3700,) * 2)
        wait_until(lambda: not came.exists())
        gone = mode == "space"
        if gone:
            wait_until(lambda: len(history.list_runs(outputs)) == 3)
        left = {run.id for run in history.list_runs(outputs)}
        lock.close()
    assert left == {"newest", "newer", "living"} | (set() if gone else {"older", "oldest"})
    assert len(list((outputs / ".bin").iterdir())) == (0 if gone else 1)
    assert (recorded / "kinder-reviews" / "config.yaml").is_file()
    if gone:
        figure("old runs of a public page, cleared away while others stay", 3, 3)
