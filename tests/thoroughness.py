"""Which cases of a test `make test` tries, and which only `make test-all` does."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def cases(every: Iterable[Any], always: Container[Any]) -> list[Any]:
    """The cases of a test for `parametrize`: `make test` tries those in `always`, `make test-all` every one. A case of
    several arguments is a tuple."""
    return [case if case in always else thorough(*(case if isinstance(case, tuple) else (case,))) for case in every]


def thorough(*values: Any) -> Any:
    """One case for `parametrize` that only `make test-all` tries."""
    return pytest.param(*values, marks=pytest.mark.thorough)


SEEDS = cases([0, 1, 2], always=[0])
