"""Who asks: the host's token, cookies, where a request comes from, and visitors as keyed hashes.

Plain functions and small records around Starlette's requests; knows nothing of permissions. `access` and
`middleware` call it.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import hmac
import ipaddress
import os
import secrets
import time
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from playground.errors import InvalidConfig, Problem
from playground.runs.folder.files import private

TOKEN_VARIABLE = "PLAYGROUND_HOST_TOKEN"
TOKEN_BYTES = 24
MIN_TOKEN_CHARACTERS = 20
HUB_TOKEN = "hf_"  # what each of them begins with
HOST_COOKIE = "playground_host"
VISITOR_COOKIE = "playground_visitor"
CLASS_COOKIE = "playground_class"  # of who has joined a class
VISITOR_COOKIE_CHARACTERS = range(20, 101)
COOKIE_SECONDS = 30 * 86_400
SUBSCRIBER_BITS = 64  # of an IPv6 address: what a provider gives to one subscriber (RFC 6177)
PASSED_ON = {"forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"}
HOSTS_FILE = ".hosts"  # in the outputs folder: hashes of the cookies of hosts, so that a class goes on after a restart
KEY_FILE = ".visitors.key"  # in the outputs folder: what visitors are hashed with, so that they keep their runs


class Visitor(NamedTuple):
    """A person as far as one can be told from another: keyed hashes of their cookie ("" without one) and address."""

    cookie: str = ""
    address: str = ""

    def __str__(self) -> str:
        """As `request.json` of a run keeps it."""
        if self.cookie or self.address:
            return f"{self.cookie}.{self.address}"
        return ""

    @classmethod
    def of(cls, text: str) -> Visitor:
        """What `str` gave."""
        cookie, _, address = text.partition(".")
        return cls(cookie, address)

    def is_same(self, other: Visitor) -> bool:
        """By the cookie where both have one; by the address where neither has."""
        mark, other_mark = self.address, other.address
        if self.cookie or other.cookie:
            mark, other_mark = self.cookie, other.cookie
        return bool(mark) and hmac.compare_digest(mark.encode(), other_mark.encode())


class Host:
    """What makes a caller the host: not the token itself, but its digest, and a cookie from which it cannot be had.

    Args:
        kept: a file of hashes of cookies that made a host before, which go on doing so; what it says opens nothing.
    """

    def __init__(self, token: str, hosts_file: Path | None = None) -> None:
        self._kept = hosts_file
        self.exists, self._digest = bool(token), hashlib.sha256(token.encode()).digest()
        self.cookie = hmac.new(self._digest, b"host", hashlib.sha256).hexdigest()

    def is_token(self, text: str) -> bool:
        """Whether it is the host's token."""
        return self.exists and hmac.compare_digest(hashlib.sha256(text.encode()).digest(), self._digest)

    def is_cookie(self, text: str) -> bool:
        """Whether it is the host's cookie."""
        ours = self.exists and hmac.compare_digest(text.encode(), self.cookie.encode())
        return ours or bool(text and self._earlier and _hash(text) in self._earlier)

    def keep(self) -> None:
        """Let the cookie make a host after a restart too. Without room on the disk it does not."""
        if self._kept is not None:
            with contextlib.suppress(OSError), open(self._kept, "a", encoding="ascii", opener=private) as file:
                file.write(f"{_hash(self.cookie)} {int(time.time())}\n")

    @functools.cached_property
    def _earlier(self) -> set[str]:
        """Hashes of cookies of earlier starts that browsers still have."""
        rows: list[list[str]] = []
        if self._kept is not None:
            with contextlib.suppress(OSError, ValueError):
                rows = [line.split() for line in self._kept.read_text(encoding="ascii").splitlines()]
        now = time.time()
        return {row[0] for row in rows if len(row) == 2 and row[1].isdecimal() and now - int(row[1]) < COOKIE_SECONDS}


def token_for(mode: str) -> str:
    """The host's token: from the environment, where it is then removed so that no child process has it; else a new one
    for a classroom, and none elsewhere.

    Raises:
        InvalidConfig: a token that could be guessed.
    """
    token = os.environ.pop(TOKEN_VARIABLE, "")
    if token and len(token) < MIN_TOKEN_CHARACTERS:
        message = f"must have at least {MIN_TOKEN_CHARACTERS} characters; unset it to get a new one at each start."
        raise InvalidConfig([Problem(TOKEN_VARIABLE, message)])
    if not token and mode == "classroom":
        return new_token()
    return token


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()


