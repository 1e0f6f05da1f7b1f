"""Files that visitors of a public page hand over: bounded one by one and together, private, and none stays."""

import os
import socket
import stat
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from playground.runs.folder.directory import RunDirectory
from playground.setup import limits
from playground.ui.auth import incoming
from tests.security import pages
from tests.security.pages import PUBLIC
from tests.support import data_beside, wait_until


@pytest.fixture(autouse=True)
def gradio_puts_files_of_this_page(space, monkeypatch):
    """As in a process that serves no other page."""
    monkeypatch.setenv(incoming.GRADIO_VARIABLE, space.running.demo.serving.incoming.told)


@pytest.fixture
def visitor(space):
    with space.visitor(f"{PUBLIC}120") as visitor:
        yield visitor


def upload(visitor, content, field="files"):
    return visitor.post("gradio_api/upload", files={field: ("mine.txt", content)})


def taken(space, visitor, path):
    """What the form says of a file that has come."""
    file = {"path": path, "orig_name": "mine.txt", "meta": {"_type": "gradio.FileData"}}
    return pages.call(visitor, space.index_of("take"), [file])


def test_an_address_in_the_place_of_an_upload_is_not_fetched(space, visitor, monkeypatch):
    fetched = []
    monkeypatch.setattr("safehttpx.async_validate_url", lambda *arguments: fetched.append(arguments))
    file = {"path": "https://example.org/large.txt", "orig_name": "a.txt", "meta": {"_type": "gradio.FileData"}}
    for item in (file, {**file, "url": file["path"]}):
        message = pages.call(visitor, space.index_of("take"), [item])
        assert message["status"] == 400
        assert "addresses are not fetched" in message["text"]
    assert fetched == []


def test_an_upload_beyond_the_cap_is_refused_by_the_middleware_and_by_the_handler(space, visitor, figure):
    cap = limits.LIMITS["space"].upload_bytes
    with space.nothing_changes():
        large, just, rows = (upload(visitor, text) for text in (b"x" * (cap + 70_000), b"x" * (cap + 1), b"x\n" * 5001))
        assert large.status_code == just.status_code == 413
        assert "the most that this page accepts" in large.text
        assert "the most that this page accepts" in just.json()["error"]
        assert rows.status_code == 200
        assert "5,001 rows; at most 5,000" in taken(space, visitor, rows.json()[0])["text"]
    figure("uploads beyond the caps refused", 3, 3)


def test_files_that_come_are_bounded_together_and_do_not_stay(space, visitor, monkeypatch, figure):
    coming = space.running.demo.serving.incoming
    assert stat.S_IMODE(coming.folder.stat().st_mode) == 0o700

    def files():
        return [path for path in coming.folder.rglob("*") if path.is_file()]

    def age(seconds):
        then = time.time() - seconds
        for path in sorted(coming.folder.rglob("*"), reverse=True):
            os.utime(path, (then, then))

    age(2 * 3600)
    coming.sweep()
    monkeypatch.setattr(coming, "most_bytes", 250_000)
    assert upload(visitor, b"x" * 50_000, "whatever").json() == []  # no handler will ever hear of it
    (came,) = upload(visitor, b"x" * 100_000).json()
    before = files()
    assert os.path.realpath(came) in map(str, before)
    for _ in range(2):
        full = upload(visitor, b"x" * 200_000)
        assert full.status_code == 503
        assert "Try again in a minute" in full.text
    assert files() == before
    age(61)
    (newer,) = upload(visitor, b"x" * 200_000).json()
    assert [str(path) for path in files()] == [os.path.realpath(newer)]  # what was older went for it
    for seconds, left in ((3500, 1), (3700, 0)):
        age(seconds)
        coming.sweep()
        assert len(files()) == left
    age(3700)
    coming.sweep()
    assert list(coming.folder.rglob("*")) == []  # the folders that they lay in too
    figure("uploads beyond the room for files on their way, refused", 2, 2)


PART = b'--XX\r\nContent-Disposition: form-data; name="%s"; filename="a.txt"\r\n\r\n%s\r\n'
FORM = {"Content-Type": "multipart/form-data; boundary=XX"}
TABLES = data_beside(__file__, "tables.yaml")


