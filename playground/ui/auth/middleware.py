"""What every request passes before anything else: an ASGI middleware around Gradio's routes and ours.

It refuses what another site's page makes a browser send (it would carry our cookies), requests under a name that is not
this server's (a name that an attacker lets point here), more calls than a class makes, bodies that are too large, too
slow or hold too many values, files where none are taken, and all of Gradio's addresses but those that this page needs.
A handler that fails is answered for. It adds headers that keep browsers
from guessing types, leaking addresses, framing the page and loading anything from elsewhere.

Pure ASGI: answers pass without a buffer, also a stream of events; the JSON of a call is read whole, to see what it
names. `demo` puts it in; knows `access` and `sessions`.
"""

from __future__ import annotations

import contextlib
import logging
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from playground.errors import InvalidConfig, NotAllowed, Problem, in_words
from playground.ui.auth import calls, sessions, visitors
from playground.ui.auth.access import FAILED, MANY_CALLS, Access, Action, Role
from playground.ui.auth.body import Body, too_large
from playground.ui.auth.incoming import FULL, Incoming

HOSTS_VARIABLE = "PLAYGROUND_HOSTS"  # more names of the page, for example behind a proxy: "a.example,b.example:8080"
EMBED_VARIABLE = "PLAYGROUND_EMBEDDED_BY"  # sites whose pages may have a lesson in a frame: "https://school.example"
NOT_EMBEDDED = (
    "A lesson was not shown in a page of another site: start the playground with PLAYGROUND_EMBEDDED_BY=https://SITE, "
    "the site of that page (docs/classroom.md, A lesson in your own page)."
)
SITE = re.compile(r"https?://(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?")
OF_LESSON = {"lesson", "embed", "run", "lang", "__theme"}  # the query of a lesson alone has no other name
GRADIO = "/gradio_api/"
UPLOADS = ("/gradio_api/upload", "/gradio_api/upload/")  # in the place of Gradio's own (`Incoming.receive`)
FORM_OVERHEAD_BYTES = 64_000  # of an upload beside the file itself
# Of a request by who may only watch, which is read and parsed before a handler can refuse it. A watcher's page sends
# the form that it was filled with, in vain: under 6 kB for a preset, more for a run with typed prompts.
WATCHERS_BYTES = 64_000
OF_CLASS = re.compile(r"/class(/.*)?", re.DOTALL)  # whose bodies are as small for everyone
BODY_SECONDS = 120.0  # for a body to come; 20 MB need 1.3 Mbit/s
BUSY = "Too many requests from your address are open here. Close some pages, or wait a little."
OURS = re.compile(r"/(live|playground|class)/.*|/(host|class)/?", re.DOTALL)
# All of Gradio's addresses that the page asks for, and those by which programs call (`calls`), by method; whatever else
# this Gradio or another has is not there.
NEEDED = {
    "GET": re.compile(
        r"/|/(config|theme\.css|manifest\.json|favicon\.ico|robots\.txt|pwa_icon(/\d+)?)/?|/(assets|svelte)/.*"
        r"|/static/(?![0-9a-f]{16}/).*"  # in such a folder, below /playground, lie ours
        r"|/gradio_api/((info|app_id|theme\.css|startup-events|queue/data)/?|heartbeat/.*|call/(v2/)?[^/]+/[^/]+)",
        re.DOTALL,
    ),
    "POST": re.compile(r"/gradio_api/(queue/join|run/predict|component_server|upload|cancel|reset|call/(v2/)?[^/]+)/?"),
}
WAYS_IN = {  # where only own names are answered; a public page is as public under any other
    "local": "Open it as 127.0.0.1 or localhost",
    "classroom": "Open an address that the terminal showed at the start",
}
ANYWHERE = ("0.0.0.0", "::", "")  # listening addresses that mean all of them
ONLY_HERE = 'This page is only for the computer it runs on; for others make it with new_demo(mode="classroom").'
POLICY = (  # Gradio compiles templates in the browser
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors"
)
_log = logging.getLogger(__name__)
SELF = "'self'"
FRAMES = f"{SELF} https://huggingface.co https://*.huggingface.co https://*.hf.space"  # that may show a Space


# Of these no browser makes a page, so what a page may do is not said with them: it would be half of a small file.
PARTS = re.compile(r"(text|application)/(javascript|css)|font/")
OF_PAGES = {"content-security-policy", "x-frame-options", "referrer-policy"}


