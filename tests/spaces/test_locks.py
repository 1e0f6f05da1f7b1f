"""Every set of requirements has a lock file (`make lock`), which names every package that the set brings."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support import PROJECT

SETS = sorted(PROJECT.glob("requirements*.txt"))
HERE = [path for path in SETS if "zerogpu" not in path.name]  # whose packages an environment for the tests has
BY_THE_HUB = {"gradio", "spaces", "huggingface-hub"}  # on ZeroGPU
FLOATING = re.compile(r"[<>~*]|==.*,")


def lines(path: Path) -> Iterator[Requirement]:
    """What a file of requirements names, and the files that it names."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            yield from lines(path.with_name(line[3:]))
        elif line and not line.lstrip().startswith("#"):
            yield Requirement(line)


def locked(path: Path) -> dict[str, str]:
    """Versions by name, of the lines that are meant for this machine."""
    found = [one for one in lines(path.with_suffix(".lock")) if one.marker is None or one.marker.evaluate()]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in found}


def brought(path: Path) -> dict[str, str]:
    """What is installed here because of a set: its packages, what these need, and so on."""
    found: dict[str, str] = {}
    ahead = [Requirement(str(one)) for one in lines(path)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while ahead:
        wanted = ahead.pop()
        key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if key in seen:
            continue
        seen.add(key)
        there = importlib.metadata.distribution(wanted.name)
        found[key[0]] = Version(there.version).public
        for line in there.requires or ():
            needed = Requirement(line)
            extras = ("", *wanted.extras)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                ahead.append(needed)
    return found


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.name)
def test_a_lock_file_agrees_with_its_requirements_and_leaves_nothing_floating(path: Path) -> None:
    pinned = {canonicalize_name(one.name): str(one.specifier) for one in lines(path)}
    found = {canonicalize_name(one.name): str(one.specifier) for one in lines(path.with_suffix(".lock"))}
    assert pinned.items() <= found.items() and len(found) > len(pinned), "run `make lock`"
    assert not [name for name, version in found.items() if FLOATING.search(version) or not version.startswith("==")]
    assert not BY_THE_HUB & found.keys() or "zerogpu" not in path.name


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.name)
def test_every_package_that_a_set_brings_is_pinned_by_its_lock_file(path: Path) -> None:
    try:
        installed = brought(path)
    except importlib.metadata.PackageNotFoundError as missing:
        pytest.skip(f"{missing} is not installed here")
    pins = locked(path)
    # PyTorch's build for CPUs needs none of the GPU's packages, which the lock file names as well
    assert {name: (version, pins.get(name)) for name, version in installed.items() if pins.get(name) != version} == {}
    assert len(installed) > len(list(lines(path)))


def test_the_sets_that_stand_on_the_run_set_agree_with_it() -> None:
    run = locked(PROJECT / "requirements.txt")
    for path in HERE:
        assert run.items() <= locked(path).items(), path.name


def test_make_installs_what_is_locked() -> None:
    text = (PROJECT / "Makefile").read_text(encoding="utf-8")
    for name in ("requirements", "requirements-dev"):
        assert f"pip install -r {name}.txt -c {name}.lock" in text
    assert "COPY Makefile requirements.txt requirements.lock ./" in (PROJECT / "Dockerfile").read_text("utf-8")
