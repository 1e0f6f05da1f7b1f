"""Starts the web process: checks what can go wrong first, then page, routes and a clean end."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from starlette.middleware import Middleware

from playground import redaction
from playground.errors import InvalidConfig, PlaygroundError, Problem
from playground.runs import bucket, cluster, history
from playground.runs.bucket import BucketThread
from playground.runs.folder.files import make_outputs
from playground.runs.model_service import ModelService
from playground.runs.standby import StandbyWorker
from playground.runs.supervisor import SupervisorThread, every
from playground.runs.sweeps import sweep_making
from playground.setup import limits
from playground.setup.limits import PageLimits
from playground.ui import delivery, page, routes, theme, zero_gpu
from playground.ui.auth import gradio_parts, middleware, sessions, sharing, visitors
from playground.ui.auth.access import Access
from playground.ui.auth.incoming import Incoming
from playground.ui.feed.feed import RECORDED, Hub

LOCAL_HOST = "127.0.0.1"
OPEN_FILES = 65_536  # connections and files, as far as the system lets this process have them
CHORE_SECONDS = 60
EXIT_SECONDS = 10  # the longest that the end of the process may take


class AddressUnusable(PlaygroundError):
    """The port is taken, or the address is not one of this machine."""


class Running(NamedTuple):
    """A started web process."""

    demo: gr.Blocks
    url: str
    hub: Hub
    service: ModelService
    standby: StandbyWorker
    loop: Callable[[], asyncio.AbstractEventLoop | None]
    incoming: Incoming
    greeting: str  # for the terminal; it has the host's token in it
    closing: contextlib.ExitStack

    def close(self) -> None:
        """Stop serving. Training runs go on, unless they are to end with this server."""
        loop = self.loop()
        if loop is not None:
            with contextlib.suppress(TimeoutError, RuntimeError):
                asyncio.run_coroutine_threadsafe(self.hub.close(), loop).result(timeout=2)
        self.closing.close()


def serve(host: str = LOCAL_HOST, port: int = 7860, outputs: Path = Path("outputs"), mode: str | None = None) -> None:
    """Serve the page until SIGINT or SIGTERM, and leave the process `EXIT_SECONDS` after that at the latest."""
    terminal = sys.stdout  # as it is: the greeting shows the host's token
    redaction.cover_streams()
    _allow_open_files()
    os.umask(0o077)  # whatever this process and its children write is for this user alone
    stop = threading.Event()
    previous = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        running = launch(host, port, outputs, mode)
        print(running.greeting, file=terminal, flush=True)
        running.standby.prepare()
        try:
            while not stop.wait(1):  # a signal that another thread received does not wake the main thread
                pass
        finally:
            faulthandler.dump_traceback_later(EXIT_SECONDS, exit=True)  # says where, if a thread hangs
            running.close()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def launch(
    host: str = LOCAL_HOST,
    port: int = 7860,
    outputs: Path = Path("outputs"),
    mode: str | None = None,
    recorded: Path = RECORDED,
    framed_by: str = "",
) -> Running:
    """Start serving in background threads and return. `mode`: by default `space` on Hugging Face Spaces, else `local`.
    `framed_by`: whose pages may show this one in a frame, as a source list of CSP has it.

    Raises: InvalidConfig (mode, port, token, caps, bucket), OutputsNotWritable, AddressUnusable.
    """
    mode = mode_of(mode)
    _check(port, mode)
    os.environ[limits.MODE_VARIABLE] = mode  # for workers and the model service
    token = visitors.token_for(mode)
    page_limits = limits.of_page(mode, os.environ, bool(token))
    outputs = make_outputs(outputs)
    keeper = _keeper(outputs)
    address = listening_address(host, mode)
    _check_free(address, port)
    hub, service = Hub(outputs, recorded), ModelService(outputs)
    standby = zero_gpu.ZeroGpu(outputs) if zero_gpu.is_here() else StandbyWorker()
    proxied = mode == "space" and bool(os.environ.get("SPACE_ID"))
    if isinstance(standby, zero_gpu.ZeroGpu):
        page_limits = PageLimits(*(one._replace(call_seconds=standby.seconds) for one in page_limits))
    access = Access(mode, outputs, token, proxied, page_limits)
    access.framed_by = framed_by
    incoming = Incoming(outputs, access.limits.uploads_bytes)
    demo = page.build(outputs, access, service, standby)
    warning = _gradio_warning(demo, mode)
    closing = contextlib.ExitStack()  # the last one that is put there goes first
    gradio_parts.replace()
    for close in (incoming.close, standby.close, service.close):
        closing.callback(close)
    url, loop = _serve_gradio(demo, address, port, hub, access, service, incoming)
    access.share = sharing.addresses(address, port, mode)
    greeting = warning + sharing.greeting(url, access.share, mode, token, outputs)
    chores = [every(CHORE_SECONDS, chore) for chore in (incoming.sweep, lambda: _tidy(outputs, access.limits))]
    # It adopts what lives, ends what died, starts others.
    watch = SupervisorThread(outputs, spawn=standby.worker_for, chores=chores)
    for thread in (watch, cluster.ClusterThread(outputs)):
        thread.start()
        closing.callback(thread.close)
    closing.callback(demo.close, verbose=False)
    if keeper:
        closing.callback(keeper.close)
        keeper.start()
    return Running(demo, url, hub, service, standby, loop, incoming, greeting, closing)


def _serve_gradio(
    demo: gr.Blocks, address: str, port: int, hub: Hub, access: Access, service: ModelService, incoming: Incoming
) -> tuple[str, Callable[[], asyncio.AbstractEventLoop | None]]:
    """Start Gradio with our routes, behind the middleware. Returns its address, and what gives its event loop."""
    loops: list[asyncio.AbstractEventLoop] = []
    doorkeeper = Middleware(
        middleware.RequestMiddleware,
        access=access,
        listening=address,
        names=middleware.more_names(os.environ),
        incoming=incoming,
    )

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        loops.append(asyncio.get_running_loop())
        forgetting = asyncio.create_task(sessions.forget_unread(demo))
        yield
        forgetting.cancel()

    own = {
        "routes": routes.routes(hub, access, service),
        "middleware": [Middleware(delivery.Delivery, ahead=page.ahead(demo, access)), doorkeeper],
        "lifespan": lifespan,
        "openapi_url": None,
    }
    _, url, _ = demo.launch(
        server_name=address,
        server_port=port,
        prevent_thread_lock=True,
        quiet=True,
        inline=False,  # in a notebook, `Run.show` says where it is seen
        share=False,
        ssr_mode=False,
        run_history=False,
        footer_links=[],
        show_error=False,
        enable_monitoring=False,
        max_file_size=access.limits.upload_bytes,
        state_session_capacity=500,
        allowed_paths=[],
        theme=theme.theme(),
        head=page.head(),
        app_kwargs=own,
    )
    return url, lambda: loops[0] if loops else None


def _keeper(outputs: Path) -> BucketThread | None:
    """Bring back what a bucket has kept, and what keeps what comes; None where there is no bucket."""
    backend = bucket.of_environment(os.environ, outputs)
    if backend is None:
        return None
    restored = bucket.restore(backend, outputs)
    sweep_making.count_anew(outputs)
    return BucketThread(outputs, backend, restored)


def _gradio_warning(demo: gr.Blocks, mode: str) -> str:
    """What to say where this Gradio lacks something that the page's safety rests on. Raises: InvalidConfig, on a page
    for others, which does not start like that."""
    lacking = gradio_parts.missing(demo)
    if not lacking:
        return ""
    sentence = (
        f"Gradio {gr.__version__} does not have {', '.join(lacking)}, which keeps visitors from filling this server. "
        "Install the version that requirements.txt names (pip install -r requirements.txt)."
    )
    if mode != "local":
        raise InvalidConfig([Problem("gradio", sentence)])
    return f"Warning: {sentence}\n"


def _allow_open_files() -> None:
    """Take the open files that the system would give: often 1,024 are set, which a few hundred connections use up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    wanted = OPEN_FILES if hard == unlimited else min(hard, OPEN_FILES)
    if soft != unlimited and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # some systems give fewer than they say; then it stays
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def listening_address(host: str, mode: str) -> str:
    """The default host becomes GRADIO_SERVER_NAME (set in the Docker image), or all addresses where only that works."""
    if host != LOCAL_HOST:
        return host
    if os.environ.get("GRADIO_SERVER_NAME"):
        return os.environ["GRADIO_SERVER_NAME"]
    return "0.0.0.0" if mode != "local" or os.environ.get("SPACE_ID") else LOCAL_HOST


def mode_of(mode: str | None) -> str:
    """The mode that was asked for; without one, what the place says: public on Spaces, else local."""
    return mode or ("space" if os.environ.get("SPACE_ID") else "local")


def _tidy(outputs: Path, capped: limits.Limits) -> None:
    """What is kept of sweeps goes with their last runs. Where everyone may start runs, only the newest stay."""
    sweep_making.forget_gone(outputs)
    if capped.kept_runs is not None and capped.kept_runs_bytes is not None:
        history.keep_newest(outputs, capped.kept_runs, capped.kept_runs_bytes)


def _check(port: int, mode: str) -> None:
    problems = []
    if mode not in limits.MODES:
        problems.append(Problem("mode", f"must be one of {', '.join(limits.MODES)} (got {mode!r})."))
    if not 1 <= port <= 65535:
        problems.append(Problem("port", f"must be between 1 and 65535 (got {port})."))
    if problems:
        raise InvalidConfig(problems)


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
