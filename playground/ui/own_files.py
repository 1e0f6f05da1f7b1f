"""Our scripts and style sheets, and BokehJS: the address of each, and how they are served.

Every address holds a version: of ours a fingerprint of all of them. So browsers may keep a file forever, and a page
never mixes modules of two versions; an address of another version gets today's file, to be kept by no one.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib.metadata
import importlib.util
import re
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.staticfiles import StaticFiles

from playground.errors import RunNotFound

STATIC = Path(__file__).parent / "static"
FOR_EVER = "public, max-age=31536000, immutable"
BOKEH_FILE = re.compile(r"bokeh(-api)?\.min\.js")


@functools.cache
def fingerprint() -> str:
    """Of all names and contents, as they were when the playground started."""
    digest = hashlib.sha256()
    for path in sorted([*STATIC.rglob("*.js"), *STATIC.rglob("*.css")]):
        digest.update(path.relative_to(STATIC).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def address(name: str) -> str:
    """Where `name`, such as `core/dom.js`, is served: relative to the page, so that a sub-path works."""
    return f"playground/static/{fingerprint()}/{name}"


def modules() -> list[str]:
    """The names of all scripts. A page needs nearly all of them, and finds them one by one if no one says so."""
    return sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js"))


class OwnFiles(StaticFiles):
    """Serves `<fingerprint>/<name>`."""

    async def get_response(self, path: str, scope: Any) -> Response:
        """As usual, plus how long it may be kept."""
        version, _, name = Path(path).as_posix().partition("/")
        response = await super().get_response(name, scope)
        response.headers["Cache-Control"] = FOR_EVER if version == fingerprint() else "no-cache"
        return response


def bokeh_version() -> str:
    """Version of the installed bokeh package; part of the address, so that browsers may keep the file forever."""
    return importlib.metadata.version("bokeh")


async def bokeh_file(request: Request) -> Response:
    """One of the two BokehJS files that the page needs, from the installed package."""
    name = request.path_params["name"]
    if not BOKEH_FILE.fullmatch(name):
        return PlainTextResponse("Not found.", status_code=404)
    body = await asyncio.to_thread(_bokeh_bytes, name)
    headers = {"Cache-Control": FOR_EVER}
    return Response(body, media_type="text/javascript", headers=headers)


@functools.cache
def _bokeh_bytes(name: str) -> bytes:
    package = importlib.util.find_spec("bokeh")  # found, not imported: importing bokeh costs half a second
    if package is None or package.origin is None:
        raise RunNotFound("The bokeh package is not installed; run `pip install -r requirements.txt`.")
    return (Path(package.origin).parent / "server" / "static" / "js" / name).read_bytes()
