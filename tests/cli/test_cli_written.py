"""Files that the command line writes for a person: whole, or as they were before."""

import os
import signal
import threading
import time

import pytest

from playground.cli.arguments import write_file
from playground.runs.folder.files import UNFINISHED, made_beside
from tests.support import wait_until


def test_a_file_is_replaced_whole_and_through_a_link(tmp_path):
    target, link = tmp_path / "run.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    write_file(link, "new\n")
    assert target.read_bytes() == b"new\n"
    assert link.is_symlink()


def test_on_a_full_disk_the_old_file_stays_and_no_part_is_left(tmp_path, monkeypatch):
    target = tmp_path / "run.html"
    target.write_text("old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_file(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]


def test_what_a_killed_command_has_left_goes_with_the_next_one_and_that_of_a_living_one_stays(tmp_path):
    def begin():
        child = os.fork()
        if not child:
            with made_beside(tmp_path / "model") as work:
                work.mkdir()
                time.sleep(600)
        return child

    def left():
        return len(list(tmp_path.glob(f"{UNFINISHED}*/model")))

    children = [begin(), begin()]
    wait_until(lambda: left() == 2)
    for child, more in zip(children, (1, 0), strict=True):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        write_file(tmp_path / "run.html", "text")
        assert left() == more
    assert [path.name for path in tmp_path.iterdir()] == ["run.html"]


def test_a_pipe_is_written_into(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_file(tmp_path / "pipe", "text")
    reader.join(60)
    assert heard == ["text"]
