"""What the two parts with a leash of their own show, measured beforehand and shipped: "Turn the leash" (bench/leash.py)
and the chalkboard (bench/chalkboard.py). The page asks for each once."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any, Literal, get_args

Name = Literal["leash", "chalkboard"]
NAMES: tuple[Name, ...] = get_args(Name)


ASKED = (0.0, 0.1, 0.25, 1.0)  # the leashes whose models ship, to be asked


def asked_folder(beta: float) -> Path:
    """The run of a leash in `ASKED`: its settings and its last weights, in half precision."""
    return Path(__file__).with_name("leashes") / f"leash-{beta:g}"


def path_of(name: Name) -> Path:
    """The packed file."""
    return Path(__file__).with_name(f"{name}.json.gz")


@functools.cache
def data(name: Name) -> Any:
    """What it holds: `BetasData` or `ChalkboardData` of ui/payloads/boards.py."""
    return json.loads(gzip.decompress(path_of(name).read_bytes()))
