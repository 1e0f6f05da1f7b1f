"""What `make test` leaves to the nightly run (`make test-all`, `.ci/nightly`): whole modules, and further seeds.

A module is left out by the line `pytestmark = pytest.mark.nightly` at its beginning; what is left out is not imported
either. What no day may go without is not marked: one way through each page and feature, every promise of
docs/security.md, every equation, and the test of every fault that was once mended.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

import pytest

MARK = "\npytestmark = pytest.mark.nightly\n"
TODAY = "not nightly"  # the `-m` of pyproject.toml


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Importing modules of which every case would be left out takes seconds."""
    if config.getoption("markexpr") != TODAY or collection_path.suffix != ".py":
        return None
    return True if MARK in collection_path.read_text(encoding="utf-8") else None


def cases(every: Iterable[Any], always: Container[Any]) -> list[Any]:
    """The cases of a test for `parametrize`: `make test` tries those in `always`, `make test-all` every one. A case of
    several arguments is a tuple."""
    return [case if case in always else nightly(*(case if isinstance(case, tuple) else (case,))) for case in every]


def nightly(*values: Any) -> Any:
    """One case for `parametrize` that only `make test-all` tries."""
    return pytest.param(*values, marks=pytest.mark.nightly)


SEEDS = cases([0, 1, 2], always=[0])
