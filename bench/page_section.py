"""A section of docs/performance.md that has figures of its own: made from their file, and written anew in its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any


def latest(results: Path, section: Callable[[dict[str, Any] | None], str]) -> str:
    """A section from the figures on disk, if there are any."""
    return section(json.loads(results.read_text(encoding="utf-8")) if results.exists() else None)


def put_into(page: Path, section: str, following: str) -> None:
    """Write a section anew, or in front of the title `following` if the page has none of its title yet."""
    text, title = page.read_text(encoding="utf-8"), section.partition("\n")[0]
    there = re.compile(rf"{re.escape(title)}\n.*?\n(?=## |\Z)", re.DOTALL)
    new = section + "\n"
    text = there.sub(lambda _: new, text) if there.search(text) else text.replace(following, f"{new}{following}", 1)
    page.write_text(text, encoding="utf-8")
