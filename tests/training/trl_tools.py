"""For the tests of `engine: trl`: TRL's trainer on tiny models without our adapter, and a look into its loop.

TRL's intermediate values live in the local variables of one long method. They are read from its frame while it waits
for a callback: nothing in TRL is replaced.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

from torch import Tensor

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")


def loop_values(*names: str) -> dict[str, Any]:
    """Copies of local variables of TRL's `train()`, which must be somewhere up the stack."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and not (frame.f_code.co_name == "train" and "ppo_trainer" in frame.f_code.co_filename):
        frame = frame.f_back
    assert frame is not None, "TRL's loop is not running"
    values = {name: frame.f_locals[name] for name in names}
    return {name: value.clone() if isinstance(value, Tensor) else value for name, value in values.items()}
