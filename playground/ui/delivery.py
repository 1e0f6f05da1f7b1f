"""How answers travel: compressed, and the page with the names of all that it needs first. An ASGI middleware.

Gradio's own compresses by the ending of an address, which neither the page nor `/live/*` has, and files anew for every
visitor. This one stands before it. A stream of events passes as it is: a message has to arrive when it is sent, and
some browsers and proxies hold compressed ones until there is more. Knows nothing of what it carries; `server` adds it.
"""

from __future__ import annotations

import asyncio
import gzip
import queue
import re
import threading
from collections.abc import Callable

import brotli
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Who is asking stands in the answers of the first two. Nothing of them may be guessed by the length of a compressed
# answer (BREACH), though no other site can have them asked for, and no answer holds a secret (docs/security.md).
PLAIN = re.compile(r"/host/?|/live/_access|/gradio_api/(?!run/).*", re.DOTALL)
FILES = re.compile(r"/(assets|playground)/.*", re.DOTALL)  # they stay as they are while the server runs
TEXTS = re.compile(r"text/(html|css|csv|plain|javascript)|application/(json|javascript)")
LEAST = 150  # bytes; less does not become shorter
SMALL = 16_000  # bytes that are compressed at once; more in a thread
QUALITY, BEST = 5, 11  # of Brotli: 60 MB and 1 MB a second
LEVEL = 6  # of gzip
HEAD = re.compile(rb"<head>\s*(<meta charset[^>]*>\s*)?(<base [^>]*>)?")
MANIFEST = re.compile(rb'<link rel="manifest"[^>]*>')  # Gradio's: at the host's root, also for a page below a path
# Gradio's script begins behind what is drawn before it (static/lessons/early.js), and its data are read then; on Colab
# another script of the page changes them at once.
SCRIPT = re.compile(rb'<script type="module"(?= crossorigin src="./assets/index-)')
DATA = re.compile(rb"<script>(?=window\.gradio_(?:config|api_info) =)")
COLAB = b'"is_colab":true'


class Delivery:
    """Compresses what is text. `ahead`: what stands first in the head of the page, HTML."""

    def __init__(self, app: ASGIApp, ahead: str = "") -> None:
        self.app, self.ahead, self.files = app, ahead.encode(), PackedFiles()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and its answer back."""
        path = ""
        if scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
        if not path or scope["method"] == "HEAD" or PLAIN.fullmatch(path):
            await self.app(scope, receive, send)
            return
        encoding = encoding_of(Headers(scope=scope).get("accept-encoding", ""))
        ahead = b""
        pack: Callable[[bytes, str], bytes] = packed
        if path == "/":
            ahead = self.ahead
        if FILES.fullmatch(path):
            pack = self.files.packed
        await self.app(scope, receive, _Travelling(send, encoding, ahead, pack))


class _Travelling:
    """`send` for one answer: a whole text is held until it is there, all else passes."""

    def __init__(self, send: Send, encoding: str, ahead: bytes, pack: Callable[[bytes, str], bytes]) -> None:
        self._send, self._encoding, self._ahead, self._pack = send, encoding, ahead, pack
        self._start: Message | None = None  # of an answer that is held
        self._parts: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = Headers(raw=message["headers"])
            if (
                message["status"] == 200
                and "content-encoding" not in headers
                and TEXTS.match(headers.get("content-type", ""))
            ):
                self._start = message
                return
        elif self._start and message["type"] == "http.response.body":
            self._parts.append(message.get("body", b""))
            if not message.get("more_body"):
                await self._finish(self._start, b"".join(self._parts))
            return
        await self._send(message)

    async def _finish(self, start: Message, body: bytes) -> None:
        headers = MutableHeaders(raw=start["headers"])
        headers.add_vary_header("Accept-Encoding")
        if self._ahead:
            body = HEAD.sub(lambda head: head[0] + self._ahead, body, count=1)
            body = MANIFEST.sub(b"", body, count=1)
            body = SCRIPT.sub(b'<script type="held"', body, count=1)
            if COLAB not in body:
                body = DATA.sub(b'<script type="module">', body)
        if self._encoding and len(body) >= LEAST:
            headers["Content-Encoding"] = self._encoding
            if len(body) > SMALL:
                body = await asyncio.to_thread(self._pack, body, self._encoding)
            else:
                body = self._pack(body, self._encoding)
        headers["Content-Length"] = str(len(body))
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def encoding_of(accepted: str) -> str:
    """The best encoding that a client takes: "br", "gzip" or none, "". (RFC 9110, 12.5.3)"""
    accepts = {}
    for item in accepted.lower().split(","):
        name, _, weight = item.partition(";")
        accepts[name.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return next((name for name in ("br", "gzip") if accepts.get(name)), "")


def packed(body: bytes, encoding: str, quality: int = QUALITY) -> bytes:
    """Compressed for "br" or "gzip"."""
    if encoding == "br":
        return bytes(brotli.compress(body, mode=brotli.MODE_TEXT, quality=quality))
    return gzip.compress(body, LEVEL, mtime=0)


class PackedFiles:
    """Compressed files, kept: quickly for who asks first, and better as soon as they are asked for again. Quality 11
    takes a second for all files of a page, and where one person uses one browser nobody asks twice."""

    def __init__(self) -> None:
        self._kept: dict[tuple[bytes, str], tuple[bytes, bool]] = {}
        self._wanted: queue.SimpleQueue[tuple[bytes, str]] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None

    def packed(self, body: bytes, encoding: str) -> bytes:
        """As `packed`."""
        key = body, encoding
        if key not in self._kept:
            self._kept[key] = packed(body, encoding), encoding != "br"
        elif not self._kept[key][1]:
            self._kept[key] = self._kept[key][0], True
            self._wanted.put(key)
            if self._worker is None:
                self._worker = threading.Thread(target=self._improve, daemon=True, name="packer")
                self._worker.start()
        return self._kept[key][0]

    def _improve(self) -> None:
        while True:
            body, encoding = self._wanted.get()
            self._kept[body, encoding] = packed(body, encoding, BEST), True