class _Answering:
    """`send` with more headers, where the answer has none of the name. `started`: whether an answer has begun."""

    def __init__(self, send: Send, headers: Mapping[str, str], cookie: str | None) -> None:
        self.started, self._send, self._headers, self._cookie = False, send, headers, cookie

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            is_part = bool(PARTS.match(headers.get("content-type", "")))
            for name, value in self._headers.items():
                if not (is_part and name in OF_PAGES):
                    headers.setdefault(name, value)
            if self._cookie:
                headers.append("set-cookie", self._cookie)
        await self._send(message)


class RequestMiddleware:
    """Lets in what may come in, and answers the rest itself.

    Args:
        listening: the address that the server listens on; None where the page is part of another app, which does not
            tell. names: others that it is reached by.
        incoming: where uploads go, which is asked for room before one is read.
        mount: the path at which the page lies in another app.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        listening: str | None = "127.0.0.1",
        names: Iterable[str] = (),
        incoming: Incoming | None = None,
        mount: str = "",
    ) -> None:
        self.app, self.access, self.incoming, self.mount = app, access, incoming, mount
        self.names = {name.strip().lower() for name in names if name.strip()}
        self.only_here = listening is None and access.mode == "local"  # the other app may be there for everyone
        self.own_names = own_names(listening or "")
        self.any_address = (listening or "") in ANYWHERE
        self.headers = headers_of(access.mode, access.framed_by)
        self.headers_of_embedded = headers_of(access.mode, f"{access.framed_by} {access.embedded_by}".strip())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        root, path = prefix_and_path(scope, self.mount)
        if not path:  # what the page names lies below the prefix, in the browser's eyes only with the slash
            to_page = {"Location": f"{root.rpartition('/')[2]}/"}
            await _answer(307, "The address of the page ends in a slash.", to_page)(scope, receive, send)
            return
        scope = {**scope, "root_path": root, "path": root + path}
        connection = HTTPConnection(scope)
        opens = path == "/" and scope["method"] == "GET"
        cookie = None
        if opens:
            cookie = self.access.new_visitor_cookie(connection)
        embedded = opens and is_lesson_alone(connection.url.query)
        if embedded and not self.access.embedded_by and is_framed_elsewhere(connection.headers):
            _log.warning(NOT_EMBEDDED)
            await _not_embedded(connection.url.query)(scope, receive, send)
            return
        headers = self.headers
        if embedded:
            headers = self.headers_of_embedded
        answering = _Answering(send, headers, cookie)
        with self._open(connection, path) as fits:
            if fits:
                await self._let_in(connection, path, receive, answering)
            else:
                await _answer(503, BUSY, {"Retry-After": "5"})(scope, receive, answering)

    @contextlib.contextmanager
    def _open(self, connection: HTTPConnection, path: str) -> Iterator[bool]:
        """Whether one more request of this address may be open, which it then is. The host's are not counted:
        others behind the same address could else keep them out."""
        if self.access.caller(connection).role is Role.HOST:
            yield True
            return
        kinds = ["requests"]
        if is_upload(path):
            kinds.append("uploads")
        with self.access.limiter.holding(self.access.address_of(connection), *kinds) as fits:
            yield fits

    async def _let_in(self, connection: HTTPConnection, path: str, receive: Receive, answering: _Answering) -> None:
        scope, cap = connection.scope, self._body_cap(connection, path)
        announced = not {"content-length", "transfer-encoding"}.isdisjoint(connection.headers)  # RFC 9112, 6.3
        body = Body(receive, cap, None if self.access.mode == "local" else BODY_SECONDS, announced)
        refusal, posts, uploads = self._refusal(connection, path, cap), scope["method"] == "POST", is_upload(path)
        # the query of an upload names it, and Gradio would never forget that name
        query = b"" if uploads else scope["query_string"]
        if refusal is None and path.startswith(GRADIO) and not uploads:
            sent = b""
            if posts:
                sent = await body.ahead()
            refusal = sessions.refusal_of(path, query, sent)
            refusal = refusal or calls.refusal_of(
                path, connection.headers, sessions.parsed(sent), self.access.endpoints
            )
        coming = 0
        if uploads and posts and self.incoming and refusal is None:
            coming = int(connection.headers.get("content-length") or cap)  # bytes, at most
            refusal = None
            if not self.incoming.expect(coming):
                refusal = (503, FULL)
        if refusal is not None:
            await body.drain()
            await _answer(*refusal)(scope, receive, answering)
            return
        try:
            await self._pass_on({**scope, "query_string": without_page(query)}, body, answering)
        finally:
            if self.incoming and coming:
                self.incoming.arrived(coming)
        if body.refused and not answering.started:
            await _answer(*body.refused)(scope, receive, answering)

    async def _pass_on(self, scope: Scope, body: Body, answering: _Answering) -> None:
        try:
            await self.app(scope, body, body.unless_refused(answering))
        except Exception as error:
            if body.refused or isinstance(error, ClientDisconnect):
                return  # it is about what did not come
            if answering.started:
                raise
            _log.exception("%s %r failed", scope["method"], scope["path"])
            await body.drain()
            sentence = FAILED
            if isinstance(error, OSError):  # of a full disk, its remedy
                sentence = in_words(error)
            await _answer(500, sentence)(scope, body, answering)

    def _refusal(self, connection: HTTPConnection, path: str, cap: int) -> tuple[int, str] | None:
        """Status and sentence if a request is not to be passed on."""
        headers, method = connection.headers, connection.scope["method"]
        if self.access.mode in WAYS_IN and not self.is_own_name(headers.get("host", "")):
            named = f"{WAYS_IN[self.access.mode]}, or name this host in PLAYGROUND_HOSTS."
            return 421, f"This page does not answer under this host name. {named}"
        if self.only_here and not visitors.is_from_here(connection):
            return 403, ONLY_HERE
        if self.is_foreign(headers, method):
            return 403, "This request came from another site's page, so it was refused."
        if refusal := self.access.wrong_bearer(connection):
            return refusal
        if (for_agents := self.access.mcp() and calls.MCP.fullmatch(path)) and method != "POST":
            return 405, calls.ONE_MESSAGE
        if not (for_agents or is_needed(path, method)):
            return 404, "There is nothing here."
        if not is_upload(path) and any("multipart" in kind.lower() for kind in headers.getlist("content-type")):
            return 415, "Only the page's upload buttons accept files; send JSON here."
        if method in ("POST", "PUT", "PATCH"):
            length = headers.get("content-length")
            if length is not None and (not length.isdecimal() or int(length) > cap):
                return too_large(cap)
            if path.startswith(GRADIO) and not self.access.may_call(connection):
                return 429, MANY_CALLS
            if is_upload(path):
                try:
                    self.access.demand(connection, Action.UPLOAD)
                except NotAllowed as error:
                    return 403, str(error)
        return None

    def is_own_name(self, host: str) -> bool:
        """Whether a Host header names this server: by a name it has, or (listening everywhere) by any address.

        Starlette's `TrustedHostMiddleware` knows names only.
        """
        name = visitors.host_name(host)
        shared = ""
        if self.access.mode != "local":
            shared = self.access.share_name()
        own = host.lower() in self.names or name in self.names | self.own_names | ({shared} - {""})
        return own or (self.any_address and visitors.ip_address(name) is not None)

    def is_foreign(self, headers: Headers, method: str) -> bool:
        """Whether a page of another site is behind a request. Following a link from one is no harm.

        Browsers say it themselves (Sec-Fetch-Site) where the connection is safe or local; else Origin tells, which
        they send with everything that may change something and with everything that a script may read.
        """
        origins, sites = headers.getlist("origin"), headers.getlist("sec-fetch-site")
        if len(origins) > 1 or len(sites) > 1:
            return True
        if sites:
            follows_link = method in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
            return sites[0] not in ("same-origin", "none") and not follows_link
        if not origins:
            return False
        origin = urlsplit(origins[0]).netloc.lower()
        return origin != headers.get("host", "").lower() and origin not in self.names

    def _body_cap(self, connection: HTTPConnection, path: str) -> int:
        limits = self.access.limits
        if is_upload(path):
            return limits.upload_bytes + FORM_OVERHEAD_BYTES
        may_fill = self.access.may(connection, Action.FORM) and not OF_CLASS.fullmatch(path)
        if may_fill:
            return limits.request_bytes
        return min(limits.request_bytes, WATCHERS_BYTES)


def headers_of(mode: str, framed_by: str) -> dict[str, str]:
    """What an answer says to browsers. `framed_by`: sites that may show it in a frame, beside its own and a Space's."""
    framing = SELF
    if mode == "space":
        framing = FRAMES
    headers = {
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "content-security-policy": f"{POLICY} {framing} {framed_by}".strip(),
    }
    if mode != "space":
        headers["cross-origin-resource-policy"] = "same-origin"
        if not framed_by:  # it knows of no others; what the policy says goes before it
            headers["x-frame-options"] = "SAMEORIGIN"
    return headers


