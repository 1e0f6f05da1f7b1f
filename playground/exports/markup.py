"""HTML out of Python, safe by construction: what is not `Html` is text, and is escaped. Pure.

`svg` and `html_report` build with it. Knows nothing of runs.
"""

from __future__ import annotations

import re
from html import escape

# what no HTML file may hold, and what would turn the text around it the other way round
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
NO_END = {"meta", "br"}
Child = str | float | None


class Html(str):
    """Markup that was made here. Any other text is data."""

    __slots__ = ()


def text(words: object) -> Html:
    """Words of anybody, as text."""
    return words if isinstance(words, Html) else Html(escape(UNSEEN.sub(" ", str(words)), quote=True))


def tag(name: str, /, *children: Child, **attributes: Child) -> Html:
    """An element. `class_` is the attribute class, `stroke_width` is stroke-width; None leaves a child or an attribute
    out."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{given}>{'' if name in NO_END else joined(*children) + f'</{name}>'}")


def joined(*children: Child) -> Html:
    """Some elements and texts one after the other."""
    return Html("".join(text(child) for child in children if child is not None))
