"""Every set of requirements has a lock file (`make lock`), which names every package that the set brings."""

import importlib.metadata
import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support import PROJECT

SETS = sorted(PROJECT.glob("requirements*.txt"))
HERE = [path for path in SETS if "zerogpu" not in path.name]  # whose packages an environment for the tests has
BY_THE_HUB = {"gradio", "spaces", "huggingface-hub"}  # on ZeroGPU
FLOATING = re.compile(r"[<>~*]|==.*,")


def lines(path):
    """What a file of requirements names, and the files that it names."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            yield from lines(path.with_name(line[3:]))
        elif line and not line.lstrip().startswith("#"):
            yield Requirement(line)


def named(path, everywhere=False):
    """Versions by name, of the lines that are meant for this machine, or of all."""
    meant = (line for line in lines(path) if everywhere or line.marker is None or line.marker.evaluate())
    return {canonicalize_name(line.name): str(line.specifier) for line in meant}


def brought(path):
    """What is installed here because of a set, by name and extras: its packages, what these need, and so on."""
    versions, ahead = {}, list(lines(path))
    while ahead:
        wanted = ahead.pop()
        key = (canonicalize_name(wanted.name), frozenset(wanted.extras))
        if key not in versions:
            there = importlib.metadata.distribution(wanted.name)
            versions[key] = f"=={Version(there.version).public}"
            extras = ("", *wanted.extras)
            needed = map(Requirement, there.requires or ())
            ahead += [
                one
                for one in needed
                if one.marker is None or any(one.marker.evaluate({"extra": name}) for name in extras)
            ]
    return {name: version for (name, _), version in versions.items()}


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.name)
def test_a_lock_file_agrees_with_its_requirements_and_leaves_nothing_floating(path):
    pinned, pins = (named(file, everywhere=True) for file in (path, path.with_suffix(".lock")))
    assert pinned.items() <= pins.items(), "run `make lock`"
    assert len(pins) > len(pinned), "run `make lock`"
    assert not [name for name, version in pins.items() if FLOATING.search(version) or not version.startswith("==")]
    assert not BY_THE_HUB & pins.keys() or "zerogpu" not in path.name


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.name)
def test_every_package_that_a_set_brings_is_pinned_by_its_lock_file(path):
    try:
        installed = brought(path)
    except importlib.metadata.PackageNotFoundError as missing:
        pytest.skip(f"{missing} is not installed here")
    # PyTorch's build for CPUs needs none of the GPU's packages, which the lock file names as well
    assert installed.items() - named(path.with_suffix(".lock")).items() == set()
    assert len(installed) > len(list(lines(path)))


def test_the_sets_that_stand_on_the_run_set_agree_with_it():
    run = named(PROJECT / "requirements.lock")
    for path in HERE:
        assert run.items() <= named(path.with_suffix(".lock")).items(), path.name


def test_make_installs_what_is_locked():
    text = (PROJECT / "Makefile").read_text(encoding="utf-8")
    for name in ("requirements", "requirements-dev"):
        assert f"pip install -r {name}.txt -c {name}.lock" in text
    assert "COPY Makefile requirements.txt requirements.lock ./" in (PROJECT / "Dockerfile").read_text("utf-8")
