"""Figures for the tests of what is written from figures: those in the repository, and made-up ones (figures.yaml)."""

import json
from pathlib import Path

import yaml

from tests.support import PROJECT

MADE_UP = yaml.safe_load(Path(__file__).with_name("figures.yaml").read_text(encoding="utf-8"))


def recorded(name):
    """Those that a command has written."""
    return json.loads((PROJECT / "bench" / "results" / f"{name}.json").read_text(encoding="utf-8"))
