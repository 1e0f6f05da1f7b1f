"""The templates of `templates/`, filled in by Jinja2. Every value is escaped as HTML, but for those that a filter has
made safe in the language of the template: `md`, `code` and `fenced` for Markdown, `literal` and `comment` for Python.
"""

from __future__ import annotations

import functools
import pprint
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from playground.analysis.intervals import figure
from playground.data.dialogues import for_reading

if TYPE_CHECKING:
    import jinja2

FOLDER = Path(__file__).with_name("templates")
# what no text file may hold, and what turns the text around it the other way round
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
MOST_CHARACTERS = 500
FENCED_CHARACTERS = 600


def render(name: str, /, **values: Any) -> str:
    """A template with these values in it. Raises: jinja2.UndefinedError for one that is missing."""
    return UNSEEN.sub(" ", _environment().get_template(name).render(values))


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        each.__name__: each for each in (short, for_reading, figure, md, code, fenced, literal, comment)
    }
    return environment


def short(words: object, most: int = MOST_CHARACTERS) -> str:
    """Words, cut where they are many."""
    text = str(words)
    if len(text) <= most:
        return text
    return f"{text[:most]} \u2026"


def md(words: str) -> Markup:
    """One line without what Markdown or HTML would act on."""
    return Markup(re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(UNSEEN.sub(" ", words).split())))


def code(words: str) -> Markup:
    """A name as code inside a line, or inside a cell of a table."""
    return Markup("`" + " ".join(UNSEEN.sub(" ", words).split()).replace("`", "'").replace("|", "/") + "`")


def fenced(content: str) -> Markup:
    """A code block that the content cannot leave."""
    text = short(UNSEEN.sub(" ", content), FENCED_CHARACTERS).strip()
    fence = "`" * max(3, *(1 + len(run) for run in re.findall("`+", text)), 0)
    return Markup(f"{fence}text\n{text}\n{fence}")


def literal(value: Any) -> Markup:
    """Plain data as Python would write it."""
    return Markup(pprint.pformat(value, width=110, sort_dicts=False))


def comment(words: str) -> Markup:
    """Words for the rest of a line that begins with #."""
    return Markup(ascii(words)[1:-1])
