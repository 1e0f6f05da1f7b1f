"""Room for uploads where there is a cap on all of them: the oldest go, but not what a run still needs. And Gradio's
folder for files that come: whose it is, what is in it, and that it goes with the server."""

import os
import shutil
import stat
import threading
import time

import pytest
from gradio.utils import get_upload_folder

from playground.errors import PromptsUnusable
from playground.runs import launcher, queue
from playground.runs.folder.directory import RunDirectory
from playground.setup.limits import LIMITS
from playground.ui.auth import incoming, uploads
from playground.ui.auth.incoming import FILE_BYTES, Incoming
from playground.ui.rewards import training_part
from tests.support import at_once, small_config

SMALL = LIMITS["space"]._replace(uploads_bytes=60_000, upload_bytes=50_000)


@pytest.fixture
def keep(tmp_path, outputs):
    """Keep a file of 20,000 bytes under a name, as old as `age` seconds."""

    def keep(name, age=0, size=20_000):
        path = tmp_path / name
        path.write_text(f"{name}\n".ljust(size - 1, "x") + "\n")
        with uploads.room_for(path, SMALL, outputs):
            upload = uploads.keep(path, outputs).path
        os.utime(upload, (1e9 - age, 1e9 - age))
        return upload

    return keep


def names(outputs):
    return sorted(name for name, _ in uploads.kept_files(outputs))


def test_where_there_is_no_room_the_oldest_go_but_not_what_a_living_or_waiting_run_names(keep, outputs, tmp_path):
    files = [keep(name, age) for age, name in enumerate(["c.txt", "b.txt", "a.txt"])]
    runs = [RunDirectory.create(outputs, small_config(prompts={"source": str(path)}), path.stem[-1]) for path in files]
    lock = launcher.take_lock(runs[2])
    queue.enter(runs[1], "cpu", attempt=1)
    keep("d.txt", -1)
    assert names(outputs) == ["a.txt", "b.txt", "d.txt"]
    with pytest.raises(PromptsUnusable, match="no room left for uploads"):
        keep("e.txt", -2, size=40_000)
    pairs = tmp_path / "p.jsonl"
    pairs.write_text('{"chosen": "a", "rejected": "b"}\n'.ljust(39_000))
    assert "no room left" in str(training_part.taken_in(str(pairs), outputs, SMALL)["problem"])
    assert names(outputs) == ["a.txt", "b.txt", "d.txt"]  # nothing went for nothing
    lock.close()
    queue.leave(runs[1])
    keep("e.txt", -2, size=40_000)
    assert names(outputs) == ["d.txt", "e.txt"]


def test_two_uploads_do_not_take_the_same_room(keep, outputs, monkeypatch):
    """The first is held up while it is copied: the second must not be looked at before that has come to its end."""
    copying, overtaken, copy = threading.Lock(), [], shutil.copyfile
    another = threading.Event()

    def slow(source, target):
        if not copying.acquire(blocking=False):
            another.set()
            overtaken.append(source)
            return copy(source, target)
        another.wait(1)
        copying.release()
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", slow)
    at_once(*[lambda name=name: keep(name) for name in ("a.txt", "b.txt")])
    assert overtaken == []
    assert names(outputs) == ["a.txt", "b.txt"]


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Folders for what comes, which are closed with the test."""
    folders = []

    def opened(most_bytes=None):
        folders.append(Incoming(tmp_path / "outputs", most_bytes))
        folders[-1].open()
        return folders[-1]

    yield opened
    for folder in reversed(folders):  # each puts back what was there before it
        folder.close()


@pytest.mark.parametrize(("before", "names"), [(None, incoming.OPENED), ("mine", "/no/proc/as/on/macOS")])
def test_gradio_puts_files_into_a_private_folder_that_goes_with_the_server(opened, monkeypatch, before, names):
    monkeypatch.setattr(incoming, "OPENED", names)
    if before:
        monkeypatch.setenv(incoming.GRADIO_VARIABLE, before)
    else:
        monkeypatch.delenv(incoming.GRADIO_VARIABLE, raising=False)
    coming = opened()
    assert os.path.samefile(get_upload_folder(), coming.folder)
    assert str(coming.folder) not in (told := get_upload_folder())  # browsers are told it
    assert os.path.isdir(told)
    coming.folder.rmdir()
    coming.sweep()  # somebody has tidied up
    assert os.path.samefile(get_upload_folder(), coming.folder)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (coming.folder, coming.folder.parent)] == [0o700, 0o700]
    coming.close()
    assert not coming.folder.exists()
    assert not os.path.lexists(told)
    assert os.environ.get(incoming.GRADIO_VARIABLE) == before


def test_within_another_app_whose_folder_is_another_user_s_files_go_to_the_outputs(tmp_path, monkeypatch):
    monkeypatch.setenv(incoming.GRADIO_VARIABLE, str(tmp_path / "theirs"))
    (tmp_path / "theirs").touch()  # no folder can be made in it, by root neither
    coming = Incoming(tmp_path / "outputs")
    coming.open(tmp_path / "theirs")
    assert coming.folder.is_relative_to(tmp_path / "outputs")
    assert os.path.samefile(get_upload_folder(), coming.folder)
    coming.close()


def test_what_a_killed_server_left_goes_and_what_a_living_one_has_stays(opened, tmp_path, monkeypatch):
    monkeypatch.setenv(incoming.GRADIO_VARIABLE, str(tmp_path))
    killed, idle, living = (opened() for _ in range(3))
    left, new = killed.folder / "inner" / "rows.csv", living.folder / "rows.csv"
    left.parent.mkdir()
    for path in (left, new):
        path.write_text("prompt\n")
    long_ago = time.time() - incoming.KEEP_SECONDS - 1
    for path in (left, left.parent, killed.folder, idle.folder):
        os.utime(path, (long_ago, long_ago))
    idle.sweep()
    assert (left.exists(), new.exists()) == (False, True)
    for path in (left.parent, killed.folder):  # a folder that has just lost its last file is looked at an hour later
        os.utime(path, (long_ago, long_ago)) if path.exists() else None
        living.sweep()
    assert [server.folder.exists() for server in (killed, idle, living)] == [False, True, True]


def test_what_is_let_in_counts_until_it_has_come_and_small_files_count_too(opened):
    coming = opened(10 * FILE_BYTES)
    assert coming.expect(6 * FILE_BYTES)
    assert not coming.expect(5 * FILE_BYTES)
    coming.arrived(6 * FILE_BYTES)
    assert coming.expect(10 * FILE_BYTES)
    coming.arrived(10 * FILE_BYTES)
    for number in range(10):
        (coming.folder / str(number)).write_text("x")
    assert not coming.expect(1)
    assert opened().expect(10**12), "without a cap"
