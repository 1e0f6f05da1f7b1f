"""What can go wrong before the page is up, what the web process must not hold, and what is put in the place of parts of
Gradio: each part is what this version has, and a page says where one is not."""

import contextlib
import hashlib
import inspect
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import httpx
import pytest
from gradio import networking, routes
from gradio.state_holder import SessionState

from playground.errors import InvalidConfig
from playground.setup import limits
from playground.ui import own_files, page, server
from playground.ui.auth import gradio_parts, sharing
from tests.forking import Forker
from tests.security import pages
from tests.support import PROJECT, data_beside, fields_of, wait_until
from tests.test_layers import HEAVY
from tests.ui.conftest import free_port
from tests.ui.fake_server import NoStandby

IMPORTED = Path(__file__).with_name("imported.py.txt").read_text(encoding="utf-8")


def test_mode_and_port_are_checked_together_and_a_port_in_use_is_one_sentence(tmp_path):
    assert fields_of(server.launch, port=0, outputs=tmp_path, mode="clasroom") == ["mode", "port"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(server.AddressUnusable, match=f"Port {port} is in use"):
            server.launch(port=port, outputs=tmp_path)


@pytest.mark.parametrize(("host", "mode", "variables", "expected"), data_beside(__file__, "tables.yaml")["listens"])
def test_a_page_listens_where_its_mode_its_host_and_the_environment_say(host, mode, variables, expected, monkeypatch):
    for name in ("GRADIO_SERVER_NAME", "SPACE_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert sharing.listening_address(host, mode) == expected


def test_a_page_is_made_where_gradio_s_temporary_folder_is_another_user_s(tmp_path, monkeypatch):
    (tmp_path / "theirs").touch()  # no folder can be made in it, by root neither
    monkeypatch.setattr(routes, "DEFAULT_TEMP_DIR", str(tmp_path / "theirs"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server.new_demo(tmp_path / "outputs", "local")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]
    assert str(tmp_path / "theirs") == routes.DEFAULT_TEMP_DIR


def test_the_page_is_imported_as_gradio_s_and_nothing_begins_before_it_is_served(tmp_path):
    """`from app import demo`: no torch, no telemetry, no thread, no child, no folder."""
    environment = {name: value for name, value in os.environ.items() if name != "GRADIO_TEMP_DIR"}
    environment["PLAYGROUND_OUTPUTS"] = str(tmp_path / "outputs")
    command = [sys.executable, "-c", IMPORTED, *HEAVY, "playground.training", "spaces"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert not list((PROJECT / "playground" / "ui").glob("*.pyi")), "Gradio writes them beside subclasses"


def test_a_thread_that_hangs_does_not_keep_the_process_from_ending(tmp_path):
    """A process of its own calls `main`, as below."""
    log = tmp_path / "log"
    with log.open("w") as output:
        process = Forker.of_pages().fork(__name__, [str(tmp_path)], os.environ, output.fileno())
    assert process.wait(240) == 1
    assert "in serve" in log.read_text()  # the stack says what it waited for


def main(arguments):
    """Serve a page that never closes, and end it."""

    def launch(*_):
        os.kill(os.getpid(), signal.SIGTERM)
        return SimpleNamespace(greeting="", close=threading.Event().wait)

    server.EXIT_SECONDS, server.launch = 1, launch
    server.serve(outputs=Path(arguments[0]))


def test_gradio_s_own_call_serves_it_with_everything_and_once_more(tmp_path, monkeypatch):
    """As a cell of a notebook that is run twice, then behind a proxy. What the page looks like is not to be chosen."""
    monkeypatch.setattr(server, "StandbyWorker", NoStandby)
    monkeypatch.setenv(limits.MODE_VARIABLE, "")
    monkeypatch.setattr(networking, "url_ok", lambda url: False)  # as where an answer takes longer than 3 seconds
    before, seen, port = set(threading.enumerate()), [], free_port()

    @contextlib.asynccontextmanager
    async def theirs(app):
        seen.append("begun")
        yield
        seen.append("ended")

    demo = server.new_demo(tmp_path / "outputs", "local", tmp_path)
    for root in ("", "/lab/play"):
        chosen = {"theme": "soft", "show_error": True, "footer_links": ["api"], "ssr_mode": True, "run_history": True}
        kept = {"server_port": port, "app_kwargs": {"lifespan": theirs}, "quiet": True}
        _, url, shared = demo.launch(prevent_thread_lock=True, root_path=root, **chosen, **kept)
        with httpx.Client(base_url=url, timeout=60) as client:
            config, home = client.get("config").json(), client.get("live/_home")
            assert (config["theme"], config["footer_links"], config["run_history"]) == ("base", [], False)
            assert home.status_code == 200
            assert not config["show_error"]
            assert not demo.ssr_mode
            assert own_files.SHEET in client.get("").text
            for prefix in {"", root}:  # taken off, and kept
                assert client.get(f"{prefix}/{own_files.address('core/dom.js')}").status_code == 200
            assert client.get("lab/play").headers.get("location") == ("play/" if root else None)
            assert shared is None
            assert client.get("live/_access").json()["role"] == "host"
    demo.close()
    assert seen == ["begun", "ended"] * 2
    assert demo.serving.standby.wanted == 2
    assert demo.serving.standby.closed
    assert not demo.serving.incoming.folder.exists()
    wait_until(lambda: not {"supervisor", "cluster"} & {thread.name for thread in {*threading.enumerate()} - before})


# Of each part: its source in the version that requirements.txt names, and by which name Gradio looks it up each time,
# so that what is put there is called. Where one changes with another version: read what it does now and who calls it,
# see that tests/security still holds, then write down the new one.
SEEN = {
    "_update_value_in_config": ("7e5b61f747b0", gr.blocks, "._update_value_in_config("),
    "config_values": ("1b2ea21dc42c", gr.state_holder, "self.config_values = {"),
    "postprocess_output_data": ("210203ddf313", gr.mcp, "self.postprocess_output_data("),
    "_get_or_create_client": ("b7259076c489", gr.mcp, "(self._get_or_create_client)"),
}
ORIGINALS = {
    name: SessionState.__init__ if name == "config_values" else getattr(owner, name)
    for owner, name in (*gradio_parts.PARTS, (SessionState, "config_values"))
}  # at import, before a page of this process has replaced them


@pytest.mark.parametrize("name", SEEN)
def test_each_part_is_as_it_was_when_it_was_replaced(name):
    source = hashlib.sha256(inspect.getsource(ORIGINALS[name]).encode()).hexdigest()[:12]
    seen, caller, words = SEEN[name]
    assert source == seen, f"{name} of Gradio {gr.__version__} has changed: see the comment above"
    assert words in inspect.getsource(caller)


def test_a_page_that_is_served_has_its_own_parts_and_other_apps_have_gradio_s(tmp_path):
    with pages.served("local", tmp_path / "outputs", tmp_path, mcp=True) as served:
        demo = served.running.demo
        session = demo.state_holder["a-session"]
        session._update_value_in_config(next(iter(demo.blocks)), "long")
        assert session.config_values == {}
        assert served.gradio.state_holder is demo.state_holder
        assert {"postprocess_output_data", "_get_or_create_client"} <= vars(demo.mcp_server_obj).keys()
        assert demo._queue.sleep_when_free == page.QUEUE_SECONDS
    assert SessionState(demo).config_values != {}


@pytest.mark.parametrize("lacking", ["a part", "the queue"])
def test_a_gradio_that_lacks_a_part_is_named_and_serves_nobody_else(tmp_path, monkeypatch, lacking):
    later = "of_a_later_version"
    if lacking == "a part":
        monkeypatch.setattr(gradio_parts, "PARTS", (*gradio_parts.PARTS, (gr.utils, later)))
    else:
        monkeypatch.setattr(gradio_parts, "QUEUE", (*gradio_parts.QUEUE, later))
    demo = page.build(tmp_path)
    assert later in gradio_parts.warning(demo, "local")
    for mode in ("classroom", "space"):
        with pytest.raises(InvalidConfig, match=later):
            gradio_parts.warning(demo, mode)
