"""Gradio's folder for files that come: whose it is, what is in it, and that it goes with the server."""

from __future__ import annotations

import os
import time

from gradio.utils import get_upload_folder

from playground.runs.supervisor import SupervisorThread
from playground.ui.door import incoming
from playground.ui.door.incoming import FILE_BYTES, Incoming
from tests.support import wait_until


def test_gradio_puts_files_into_a_folder_that_goes_with_the_server(tmp_path, monkeypatch):
    for before in (None, str(tmp_path / "mine")):
        if before:
            monkeypatch.setenv(incoming.GRADIO_VARIABLE, before)
        else:
            monkeypatch.delenv(incoming.GRADIO_VARIABLE, raising=False)
        made = Incoming()
        assert get_upload_folder() == str(made.folder) and made.folder.is_dir()
        assert before is None or made.folder.parent == tmp_path / "mine"
        made.close()
        assert not made.folder.exists() and os.environ.get(incoming.GRADIO_VARIABLE) == before


def test_what_a_killed_server_left_goes_and_what_a_living_one_has_stays(tmp_path, monkeypatch):
    monkeypatch.setenv(incoming.GRADIO_VARIABLE, str(tmp_path))
    living, long_ago = Incoming(), time.time() - 2 * incoming.HANDLED_SECONDS
    monkeypatch.setenv(incoming.GRADIO_VARIABLE, str(tmp_path))  # a second server
    left, new, others = tmp_path / "playground-uploads-left", tmp_path / "playground-uploads-new", tmp_path / "others"
    for folder in (left, new, others, tmp_path / "elsewhere"):
        (folder / "inner").mkdir(parents=True)
        (folder / "inner" / "rows.csv").write_text("prompt\n")
    (tmp_path / "playground-uploads-link").symlink_to(tmp_path / "elsewhere")
    for folder in (living.folder, left, others, tmp_path / "elsewhere"):
        os.utime(folder, (long_ago, long_ago))
    Incoming().close()
    assert not left.exists()
    for folder in (new, others, tmp_path / "elsewhere"):
        assert (folder / "inner" / "rows.csv").exists()
    assert living.folder.exists()
    living.close()


def test_what_is_let_in_counts_until_it_has_come_and_small_files_count_too(tmp_path, monkeypatch):
    monkeypatch.setenv(incoming.GRADIO_VARIABLE, str(tmp_path))
    made = Incoming(10 * FILE_BYTES)
    assert made.expect(6 * FILE_BYTES) and not made.expect(5 * FILE_BYTES)
    made.arrived(6 * FILE_BYTES)
    assert made.expect(10 * FILE_BYTES)
    made.arrived(10 * FILE_BYTES)
    for number in range(10):
        (made.folder / str(number)).write_text("x")
    assert not made.expect(1)
    made.close()
    free = Incoming()
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
