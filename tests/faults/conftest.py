from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.faults.workers import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Real workers without their seconds of imports."""
    made = Nursery()
    yield made
    made.close()
