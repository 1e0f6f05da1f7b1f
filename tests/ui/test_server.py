"""What can go wrong before the page is up, and what the web process must not hold."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from gradio import networking

from playground.errors import InvalidConfig
from playground.setup import limits
from playground.ui import own_files, server
from playground.ui.auth import sharing
from tests.security import pages
from tests.support import wait_until
from tests.test_layers import HEAVY
from tests.ui.conftest import free_port

PROJECT = Path(__file__).resolve().parents[2]


def test_a_port_in_use_is_one_sentence_before_anything_starts(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(server.AddressUnusable, match=f"Port {port} is in use"):
            server.launch(port=port, outputs=tmp_path)


def test_mode_and_port_are_checked_together(tmp_path):
    with pytest.raises(InvalidConfig) as caught:
        server.launch(port=0, outputs=tmp_path, mode="clasroom")
    assert [problem.field for problem in caught.value.problems] == ["mode", "port"]


@pytest.mark.parametrize(
    ("host", "mode", "variables", "expected"),
    [
        ("127.0.0.1", "local", {}, "127.0.0.1"),
        ("127.0.0.1", "local", {"GRADIO_SERVER_NAME": "0.0.0.0"}, "0.0.0.0"),
        ("127.0.0.1", "local", {"SPACE_ID": "a/b"}, "0.0.0.0"),
        ("127.0.0.1", "classroom", {}, "0.0.0.0"),
        ("localhost", "classroom", {}, "localhost"),
        ("10.0.0.5", "space", {"GRADIO_SERVER_NAME": "0.0.0.0"}, "10.0.0.5"),
    ],
)
def test_the_listening_address(host, mode, variables, expected, monkeypatch):
    for name in ("GRADIO_SERVER_NAME", "SPACE_ID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert sharing.listening_address(host, mode) == expected


def test_the_page_is_imported_as_gradio_s_and_nothing_begins_before_it_is_served(tmp_path):
    """`from app import demo`: no torch, no telemetry, no thread, no child, no folder."""
    code = (
        "import sys, threading, psutil; from app import demo; import gradio, app; "
        "assert isinstance(demo, gradio.Blocks) and demo is app.demo; "
        f"heavy = {HEAVY | {'bokeh', 'playground.training'}!r} & set(sys.modules); assert not heavy, heavy; "
        "import os; assert os.environ['GRADIO_ANALYTICS_ENABLED'] == 'False'; "
        "assert len(threading.enumerate()) == 1 and not psutil.Process().children(); "
        "assert not os.path.exists(os.environ['PLAYGROUND_OUTPUTS']) and 'GRADIO_TEMP_DIR' not in os.environ"
    )
    environment = {name: value for name, value in os.environ.items() if name != "GRADIO_TEMP_DIR"}
    environment["PLAYGROUND_OUTPUTS"] = str(tmp_path / "outputs")
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    assert not list((PROJECT / "playground" / "ui").glob("*.pyi")), "Gradio writes them beside subclasses"


def test_a_thread_that_hangs_does_not_keep_the_process(tmp_path):
    code = (
        "import os, signal, threading; from pathlib import Path; from types import SimpleNamespace; "
        "from playground.ui import server; server.EXIT_SECONDS = 1; "
        "running = SimpleNamespace(greeting='', "
        "close=lambda: threading.Event().wait()); "
        "end = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)); "
        "server.launch = lambda *_: end.start() or running; "
        f"server.serve(outputs=Path({str(tmp_path)!r}))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 1
    assert "in serve" in ended.stderr  # the stack says what it waited for


def test_gradio_s_own_call_serves_it_with_everything_and_once_more(tmp_path, monkeypatch):
    """As a cell of a notebook that is run twice. What the page looks like is not to be chosen."""
    monkeypatch.setattr(server, "StandbyWorker", pages.CountingStandby)
    monkeypatch.setenv(limits.MODE_VARIABLE, "")
    monkeypatch.setattr(networking, "url_ok", lambda url: False)  # as where an answer takes longer than 3 seconds
    before, seen, port = set(threading.enumerate()), [], free_port()

    @contextlib.asynccontextmanager
    async def theirs(app):
        seen.append("begun")
        yield
        seen.append("ended")

    demo = server.new_demo(tmp_path / "outputs", "local", tmp_path)
    for _ in range(2):
        chosen = {"theme": "soft", "show_error": True, "footer_links": ["api"], "ssr_mode": True, "run_history": True}
        kept = {"server_port": port, "app_kwargs": {"lifespan": theirs}, "quiet": True}
        _, url, shared = demo.launch(prevent_thread_lock=True, **chosen, **kept)
        with httpx.Client(base_url=url, timeout=60) as client:
            config, home = client.get("config").json(), client.get("live/_home")
            assert (config["theme"], config["footer_links"], config["run_history"]) == ("base", [], False)
            assert home.status_code == 200
            assert not config["show_error"]
            assert not demo.ssr_mode
            assert own_files.SHEET in client.get("").text
            assert shared is None
            assert client.get("live/_access").json()["role"] == "host"
    demo.close()
    assert seen == ["begun", "ended"] * 2
    assert demo.serving.standby.wanted == 2
    assert demo.serving.standby.closed
    assert not demo.serving.incoming.folder.exists()
    wait_until(lambda: not any(one.name in ("supervisor", "cluster") for one in set(threading.enumerate()) - before))
