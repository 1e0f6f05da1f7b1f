"""Which models runs of an outputs folder have used, for a picker to offer again. One small file, the newest first.

The launcher remembers, the page asks. Models that ship with the playground are not remembered.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from playground.safety import plain_files
from playground.setup import catalog

FILE = "used-models.json"
MOST = 12
MAX_BYTES = 100_000


def remember(outputs: Path, source: str) -> None:
    """Put a model at the head of the list. A list that cannot be written is no reason to fail a run."""
    if source in [model.name for model in catalog.MODELS]:
        return
    known = [source, *[name for name in names(outputs) if name != source]][:MOST]
    partial = outputs / f".{FILE}.{os.getpid()}"
    with contextlib.suppress(OSError):
        partial.write_text(json.dumps(known, indent=1), encoding="utf-8")
        os.replace(partial, outputs / FILE)


def names(outputs: Path) -> list[str]:
    """Hub ids and paths, the newest first; folders that have gone are left out."""
    try:
        known = plain_files.read_json(outputs / FILE, MAX_BYTES)
    except (OSError, ValueError):
        return []
    texts = [name for name in known if isinstance(name, str) and len(name) <= 300] if isinstance(known, list) else []
    return [
        name for name in texts if not os.path.isabs(os.path.expanduser(name)) or os.path.isdir(os.path.expanduser(name))
    ]
