"""A tiny model, and runs with other workers than the real ones."""

import functools

import pytest

from playground.runs import launcher
from tests.faults import resuming


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Of a few thousand weights, with a tokenizer: a folder."""
    return resuming.tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def altered_worker(forker, monkeypatch):
    """The launcher forks tests/faults/altered_worker.py."""
    monkeypatch.setattr(launcher, "new_worker", functools.partial(forker.spawn, module="tests.faults.altered_worker"))
