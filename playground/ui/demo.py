"""The page as a Gradio app that is served with everything: by its `launch`, or within another app.

Gradio makes the web app around a page in one function, for `launch` and for `gr.mount_gradio_app`, and `gradio_parts`
has it ask the page first. What `app_kwargs` answers is all that there is to attach: our routes, the middleware that
guards them and Gradio's, and the lifespan in which what works beside the page begins and ends. What is on the page,
`page` says.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
from gradio import utils
from gradio.tunneling import CURRENT_TUNNELS
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from playground.errors import PlaygroundError
from playground.ui import delivery, routes, theme
from playground.ui.auth import gradio_parts, middleware, sessions, sharing, visitors
from playground.ui.classroom import class_routes
from playground.ui.classroom.classroom import Classroom
from playground.ui.serving import Serving

SESSIONS = 500  # whose states Gradio keeps


def classroom(serving: Serving) -> list[BaseRoute]:
    """The addresses of the class, for what serves them."""
    workers = serving.standby
    return class_routes.routes(
        Classroom(serving.room, serving.hub, serving.access, serving.service, workers), serving.access
    )


class PartOfAnotherApp(PlaygroundError):
    """It is mounted there, and cannot be launched as well."""


class OwnRoles(PlaygroundError):
    """It was to be served with logins of Gradio's, which would guard a part of it only."""


class Contents(NamedTuple):
    """What is on a page: `fill` puts it there; `head` and `ahead` are HTML for the document's head."""

    fill: Callable[[Demo], None]
    head: Callable[[], str]
    ahead: Callable[[Demo], str]


