"""What a page without a server is made of beside its answers: the scripts, the style sheet, the frame of the
page, and what it says of itself.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from string import Template
from typing import Any

from playground.setup import catalog
from playground.setup.limits import LIMITS
from playground.ui import own_files
from playground.ui.train import controls, filling

FOLDER = own_files.STATIC / "standalone"
IMPORT_LINE = re.compile(r"^import .*\n", re.MULTILINE)
IMPORT = re.compile(r'(\bfrom |^import |\bimport\()"(\.{1,2}/[^"]+)"', re.MULTILINE)


def scripts(entry: str) -> dict[str, str]:
    """A script of static/ and all that it imports, at once or later, by their names there."""
    scripts_by_name: dict[str, str] = {}
    left = [entry]
    while left:
        name = left.pop()
        if name not in scripts_by_name:
            scripts_by_name[name] = own_files.script(name)
            left += (_beside(name, other) for _, other in IMPORT.findall(scripts_by_name[name]))
    return dict(sorted(scripts_by_name.items()))


def renamed(name: str, source: str, called: Callable[[str], str]) -> str:
    """A script in which each import names what `called` makes of the imported script's name."""
    return IMPORT.sub(lambda match: f'{match[1]}"{called(_beside(name, match[2]))}"', source)


def _beside(name: str, other: str) -> str:
    return (own_files.STATIC / name).parent.joinpath(other).resolve().relative_to(own_files.STATIC.resolve()).as_posix()


def sheet() -> str:
    """All style sheets, and what Gradio's would have said."""
    return f"{own_files.sheet()}\n{(FOLDER / 'page.css').read_text(encoding='utf-8')}"


def template(name: str) -> Template:
    """A file beside this one, with places to be filled."""
    return Template((Path(__file__).parent / name).read_text(encoding="utf-8"))


def frame(not_yet: str) -> str:
    """The body of a page, to be filled by static/standalone/page.js. `not_yet` stands there until then."""
    return template("frame.html").substitute(not_yet=html.escape(not_yet))


def packed(text: str) -> str:
    """Compressed, and as letters: for static/standalone/unpack.js."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def compact(data: Any) -> str:
    """As JSON, short."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def about(pages: Iterable[str], presets: Iterable[str], notice: str, files: Iterable[str]) -> dict[str, Any]:
    """What static/standalone/page.js asks first: the pages there are, the experiments whose recordings are there with
    what each teaches, a line about the page, and which files of a run can be saved."""
    names = set(presets)
    groups = [
        (title, [choice for choice in choices if choice[0] in names])
        for title, choices in controls.preset_groups(LIMITS["local"])
    ]
    return {
        "pages": list(pages),
        "groups": [group for group in groups if group[1]],
        "steps": [step for step in controls.steps() if step["preset"] in names],
        "stories": {name: filling.story_of(catalog.preset(name)) for name in sorted(names)},
        "notice": notice,
        "files": list(files),
    }
