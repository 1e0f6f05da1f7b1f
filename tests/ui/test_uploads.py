"""Room for uploads where there is a cap on all of them: the oldest go, but not what a run still needs."""

from __future__ import annotations

import os
import shutil
import threading

import pytest

from playground.errors import OutputsNotWritable, PromptsUnusable
from playground.runs.folder.directory import RunDirectory
from playground.runs.start import launcher, queue
from playground.setup.limits import LIMITS
from playground.ui.door import uploads
from playground.ui.rewards import training_part
from tests.support import at_once, small_config

SMALL = LIMITS["space"]._replace(uploads_bytes=60_000, upload_bytes=50_000)


@pytest.fixture
def keep(tmp_path, outputs):
    """Keep a file of 20,000 bytes under a name, as old as `age` seconds."""

    def kept(name, age=0, size=20_000, capped=SMALL):
        path = tmp_path / name
        path.write_text(f"{name}\n".ljust(size - 1, "x") + "\n")
        with uploads.room_for(path, capped, outputs):
            found = uploads.keep(path, outputs).path
        if age is not None:
            os.utime(found, (1e9 - age, 1e9 - age))
        return found

    return kept


def names(outputs):
    return sorted(name for name, _ in uploads.kept_files(outputs))


def test_when_there_is_no_room_the_oldest_files_go(keep, outputs):
    for age, name in enumerate(["c.txt", "b.txt", "a.txt"]):
        keep(name, age)
    keep("d.txt", -1)
    assert names(outputs) == ["b.txt", "c.txt", "d.txt"]
    keep("e.txt", -2, size=40_000)
    assert names(outputs) == ["d.txt", "e.txt"]


def test_a_file_that_is_uploaded_once_more_is_among_the_last_to_go(keep, outputs):
    keep("b.txt", 1)
    keep("a.txt", 0)
    keep("b.txt", None)
    for age, name in enumerate(["c.txt", "d.txt", "e.txt"]):
        keep(name, -1 - age)
    assert names(outputs) == ["b.txt", "d.txt", "e.txt"]


def test_what_a_living_or_a_waiting_run_names_stays_whatever_its_age(keep, outputs, tmp_path):
    files = [keep(name, age) for age, name in enumerate(["c.txt", "b.txt", "a.txt"])]
    runs = [RunDirectory.create(outputs, small_config(prompts={"source": str(path)}), path.stem[-1]) for path in files]
    lock = launcher.take_lock(runs[2])
    queue.enter(runs[1], "cpu", attempt=1)
    keep("d.txt", -1)
    assert names(outputs) == ["a.txt", "b.txt", "d.txt"]
    with pytest.raises(PromptsUnusable, match="no more room for uploads"):
        keep("e.txt", -2, size=40_000)
    pairs = tmp_path / "p.jsonl"
    pairs.write_text('{"chosen": "a", "rejected": "b"}\n'.ljust(39_000))
    assert "no more room" in str(training_part.taken_in(str(pairs), outputs, SMALL)["problem"])
    assert names(outputs) == ["a.txt", "b.txt", "d.txt"]  # nothing went for nothing
    lock.close()
    queue.leave(runs[1])
    keep("e.txt", -2, size=40_000)
    assert names(outputs) == ["d.txt", "e.txt"]


def test_nothing_goes_for_a_file_that_is_refused_or_where_there_is_no_cap(keep, outputs):
    for age, name in enumerate(["c.txt", "b.txt", "a.txt"]):
        keep(name, age)
    for capped in (SMALL._replace(upload_rows=1), SMALL._replace(upload_bytes=19_999)):
        with pytest.raises(PromptsUnusable, match="at most"):
            keep("d.txt", capped=capped)
    assert names(outputs) == ["a.txt", "b.txt", "c.txt"]
    keep("d.txt", capped=LIMITS["local"])
    assert len(names(outputs)) == 4


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
    assert overtaken == [] and names(outputs) == ["a.txt", "b.txt"]


def test_a_copy_that_breaks_off_leaves_nothing(keep, outputs, monkeypatch):
    def breaks(source, target):
        target.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", breaks)
    with pytest.raises(OutputsNotWritable, match="Free some space"):
        keep("a.txt")
    assert list((outputs / uploads.FOLDER).iterdir()) == []
