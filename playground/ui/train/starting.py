"""The Start button: what it says, and the name that the page gives to one intended start.

Knows `runs.start`. `filling` and `train_page` use it; static/train/run_view.js makes the names.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from playground.config import RunConfig
from playground.runs.folder.requests import Request
from playground.runs.start import launcher, queue

START = "Start training"
ENQUEUE = "Add to the queue"
REQUEST_ID = re.compile(r"[0-9a-zA-Z-]{8,40}")


def label(config: RunConfig, outputs: Path) -> str:
    """What a press would do now: start training, or put the run behind those that take or want the same device."""
    slot = queue.slot_of(config)
    if not launcher.is_busy(outputs, slot):
        return START
    waiting = queue.num_waiting(outputs, slot)
    return ENQUEUE + (f" ({waiting} {'waits' if waiting == 1 else 'wait'})" if waiting else "")


def to_fix(count: int) -> str:
    """Nothing starts before that many settings are mended."""
    return f"Fix {count} {'setting' if count == 1 else 'settings'} to start"


def request(asked: Any, config: RunConfig) -> Request:
    """The page's name for one intended start: who sends it again (a double click, an answer that was lost) gets the run
    that the first one started. The same button pressed with other settings is another start."""
    if not isinstance(asked, str) or not REQUEST_ID.fullmatch(asked):
        return Request()
    settings = hashlib.sha256(config.to_yaml().encode()).hexdigest()[:12]
    return Request(id=f"{asked}-{settings}")