def prefix_and_path(scope: Scope, mount: str = "") -> tuple[str, str]:
    """What stands before the page in its address, and what was asked for below that. Gradio's `root_path` may be a
    whole address; a proxy may have taken the prefix off, or the part of it before `mount`."""
    root, whole = urlsplit(scope.get("root_path", "")).path.rstrip("/"), scope["path"]
    prefix = next((prefix for prefix in (root, mount) if f"{whole}/".startswith(f"{prefix}/")), "")
    path = whole.removeprefix(prefix)
    if is_needed(whole, scope["method"]) and not is_needed(path, scope["method"]):  # of /playground/static/...
        return root, whole  # the prefix was taken off
    return root, path


def is_upload(path: str) -> bool:
    """Whether an address is the one for files."""
    return path in UPLOADS


def is_needed(path: str, method: str) -> bool:
    """Whether an address is one of ours, or of Gradio's that the page asks for."""
    needed = NEEDED.get("GET" if method == "HEAD" else method)
    return bool(OURS.fullmatch(path) or (needed and needed.fullmatch(path)))


def without_page(query: bytes) -> bytes:
    """A query without `page`, by which Gradio means one of several pages of an app: it fails at a name that is none,
    and an address of ours says `tab`. See docs/upstream.md#a-query-with-an-unknown-page-fails."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    remaining = [(name, value) for name, value in pairs if name != "page"]
    if remaining == pairs:
        return query
    return urlencode(remaining).encode()


def own_names(listening: str) -> set[str]:
    """The names by which a server is surely meant, given the address it listens on."""
    names = {"localhost", "127.0.0.1", "::1", listening.lower()}
    if listening in ANYWHERE:
        machine = socket.gethostname().lower()
        names |= {machine, f"{machine.partition('.')[0]}.local"}
    return names - {""}


def sites_that_embed(environment: Mapping[str, str]) -> str:
    """The sites whose pages may have a lesson in a frame. Raises: InvalidConfig, where one is no address of a site."""
    sites = environment.get(EMBED_VARIABLE, "").replace(",", " ").split()
    if wrong := [site for site in sites if not SITE.fullmatch(site)]:
        sentence = f"must be addresses of sites such as https://school.example, with commas (got {wrong[0][:60]!r})."
        raise InvalidConfig([Problem(EMBED_VARIABLE, sentence)])
    return " ".join(sites)


def is_lesson_alone(query: str) -> bool:
    """Whether an address asks for a lesson and nothing around it, as the page's scripts read it (core/nav.js)."""
    pairs = parse_qsl(query, keep_blank_values=True)
    parameters = dict(pairs)
    plain = len(parameters) == len(pairs) and parameters.keys() <= OF_LESSON
    return plain and parameters.get("embed") == "1" and bool(parameters.get("lesson"))


def is_framed_elsewhere(headers: Headers) -> bool:
    """Whether a browser asks for it for a frame in a page of another site."""
    return headers.get("sec-fetch-dest") == "iframe" and headers.get("sec-fetch-site") not in ("same-origin", "none")


def more_names(environment: Mapping[str, str]) -> list[str]:
    """Further names: set by the owner of the server, or by Spaces."""
    return [*environment.get(HOSTS_VARIABLE, "").split(","), environment.get("SPACE_HOST", "")]


def _not_embedded(query: str) -> HTMLResponse:
    """What stands in the frame of a site that this server does not know: why, in the place of nothing."""
    lesson = urlencode({"lesson": dict(parse_qsl(query))["lesson"]})
    link = f'<a href="?{lesson}" target="_blank" rel="noopener">Open the lesson in a window of its own</a>'
    body = f'<!doctype html><html lang="en"><title>RLHF Playground</title><p>{NOT_EMBEDDED}</p><p>{link}</p></html>'
    return HTMLResponse(body, 403, {"content-security-policy": "default-src 'none'; frame-ancestors *"})


def _answer(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Any:
    return JSONResponse({"error": sentence, "detail": sentence}, status, {"Connection": "close", **(headers or {})})
