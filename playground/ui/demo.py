"""The page as a Gradio app that is served with everything: by its `launch`, or by its `mount` within another app.

What `app_kwargs` says is all that there is to attach to the web app that Gradio makes around a page: our routes, the
middleware that guards them and Gradio's, and the lifespan in which what works beside the page begins and ends. What is
on the page, `page` says.
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
from starlette.routing import BaseRoute, Route

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

    mounted_at: str | None = None  # the path in another app
    _launched_by = 0  # the thread

    def __init__(self, title: str, contents: Contents, serving: Serving) -> None:
        with gradio_parts.no_folder():
            super().__init__(title=title, delete_cache=(3600, 3600), analytics_enabled=False)
        self.contents, self.serving = contents, serving
        self.listening: str | None = None  # the address of `launch`; None within another app
        self.warning = ""  # for the terminal
        self._mode = serving.access.mode  # without a public address
        self._greets = self._shares = False
        self._loop: asyncio.AbstractEventLoop | None = None
        with gradio_parts.no_folder():
            contents.fill(self)

    def launch(self, *arguments: Any, **options: Any) -> Any:
        """As Gradio's own `launch`, with everything. What the page looks like and what Gradio shows of itself is not to
        be chosen. With `share`, a page of one's own becomes a class's: strangers watch, who has the token steers.

        Raises: PartOfAnotherApp, OwnRoles, OutputsNotWritable, InvalidConfig.
        """
        chosen = inspect.signature(gr.Blocks.launch).bind(self, *arguments, **options).arguments
        chosen.pop("self")
        if self.mounted_at is not None:
            raise PartOfAnotherApp("This page is mounted in another app already. Make another one for `launch`.")
        if self.is_running:
            self.close(verbose=False)
        chosen["share"] = self._shares = self.space_id is None and wants_share(chosen.get("share"))
        mode = self._mode
        if self._shares and mode == "local":
            mode = "classroom"
        if mode != self.serving.access.mode:
            self.serving.become(mode)
            self.clear()
            with gradio_parts.no_folder():
                self.contents.fill(self)
        self.listening = chosen.get("server_name") or sharing.listening_address(None, self._mode)
        chosen |= {"server_name": self.listening, "state_session_capacity": SESSIONS, **self._looks()}
        chosen["_frontend"] = False  # else Gradio asks for the page and gives up where a busy machine takes 3 seconds
        self._greets = self.serving.access.mode == "classroom" and not chosen.get("quiet")
        self._launched_by = threading.get_ident()
        try:
            self._prepare()
            chosen["app_kwargs"] = self.app_kwargs(chosen)
            with gradio_parts.no_folder():
                answer = super().launch(**chosen)
        except BaseException:
            self.close(verbose=False)
            raise
        self._greet()
        return answer

    def mount(self, app: Any, path: str, **options: Any) -> Any:
        """As `gr.mount_gradio_app(app, demo, path)`, with everything; the app. Raises: OwnRoles."""
        self.mounted_at, self.state_session_capacity = path, SESSIONS
        options |= self._looks()
        options["app_kwargs"] = self.app_kwargs(options)
        with gradio_parts.no_folder():
            return gr.mount_gradio_app(app, self, path, **options)

    @property
    def custom_mount_path(self) -> str | None:
        """What Gradio calls the path in another app. Raises: PartOfAnotherApp, where Gradio mounts it without what
        guards it."""
        return self.mounted_at

    @custom_mount_path.setter
    def custom_mount_path(self, path: str | None) -> None:
        if path != self.mounted_at:
            raise PartOfAnotherApp("Mount this page by its own `demo.mount(app, path)`, which brings what guards it.")

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
        url, shared = self.local_url, None
        if self.share_url and (self.is_colab or self.is_hosted_notebook):
            url = self.share_url
        if self._shares:
            shared = self.share_url or ""
        return self.warning + sharing.greeting(
            f"{str(url).rstrip('/')}/", addresses, serving.access.mode, serving.token, serving.outputs, shared
        )

    def addresses(self) -> list[str]:
        """Those to hand out; none where the page does not know its own."""
        if self.listening is None or not self.is_running:
            return []
        addresses = sharing.addresses(self.listening, self.server_port, self.serving.access.mode)
        if self.share_url:
            addresses.append(f"{self.share_url}/")
        return addresses

    def share_name(self) -> str:
        """The name under which strangers come through Gradio's tunnel; "" without one."""
        if self.share_url:
            return visitors.host_name(self.share_url.partition("://")[2])
        return ""

    def app_kwargs(self, options: dict[str, Any]) -> dict[str, Any]:
        """What the web app around this page is made with: what the options of `launch` or `mount` ask for, behind what
        is ours. Routes of others belong into the app in which the page is mounted: the middleware lets in what the page
        needs. Raises: OwnRoles."""
        app_options = options.pop("app_kwargs", None) or {}
        if options.get("auth") is not None or options.get("auth_dependency") is not None:
            raise OwnRoles(
                "This page knows a host and visitors, not Gradio's logins: leave out `auth` and `auth_dependency`, and "
                'make it with new_demo(mode="classroom"), where only who has the token does more than watch.'
            )
        mounted = self.mounted_at is not None
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
            mount=self.mounted_at or "",
        )
        return {
            **app_options,
            "routes": [
                *routes.routes(self.serving.hub, access, self.serving.service),
                *classroom(self.serving),
                *(Route(path, self.serving.incoming.receive, methods=["POST"]) for path in middleware.UPLOADS),
            ],
            "middleware": [
                guard,
                Middleware(delivery.Delivery, ahead=self.contents.ahead(self)),
                *app_options.get("middleware", []),
            ],
            "lifespan": self._lifespan(app_options.get("lifespan")),
            "openapi_url": None,
        }

    def _looks(self) -> dict[str, Any]:
        """Its look and its bounds."""
        looks = {"theme": theme.theme(), "head": self.contents.head(), "footer_links": [], "run_history": False}
        closed = {"show_error": False, "enable_monitoring": False, "ssr_mode": False}
        return {**looks, **closed, "max_file_size": self.serving.access.limits.upload_bytes}

    def _lifespan(self, host_lifespan: Any) -> Any:
        @contextlib.asynccontextmanager
        async def lifespan(app: Any) -> AsyncIterator[None]:
            await asyncio.to_thread(self._prepare)
            self._loop = asyncio.get_running_loop()
            gradio_parts.set_on(app, self)
            app.uploaded_file_dir = self.serving.incoming.told
            for block in self.blocks.values():
                block.GRADIO_CACHE = app.uploaded_file_dir
            await asyncio.to_thread(self.serving.begin)
            forgetting = asyncio.create_task(sessions.forget_unread(self))
            try:
                async with host_lifespan(app) if host_lifespan else contextlib.nullcontext():
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
        within = None
        if self.mounted_at is not None:
            within = Path(utils.get_upload_folder())
        self.serving.prepare(within)

    def _greet(self) -> None:
        if self._greets:
            self._greets = False
            print(self.greeting(), flush=True)


def wants_share(share: bool | None) -> bool:
    """Whether Gradio would make a public address: asked for in the call, in the environment, or by a notebook that
    cannot be reached otherwise."""
    if share is not None:
        return share
    named = os.environ.get("GRADIO_SHARE", "").lower() == "true"
    return named or utils.colab_check() or utils.is_hosted_notebook()
