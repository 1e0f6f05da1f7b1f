"""Our scripts and style sheets: the address of each, what a page should fetch ahead, and how they are served.

Every address holds a fingerprint of all of them. So browsers may keep a file for ever, and a page never mixes modules
of two versions; an address of another version gets today's file, to be kept by nobody. Knows Starlette and the folder
static/. `page` and `components` name files, `routes` serves them.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"
FOR_EVER = "public, max-age=31536000, immutable"


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
    """The names of all scripts. A page needs nearly all of them, and finds them one by one if nobody says so."""
    return sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js"))


class OwnFiles(StaticFiles):
    """Serves `<fingerprint>/<name>`."""

    async def get_response(self, path: str, scope: Any) -> Response:
        """As usual, plus how long it may be kept."""
        version, _, name = Path(path).as_posix().partition("/")
        response = await super().get_response(name, scope)
        response.headers["Cache-Control"] = FOR_EVER if version == fingerprint() else "no-cache"
        return response