def new_token() -> str:
    """One that cannot be guessed."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def set_cookie(connection: HTTPConnection, name: str, value: str, crosses_sites: bool) -> str:
    """A Set-Cookie header. A Space is shown inside a page of another site, so there the cookie has to cross."""
    secure = "https" in (connection.url.scheme, connection.headers.get("x-forwarded-proto", "").split(",")[0])
    path = urlsplit(connection.scope.get("root_path", "")).path.rstrip("/") or "/"  # beside the page are others'
    parts = [f"{name}={value}", f"Path={path}", f"Max-Age={COOKIE_SECONDS}", "HttpOnly"]
    if secure:
        parts.append("Secure")
    if secure and crosses_sites:
        parts += ["SameSite=None", "Partitioned"]
    else:
        parts.append("SameSite=Lax")
    return "; ".join(parts)


def at_port(connection: HTTPConnection, name: str) -> str:
    """What the cookie of a host or a class is called: browsers send those of all ports of a machine to each of them.
    (That of a visitor is set once, and all take it.)"""
    _, _, port = connection.headers.get("host", "").rpartition(":")
    if port.isdecimal():
        return f"{name}_{port}"
    return name


def visitor_cookie(connection: HTTPConnection) -> str:
    """The visitor's cookie; "" where there is none, or none of ours."""
    cookie = connection.cookies.get(VISITOR_COOKIE, "")
    if len(cookie) in VISITOR_COOKIE_CHARACTERS:
        return cookie
    return ""


def bearer_token(connection: HTTPConnection) -> str:
    """What a program that cannot keep a cookie sends as the host's token; "" without. One of the hub's is for the hub,
    which asks for it before it lets anyone reach a private Space."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or token.startswith(HUB_TOKEN):
        return ""
    return token.strip()


def keyed_hash(key: bytes, value: str) -> str:
    """A short hash against which values cannot be tried without the key; "" of nothing."""
    if value:
        return hmac.new(key, value.encode(), hashlib.sha256).hexdigest()[:32]
    return ""


def address_of(connection: HTTPConnection, proxied: bool) -> str:
    """Where a request comes from, as far as one is told from another by it: an IPv4 address, or the /64 of an IPv6 one,
    for a subscriber has all of it. Behind a proxy the last public address that it was passed on from."""
    peer, passed = "", []
    if connection.client:
        peer = connection.client.host
    if proxied:
        passed = connection.headers.get("x-forwarded-for", "").split(",")
    public = (address for part in reversed(passed) if (address := ip_address(part.strip())) and address.is_global)
    nearest = next(public, None) or ip_address(peer)
    if isinstance(nearest, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(nearest), SUBSCRIBER_BITS), strict=False))
    return str(nearest or peer)


def host_of(connection: HTTPConnection) -> str:
    """The name of the server that a request is meant for; "" if it says none."""
    return host_name(connection.headers.get("host", ""))


def host_name(host: str) -> str:
    """A Host header without its port, and an address without its brackets; "" if it is none."""
    with contextlib.suppress(ValueError):
        return urlsplit(f"//{host}").hostname or ""
    return ""


def was_passed_on(connection: HTTPConnection) -> bool:
    """Whether it came through a proxy that is trusted about addresses: uvicorn has put there what that one says, and no
    port with it."""
    return bool(connection.client and connection.client.port == 0)


def is_from_here(connection: HTTPConnection) -> bool:
    """Whether it was sent on this machine, and not passed on from elsewhere by something that runs on it."""
    address = None
    if connection.client:
        address = ip_address(connection.client.host)
    return bool(address and address.is_loopback) and PASSED_ON.isdisjoint(connection.headers)


def connection_of(request: Any) -> HTTPConnection | None:
    """The connection behind Gradio's or Starlette's request; None where there is none to be trusted."""
    if not isinstance(request, HTTPConnection):
        request = getattr(request, "request", None)
    if isinstance(request, HTTPConnection):
        return request
    return None


def ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """What a text says, None if it is no address; an IPv4 one that is written as an IPv6 one is the IPv4 one."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address):
        return address.ipv4_mapped or address
    return address


def visitors_key(outputs: Path) -> bytes:
    """The key that visitors are hashed with, kept beside the runs and readable for the server alone."""
    path = outputs / KEY_FILE
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
    except FileExistsError:
        pass
    key = path.read_bytes()
    if len(key) == 32:
        return key
    return secrets.token_bytes(32)