def form_of(*names):
    """With a file under each of these names."""
    return b"".join(PART % (name.encode(), b"a\nb\n") for name in names) + b"--XX--\r\n"


@pytest.fixture
def files(space, tmp_path, monkeypatch):
    """The files that are made of what is being uploaded, for this test alone in a folder of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(space.running.demo.serving.incoming, "folder", tmp_path / "uploads")
    (tmp_path / "uploads").mkdir()
    return lambda: [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(("address", "names", "status", "sentence"), TABLES["uploads_for_nobody"])
def test_a_request_with_files_that_no_handler_gets_leaves_none(address, names, status, sentence, visitor, files):
    """Gradio's own address would write every part to a file before anybody is asked."""
    answer = visitor.post(f"gradio_api/{address}", content=form_of(*names), headers=FORM)
    assert answer.status_code == status
    assert sentence in answer.text
    assert files() == []


@pytest.mark.parametrize(("form", "with_a_file"), TABLES["forms_that_are_none"])
def test_a_form_that_is_none_is_refused_in_a_sentence_and_leaves_no_file(form, with_a_file, visitor, files):
    content = form_of("files") if with_a_file else form_of("files").replace(b'; filename="a.txt"', b"")
    headers = {"Content-Type": f"multipart/form-data; {form}"}
    answer = visitor.post("gradio_api/upload", content=content, headers=headers)
    assert answer.status_code == 400
    assert "multipart" in answer.text or "cannot be read" in answer.text
    assert files() == []


def test_an_upload_that_breaks_off_leaves_no_file(space, visitor, files):
    address = urlsplit(space.url)
    head = f"POST /gradio_api/upload HTTP/1.1\r\nHost: {address.netloc}\r\nContent-Length: 1900000\r\n"
    head += f"Content-Type: {FORM['Content-Type']}\r\n\r\n"
    counts = space.access.limiter.held
    with socket.create_connection((address.hostname, address.port)) as going:
        going.sendall(head.encode() + (PART % (b"files", b"x" * 1_500_000))[:-2])
        wait_until(lambda: ("uploads", "127.0.0.1") in counts)
    wait_until(lambda: ("uploads", "127.0.0.1") not in counts)
    assert files() == []
    assert visitor.post("gradio_api/upload", content=form_of("files"), headers=FORM).status_code == 200
    assert [path.name for path in files()] == ["a.txt"]


def test_the_path_of_an_uploaded_file_is_never_shown(space, visitor):
    """The page calls it uploads/NAME: in the form, in YAML, in exports; and understands that name again."""
    with space.visitor(f"{PUBLIC}121") as other:
        (path,) = upload(visitor, b"The film was\nThe book was\nThe song was\nThe play was\n").json()
        form = taken(space, visitor, path)
        source = form["output"]["data"][0]["value"]
        assert source.startswith("uploads/")
        assert source.endswith("-mine.txt")
        fields = {"prompts__source": source, "evaluation__num_prompts": 2, "ppo__num_updates": 500}
        checked = pages.call(visitor, space.index_of("check"), pages.form_values(**fields)[1:])
        run, problems = pages.start(space, visitor, **fields)
        assert problems == []
        assert run is not None
        config = RunDirectory(space.outputs / run).config()
        assert config.prompts.source == str((space.outputs / source).resolve())  # the worker has its place
        texts = [
            path,
            form["text"],
            checked["text"],
            pages.call(other, space.index_of("choose"), [f"run:{run}"])["text"],
        ]
        kinds = "poll compare outcome export/yaml export/trl export/html metrics.csv samples.csv"
        texts += [other.get(f"live/{run}/{kind}").text for kind in kinds.split()]
        texts += [other.get(f"live/{address}").text for address in ("_runs", "_home", f"_overlay?runs={run},done")]
        assert f"source: {source}" in texts[7]
        pages.stop(space, visitor, run)
    for place in ("nothing.txt", "../nothing.txt", "/etc/passwd", f"{path}/..", f"{path}/../../../.visitors.key"):
        texts.append(taken(space, visitor, place)["text"])
        assert str(Path.cwd()) not in texts[-1]
        assert "uploads/" not in texts[-1]
    assert not [text for text in texts if str(space.outputs) in text or str(space.outputs.resolve()) in text]
