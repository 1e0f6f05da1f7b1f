"""Figures for the tests of what is written from figures: those in the repository, and made-up ones (figures.yaml)."""

import json

from tests.support import PROJECT, data_beside

MADE_UP = data_beside(__file__, "figures.yaml")


def recorded(name):
    return json.loads((PROJECT / "bench" / "results" / f"{name}.json").read_text(encoding="utf-8"))
