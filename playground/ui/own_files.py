"""Our scripts and style sheets: the address of each, and how they are served.

Every address holds a version: of ours a fingerprint of all of them. So browsers may keep a file forever, and a page
never mixes modules of two versions; an address of another version gets today's file, to be kept by no one. Scripts are
served without their comments, whose types and words are for readers of the source, line by line as they are there.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from playground.config import yaml_io
from playground.lessons import loading

STATIC = Path(__file__).parent / "static"
LANGUAGES = loading.SHIPPED / "languages"  # of each a folder: pairs of an English sentence and another
SHEETS = tuple(
    "page controls run first meters tables tryout workbench reward_check reward_training slow_motion inside formulas "
    "rollout sweeps access lessons mysteries boards presentation".split()
)
LANGUAGE_FILES = tuple(f"languages/{folder.name}.js" for folder in sorted(LANGUAGES.iterdir()))
SHEET = "page.css"  # all of them, in this order: one request
IMPORTED = re.compile(r'^(?:import|export)\b[^;"]*"(\.[^"]+)";', re.MULTILINE)
COMMENT = re.compile(r"^[ \t]*(?://.*|/\*\*(?:[^*]|\*(?!/))*\*/)[ \t]*$", re.MULTILINE)  # that has its lines to itself
FOR_EVER = "public, max-age=31536000, immutable"
SLIDERS = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" stroke="#6366f1" stroke-width="2" fill="#6366f1">'
    '<path d="M3 1v14M8 1v14M13 1v14"/><circle cx="3" cy="10" r="2"/><circle cx="8" cy="4" r="2"/>'
    '<circle cx="13" cy="8" r="2"/></svg>'
)
# In the page itself: without one a browser asks the host's root for it, which need not be ours.
ICON = f'<link rel="icon" href="data:image/svg+xml,{quote(SLIDERS)}">'


@functools.cache
def fingerprint() -> str:
    """Of all names and contents, as they were when the playground started."""
    digest = hashlib.sha256()
    for folder, endings in ((STATIC, (".js", ".css")), (LANGUAGES, (".yaml",))):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in endings):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def address(name: str) -> str:
    """Where `name`, such as `core/dom.js`, is served: relative to the page, so that a sub-path works."""
    return f"playground/static/{fingerprint()}/{name}"


def needed_by(*modules: str) -> set[str]:
    """The names of these scripts and of all that they import. A browser finds those one by one if nobody says so."""
    names: set[str] = set()
    left = list(modules)
    while left:
        name = left.pop()
        if name not in names:
            names.add(name)
            left += _imports(name)
    return names


@functools.cache
def _imports(name: str) -> tuple[str, ...]:
    folder = (STATIC / name).parent
    text = (STATIC / name).read_text(encoding="utf-8")
    return tuple(
        (folder / other).resolve().relative_to(STATIC.resolve()).as_posix() for other in IMPORTED.findall(text)
    )


@functools.cache
def sheet() -> str:
    """All style sheets as one."""
    return "\n".join((STATIC / "css" / f"{name}.css").read_text(encoding="utf-8") for name in SHEETS)


@functools.cache
def script(name: str) -> str:
    """A script of static/ without its comments; `languages/es.js` is made of the sentences in Spanish."""
    if name.startswith("languages/"):
        return f"export default {json.dumps(sentences(Path(name).stem), ensure_ascii=False)};\n"
    text = (STATIC / name).read_text(encoding="utf-8")
    return COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)


def sentences(language: str) -> list[tuple[str, str]]:
    """The English sentences of the page and its lessons that another language has, each with the other. Raises:
    InvalidConfig, from a file that is no YAML."""
    files = sorted((LANGUAGES / language).glob("*.yaml"))
    pairs: list[tuple[str, str]] = []
    for path in files:
        pairs += cast("list[tuple[str, str]]", yaml_io.read_yaml(path))
    return pairs


class OwnFiles(StaticFiles):
    """Serves `<fingerprint>/<name>`."""

    async def get_response(self, path: str, scope: Any) -> Response:
        """As usual, plus how long it may be kept."""
        version, _, name = Path(path).as_posix().partition("/")
        if name == SHEET:
            response = Response(sheet(), media_type="text/css")
        elif name in LANGUAGE_FILES:
            response = Response(script(name), media_type="text/javascript")
        else:
            response = await super().get_response(name, scope)
            if response.status_code == 200 and name.endswith(".js"):
                response = Response(script(name), media_type=response.media_type)
        response.headers["Cache-Control"] = "no-cache"
        if version == fingerprint():
            response.headers["Cache-Control"] = FOR_EVER
            for header in ("etag", "last-modified", "accept-ranges"):  # nobody asks whether it is still the same
                del response.headers[header]
        return response
