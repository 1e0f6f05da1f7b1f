"""Which of Gradio's own scripts and style sheets a page will ask for, from the lists that Gradio's build left in them.

A browser finds them in four steps, each with a way to the server and back: the entry, what draws the page, its frame,
and the parts that it has. `page.ahead` names all of them at once. Another version of Gradio may keep its lists in
another way; then fewer are named, or none, and the browser finds the rest as before. Knows files of gradio only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

import gradio as gr

DRAWN_AS = {"api": "state"}  # the values of an endpoint by `gr.api` are parts too, of which nothing is seen
FOLDER = Path(gr.__file__).parent / "templates" / "frontend"
ENTRY = re.compile(r'(?:src|href)="\./(assets/[\w.-]+\.(?:js|css))"')
LIST = re.compile(r"m\.f=(\[[^\]]*\])")
LOADED = re.compile(r"import\(`\./([\w.-]+)`\)(?:(?!import\().){0,60}?,__vite__mapDeps\(\[([\d,]*)\]\)")
PART = re.compile(r"\b(\w+):\{(?:(?!\},\w+:\{)[^;])*?component:\(\)=>\w+\(\(\)=>" + LOADED.pattern)


def needed_by(parts: Iterable[str]) -> list[str]:
    """Their addresses relative to the page, scripts and style sheets.

    Args:
        parts: the types of a page's components, such as "button".
    """
    try:
        entry = ENTRY.findall((FOLDER / "index.html").read_text(encoding="utf-8"))
        boot = _loaded(next(name for name in entry if name.endswith(".js")))
        frame = [name for file in boot for name in _loaded(file, "Blocks-")]
        kinds = {DRAWN_AS.get(part, part) for part in parts}
        drawn = [name for file in boot for name in _loaded(file, of=kinds)]
    except (OSError, ValueError, StopIteration, IndexError):
        return []
    return list(dict.fromkeys([*entry, *boot, *frame, *drawn]))


def _loaded(file: str, beginning: str = "", of: set[str] | None = None) -> list[str]:
    """What a script loads besides what it imports, with what that needs: all whose name begins so, or those of some
    parts."""
    if not file.endswith(".js"):
        return []
    text = (FOLDER / file).read_text(encoding="utf-8")
    listed = LIST.search(text)
    if listed is None:
        return []
    names = [name.removeprefix("./") for name in json.loads(listed[1])]
    if of is None:
        loaded = [(name, deps) for name, deps in LOADED.findall(text) if name.startswith(beginning)]
    else:
        loaded = [(name, deps) for kind, name, deps in PART.findall(text) if kind in of]
    return [
        f"assets/{file_name}"
        for name, deps in loaded
        for file_name in (name, *(names[int(i)] for i in deps.split(",") if i))
    ]