class Demo(gr.Blocks):
    """A page and what serves it. Before it is served it has made no file and started nothing."""

    # Gradio makes an app around it before it says of either what it is
    exited = False
    css_paths = ()
    _launched_by = 0  # the thread

    def __init__(self, title: str, contents: Contents, serving: Serving) -> None:
        gradio_parts.replace()
        super().__init__(title=title, delete_cache=(3600, 3600), analytics_enabled=False)
        self.contents, self.serving = contents, serving
        self.listening: str | None = None  # the address of `launch`; None within another app
        self.warning = ""  # for the terminal
        self._mode = serving.access.mode  # without a public address
        self._greets = self._shares = False
        self._loop: asyncio.AbstractEventLoop | None = None
        contents.fill(self)

    def launch(self, *arguments: Any, **options: Any) -> Any:
        """As Gradio's own `launch`, with everything. What the page looks like and what Gradio shows of itself is not to
        be chosen. With `share`, a page of one's own becomes a class's: strangers watch, who has the token steers.

        Raises: PartOfAnotherApp, OwnRoles, OutputsNotWritable, InvalidConfig.
        """
        given = inspect.signature(gr.Blocks.launch).bind(self, *arguments, **options).arguments
        given.pop("self")
        if self.custom_mount_path is not None:
            raise PartOfAnotherApp("This page is mounted in another app already. Make another one for `launch`.")
        if self.is_running:
            self.close(verbose=False)
        given["share"] = self._shares = self.space_id is None and wants_share(given.get("share"))
        mode = "classroom" if self._shares and self._mode == "local" else self._mode
        if mode != self.serving.access.mode:
            self.serving.become(mode)
            self.clear()
            self.contents.fill(self)
        self.listening = given.get("server_name") or sharing.listening_address(None, self._mode)
        given |= {"server_name": self.listening, "ssr_mode": False, "enable_monitoring": False}
        given["_frontend"] = False  # else Gradio asks for the page and gives up where a busy machine takes 3 seconds
        self._greets = self.serving.access.mode == "classroom" and not given.get("quiet")
        self._launched_by = threading.get_ident()
        try:
            self._prepare()
            answer = super().launch(**given)
        except BaseException:
            self.close(verbose=False)
            raise
        self._greet()
        return answer

    @property
    def share(self) -> bool:
        """Whether there is to be a public address. Only `launch` is told: of a page that says so to those who ask for
        it, Gradio has each browser load the scripts from elsewhere."""
        return self._share and threading.get_ident() == self._launched_by

    @share.setter
    def share(self, value: bool) -> None:
        self._share = value

    def close(self, verbose: bool = True) -> None:
        """Stop serving, and all that works beside the page. Training runs go on, unless they are to end with it."""
        if self._loop is not None and self.is_running:  # else the server would wait for who watches
            with contextlib.suppress(TimeoutError, RuntimeError):
                asyncio.run_coroutine_threadsafe(self.serving.hub.close(), self._loop).result(timeout=2)
        for tunnel in CURRENT_TUNNELS:  # it would lead strangers to what listens there next
            if tunnel.share_token == self.share_token:
                tunnel.kill()
        self.share_url = None
        super().close(verbose)
        self.serving.end()

    def block_thread(self) -> None:
        """Until Ctrl-C. Not Gradio's own, which would wait for those who watch before they are let go."""
        self._greet()
        try:
            with contextlib.suppress(KeyboardInterrupt):
                while self.is_running:
                    time.sleep(0.1)
        finally:
            self.close(verbose=False)

    def greeting(self) -> str:
        """For the terminal, once the page answers; it has the host's token in it."""
        serving, addresses = self.serving, self.addresses()
        url = self.share_url if self.share_url and (self.is_colab or self.is_hosted_notebook) else self.local_url
        shared = (self.share_url or "") if self._shares else None
        return self.warning + sharing.greeting(
            f"{str(url).rstrip('/')}/", addresses, serving.access.mode, serving.token, serving.outputs, shared
        )

    def addresses(self) -> list[str]:
        """Those to hand out; none where the page does not know its own."""
        if self.listening is None or not self.is_running:
            return []
        found = sharing.addresses(self.listening, self.server_port, self.serving.access.mode)
        return [*found, *([f"{self.share_url}/"] if self.share_url else [])]

    def share_name(self) -> str:
        """The name under which strangers come through Gradio's tunnel; "" without one."""
        return visitors.host_name(self.share_url.partition("://")[2]) if self.share_url else ""

    def app_kwargs(self, given: dict[str, Any] | None = None, login: Any = None) -> dict[str, Any]:
        """What the web app around this page is made with: what the call asks for, behind what is ours. Routes of others
        belong into the app in which the page is mounted: the middleware lets in what the page needs. Raises: OwnRoles.
        """
        given = given or {}
        if not self.exited:
            return given  # the page is being filled: no one serves this app
        if self.auth is not None or login is not None:
            raise OwnRoles(
                "This page knows a host and visitors, not Gradio's logins: leave out `auth` and `auth_dependency`, and "
                'make it with new_demo(mode="classroom"), where only who has the token does more than watch.'
            )
        self._dress()
        mounted = self.custom_mount_path is not None
        access = self.serving.access
        access.addresses, access.share_name = self.addresses, self.share_name
        access.person_of = self.serving.room.taking_part
        access.mcp = lambda: self.mcp_server_obj is not None
        guard = Middleware(
            middleware.RequestMiddleware,
            access=access,
            listening=None if mounted else self.listening,
            names=middleware.more_names(os.environ),
            incoming=self.serving.incoming,
            mount=self.custom_mount_path or "",
        )
        return {
            **given,
            "routes": [*routes.routes(self.serving.hub, access, self.serving.service), *classroom(self.serving)],
            "middleware": [
                guard,
                Middleware(delivery.Delivery, ahead=self.contents.ahead(self)),
                *given.get("middleware", []),
            ],
            "lifespan": self._lifespan(given.get("lifespan")),
            "openapi_url": None,
        }

    def _dress(self) -> None:
        """Its look and its bounds, which Gradio has just set to its own."""
        vars(self).update(theme=theme.theme(), head=self.contents.head())
        self._set_html_css_theme_variables()
        self.footer_links, self.run_history = [], False
        self.show_error, self.enable_monitoring, self.ssr_mode = False, False, False
        self.max_file_size, self.state_session_capacity = self.serving.access.limits.upload_bytes, SESSIONS

    def _lifespan(self, theirs: Any) -> Any:
        @contextlib.asynccontextmanager
        async def lifespan(app: Any) -> AsyncIterator[None]:
            await asyncio.to_thread(self._prepare)
            self._loop = asyncio.get_running_loop()
            app.uploaded_file_dir = self.serving.incoming.told
            for block in self.blocks.values():
                block.GRADIO_CACHE = app.uploaded_file_dir
            await asyncio.to_thread(self.serving.begin)
            forgetting = asyncio.create_task(sessions.forget_unread(self))
            try:
                async with theirs(app) if theirs else contextlib.nullcontext():
                    yield
            finally:
                forgetting.cancel()
                await self.serving.hub.close()
                try:
                    await asyncio.to_thread(self.serving.end)
                except RuntimeError:  # at the end of a notebook's process there are no more threads
                    self.serving.end()

        return lifespan

    def _prepare(self) -> None:
        self.warning = gradio_parts.warning(self, self.serving.access.mode)
        within = None if self.custom_mount_path is None else Path(utils.get_upload_folder())
        self.serving.prepare(within)

    def _resolve_ssr_mode(self, *_: Any, **__: Any) -> bool:
        """Never: the scripts of this page are for browsers."""
        return False

    def _greet(self) -> None:
        if self._greets:
            self._greets = False
            print(self.greeting(), flush=True)


def wants_share(asked: bool | None) -> bool:
    """Whether Gradio would make a public address: asked for in the call, in the environment, or by a notebook that
    cannot be reached otherwise."""
    if asked is not None:
        return asked
    named = os.environ.get("GRADIO_SHARE", "").lower() == "true"
    return named or utils.colab_check() or utils.is_hosted_notebook()
