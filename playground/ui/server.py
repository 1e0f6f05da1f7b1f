"""Starts the web process: checks what can go wrong first, then serves the page and ends cleanly.

What `demo` does in any process, this one does in a process of its own: signals, open files, what streams show.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.util
import os
import resource
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import NamedTuple

from playground import redaction, to_install
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.lessons import loading
from playground.lessons.loading import Lessons
from playground.runs.folder.files import make_outputs
from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.setup import devices, limits
from playground.ui import page, zero_gpu
from playground.ui.auth import sharing, visitors
from playground.ui.demo import Demo
from playground.ui.feed.feed import RECORDED
from playground.ui.serving import Serving, rules

OPEN_FILES = 65_536  # connections and files, as far as the system lets this process have them
EXIT_SECONDS = 10  # the longest that the end of the process may take


class AddressUnusable(PlaygroundError):
    """The port is taken, or the address is not one of this machine."""


class Running(NamedTuple):
    """A started web process."""

    demo: Demo
    url: str
    greeting: str  # for the terminal; it has the host's token in it

    def close(self) -> None:
        """Stop serving. Training runs go on, unless they are to end with this server."""
        self.demo.close(verbose=False)


def serve(
    host: str | None = None,
    port: int = 7860,
    outputs: Path = Path("outputs"),
    mode: str | None = None,
    share: bool = False,
    mcp: bool = False,
) -> None:
    """Serve the page until SIGINT or SIGTERM, and leave the process `EXIT_SECONDS` after that at the latest. See
    `launch`."""
    terminal = sys.stdout  # as it is: the greeting shows the host's token
    redaction.cover_streams()
    _allow_open_files()
    os.umask(0o077)  # whatever this process and its children write is for this user alone
    stop = threading.Event()
    previous = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        running = launch(host, port, outputs, mode, None, share, mcp)
        print(running.greeting, file=terminal, flush=True)
        try:
            while not stop.wait(1):  # a signal that another thread received does not wake the main thread
                pass
        finally:
            faulthandler.dump_traceback_later(EXIT_SECONDS, exit=True)  # says where, if a thread hangs
            running.close()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def new_demo(outputs: Path = Path("outputs"), mode: str | None = None, recorded: Path | None = None) -> Demo:
    """The page, to be served: by its `launch` or its `mount`. Nothing is made or started before.

    Args:
        mode: by default `space` on Hugging Face Spaces, else `local`.

    Raises: InvalidConfig (mode, token, caps, lessons).
    """
    mode = mode_of(mode)
    if mode not in limits.MODES:
        raise InvalidConfig([_wrong_mode(mode)])
    keeps_host = not os.environ.get(visitors.TOKEN_VARIABLE)  # a token that lasts, or is changed, decides alone
    token = visitors.token_for(mode)
    service = ModelService(outputs)
    standby = zero_gpu.ZeroGpu(outputs) if devices.on_zero_gpu() else StandbyWorker()
    calls = None
    if isinstance(standby, zero_gpu.ZeroGpu):
        calls = standby.calls
    access = rules(mode, outputs, token, calls, keeps_host=keeps_host)
    lessons = Lessons(loading.own_folder())
    return page.of_serving(
        Serving(outputs, access, service, standby, token=token, recorded=recorded or RECORDED, lessons=lessons)
    )


def launch(
    host: str | None = None,
    port: int = 7860,
    outputs: Path = Path("outputs"),
    mode: str | None = None,
    recorded: Path | None = None,
    share: bool = False,
    mcp: bool = False,
) -> Running:
    """Start serving in background threads and return.

    Args:
        host: the address to listen on; see `sharing.listening_address`.
        mode: see `new_demo`. share: a public address too, for which a page of one's own becomes a class's.
        mcp: whether Gradio offers what has a name as tools for agents.

    Raises: InvalidConfig (mode, port, mcp, token, caps, lessons), OutputsNotWritable, AddressUnusable.
    """
    mode = mode_of(mode)
    _check(port, mode, mcp)
    make_outputs(outputs)
    address = sharing.listening_address(host, mode)
    _check_free(address, port)
    demo = new_demo(outputs, mode, recorded)
    demo.launch(
        server_name=address,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        inline=False,
        share=share or None,
        mcp_server=mcp or None,
    )
    return Running(demo, str(demo.local_url), demo.greeting())


def _allow_open_files() -> None:
    """Take the open files that the system would give: often 1,024 are set, which a few hundred connections use up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    limit = OPEN_FILES
    if hard != unlimited:
        limit = min(hard, OPEN_FILES)
    if soft != unlimited and soft < limit:
        with contextlib.suppress(OSError, ValueError):  # some systems give fewer than they say; then it stays
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def mode_of(mode: str | None) -> str:
    """The mode that was asked for; without one, what the place says: public on Spaces, else local."""
    if not mode and os.environ.get("SPACE_ID"):
        return "space"
    return mode or "local"


def _check(port: int, mode: str, mcp: bool) -> None:
    problems = []
    if mode not in limits.MODES:
        problems.append(_wrong_mode(mode))
    if not 1 <= port <= 65535:
        problems.append(Problem("port", f"must be between 1 and 65535 (got {port})."))
    if mcp and importlib.util.find_spec("mcp") is None:
        problems.append(Problem("mcp", f"needs one more package: {to_install('mcp')}"))
    if problems:
        raise InvalidConfig(problems)


def _wrong_mode(mode: str) -> Problem:
    return Problem("mode", f"must be one of {', '.join(limits.MODES)} (got {mode!r}).")


def _check_free(address: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except PermissionError:
        raise AddressUnusable(f"Port {port} needs administrator rights. Choose one above 1023 with --port.") from None
    except socket.gaierror:
        raise AddressUnusable(f"There is no address `{address}` on this machine. Try --host 127.0.0.1.") from None
    except OSError as error:
        if error.errno == 98 or "in use" in str(error).lower():
            raise AddressUnusable(
                f"Port {port} is in use by another program. Choose another one, for example --port {port + 1}."
            ) from None
        raise AddressUnusable(f"Cannot listen on {address}, port {port}: {error.strerror}.") from None
