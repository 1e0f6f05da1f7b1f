"""Gradio's folder for files that come: whose it is, what is in it, and that it goes with the server."""

from __future__ import annotations

import os
import stat
import time

from gradio.utils import get_upload_folder

from playground.runs.supervisor import SupervisorThread
from playground.ui.door import incoming
from playground.ui.door.incoming import FILE_BYTES, Incoming
from tests.support import wait_until


def test_gradio_puts_files_into_a_private_folder_that_goes_with_the_server(tmp_path, monkeypatch):
    for before in (None, str(tmp_path / "mine")):
        if before:
            monkeypatch.setenv(incoming.GRADIO_VARIABLE, before)
        else:
            monkeypatch.delenv(incoming.GRADIO_VARIABLE, raising=False)
        made = Incoming(tmp_path / "outputs")
        assert get_upload_folder() == str(made.folder)
        assert [stat.S_IMODE(path.stat().st_mode) for path in (made.folder, made.folder.parent)] == [0o700, 0o700]
        made.close()
        assert not made.folder.exists() and os.environ.get(incoming.GRADIO_VARIABLE) == before


def test_what_a_killed_server_left_goes_and_what_a_living_one_has_stays(tmp_path, monkeypatch):
    monkeypatch.setenv(incoming.GRADIO_VARIABLE, str(tmp_path))
    killed, idle, living = (Incoming(tmp_path) for _ in range(3))
    left, new = killed.folder / "inner" / "rows.csv", living.folder / "rows.csv"
    left.parent.mkdir()
    for path in (left, new):
        path.write_text("prompt\n")
    long_ago = time.time() - incoming.KEEP_SECONDS - 1
    for path in (left, left.parent, killed.folder, idle.folder):
        os.utime(path, (long_ago, long_ago))
    idle.sweep()
    assert not left.exists() and new.exists()
    for path in (left.parent, killed.folder):  # a folder that has just lost its last file is looked at an hour later
        os.utime(path, (long_ago, long_ago)) if path.exists() else None
        living.sweep()
    assert not killed.folder.exists() and idle.folder.exists() and living.folder.exists()
    idle.close(), living.close()


def test_what_is_let_in_counts_until_it_has_come_and_small_files_count_too(tmp_path):
    made = Incoming(tmp_path, 10 * FILE_BYTES)
    assert made.expect(6 * FILE_BYTES) and not made.expect(5 * FILE_BYTES)
    made.arrived(6 * FILE_BYTES)
    assert made.expect(10 * FILE_BYTES)
    made.arrived(10 * FILE_BYTES)
    for number in range(10):
        (made.folder / str(number)).write_text("x")
    assert not made.expect(1)
    made.close()
    free = Incoming(tmp_path)
    assert free.expect(10**12)
    free.close()


def test_the_watch_does_the_chores_and_goes_on_when_one_fails(outputs, capsys):
    outputs.mkdir(exist_ok=True)
    done = []

    def fails():
        done.append("failed")
        raise OSError("No such disk")

    watch = SupervisorThread(outputs, chores=[fails, lambda: done.append("swept")])
    watch.start()
    wait_until(lambda: done.count("swept") >= 2)
    watch.close()
    assert done[:4] == ["failed", "swept"] * 2 and "No such disk" in capsys.readouterr().err
