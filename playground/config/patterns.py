"""Regular expressions in reward expressions: RE2, whose time grows only linearly with the text, and bounded."""

from __future__ import annotations

import re
from typing import Any

from playground import to_install

MAX_CHARACTERS = 200
MAX_STATES = 1000  # of the compiled pattern; time is proportional to it
MEMORY_BYTES = 1 << 20  # of the compiled pattern and what it keeps while it searches


class PatternError(ValueError):
    """Why a pattern cannot be used, in a sentence."""


def linear(pattern: str) -> Any:
    """The compiled pattern, for texts as UTF-8 bytes.

    Raises: PatternError, if RE2 is missing, does not take the pattern, or the pattern is too large.
    """
    try:
        import re2
    except ImportError:
        raise PatternError(
            f"`matches` needs the library google-re2, which is not installed: run `{to_install()}`."
        ) from None
    if len(pattern) > MAX_CHARACTERS:
        raise PatternError(f"The pattern has {len(pattern)} characters; at most {MAX_CHARACTERS} are allowed.")
    if "\b" in pattern:
        raise PatternError(r'Put an r in front of the quotes, for example r"\bgood\b".')
    if re.search(r"\\[pP]", pattern):  # hundreds of ranges, which take longer to compile than all else
        raise PatternError(r"Unicode classes, such as \pL, cannot be used here.")
    options = re2.Options()
    options.max_mem, options.log_errors = MEMORY_BYTES, False
    try:
        compiled = re2.compile(pattern.encode("utf-8", "replace"), options)
    except re2.error:
        raise PatternError("RE2 does not accept this pattern; it has no look-around and no back-references.") from None
    finally:
        re2.purge()  # it would keep 128 patterns
    if compiled.programsize > MAX_STATES:
        raise PatternError("The pattern is too large: use smaller counts in braces, or fewer alternatives.")
    return compiled
