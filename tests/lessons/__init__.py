"""Lessons for tests: one of two runs in files/, and changed copies of it."""

import copy
import functools
from pathlib import Path
from typing import Any

import yaml

from playground.lessons import loading
from playground.lessons.loading import Lessons
from playground.runs.folder.directory import RunDirectory
from playground.setup import catalog
from tests.support import data_beside

FILES = Path(__file__).parent / "files"
LEASH = yaml.safe_load((FILES / "leash.yaml").read_text(encoding="utf-8"))
GONE = "GONE"


def data(**changes):
    """The lesson on the leash; `predict__of` stands for predict.of, `options__0` for the first; GONE leaves out."""
    changed = copy.deepcopy(LEASH)
    for path, value in changes.items():
        *groups, name = [int(part) if part.isdecimal() else part for part in path.split("__")]
        node: Any = changed
        for group in groups:
            node = node[group]
        if value == GONE:
            del node[name]
        else:
            node[name] = value
    return changed


def write(folder, name="mine", text="", **changes):
    path = folder / f"{name}.yaml"
    path.write_text(text or yaml.safe_dump(data(**changes), sort_keys=False), encoding="utf-8")
    return path


def lesson(folder, **changes):
    return loading.load(write(folder, **changes))


def recording(preset):
    return RunDirectory.open(catalog.RECORDED / preset)


@functools.cache
def shipped():
    """The lessons that ship."""
    return Lessons()


def wrong(kind):
    """Cases of wrong.yaml."""
    return data_beside(__file__, "wrong.yaml")[kind]
