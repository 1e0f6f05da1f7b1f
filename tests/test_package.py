"""What `pip install .` makes has all that is needed at work; every set of requirements has a lock file (`make lock`)
with every package that it brings; and where the project cannot run as it is, one sentence says what to do."""

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from playground import __version__
from tests.nights import cases
from tests.support import PROJECT

MADE = Path(__file__).with_name("packaged.py.txt").read_text(encoding="utf-8")
NOT_AT_WORK = {"examples/exercise.ipynb", "examples/playground.ipynb"}


def said_by(*command, folder=PROJECT):
    answer = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=600)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_the_package_has_all_that_is_needed_at_work_and_the_pins_of_the_requirements():
    files, version, requires, extras = json.loads(said_by("-c", MADE))
    named = ("playground", "presets", "lessons", "examples")
    tracked = subprocess.check_output(["git", "ls-files", *named], cwd=PROJECT, text=True).splitlines()
    packed = {name.removeprefix("playground/project/") for name in files}
    assert len(tracked) > 1000
    assert {*tracked} - packed == NOT_AT_WORK
    assert not [name for name in files if name.endswith(".pyc")]
    assert (version, requires) == (__version__, [*map(str, lines(PROJECT / "requirements.txt"))])
    for extra in ("mcp", "ray"):
        assert extras[extra] == [*map(str, lines(PROJECT / f"requirements-{extra}.txt"))]
    assert {"trackio", "wandb"} < {*extras}


def test_an_installed_package_finds_its_files_within_and_says_how_to_install_more(tmp_path):
    (tmp_path / "playground" / "project").mkdir(parents=True)
    (tmp_path / "playground" / "__init__.py").write_bytes((PROJECT / "playground" / "__init__.py").read_bytes())
    code = "import playground as it; print(it.PROJECT_FILES); print(it.to_install('ray')); print(it.to_install()); "
    code += "print(it.missing(ModuleNotFoundError(name='yaml')))"
    where, extra, whole, missing = said_by("-c", code, folder=tmp_path).splitlines()
    assert where == str(tmp_path / "playground" / "project")
    assert (extra, whole) == ("pip install 'rlhf-playground[ray]'", "pip install rlhf-playground")
    assert missing.endswith(f"{sys.executable}. pip install rlhf-playground installs all of them.")


SETS = sorted(PROJECT.glob("requirements*.txt"))
HERE = [path for path in SETS if "zerogpu" not in path.name]  # whose packages an environment for the tests has
BY_DAY = [path for path in HERE if path.stem not in ("requirements-night", "requirements-ray")]
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
    applicable = (line for line in lines(path) if everywhere or line.marker is None or line.marker.evaluate())
    return {canonicalize_name(line.name): str(line.specifier) for line in applicable}


def brought(path):
    """What is installed here because of a set, by name and extras: its packages, what these need, and so on."""
    versions, ahead = {}, list(lines(path))
    while ahead:
        requirement = ahead.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key not in versions:
            distribution = importlib.metadata.distribution(requirement.name)
            versions[key] = f"=={Version(distribution.version).public}"
            extras = ("", *requirement.extras)
            needed = map(Requirement, distribution.requires or ())
            ahead += [
                line
                for line in needed
                if line.marker is None or any(line.marker.evaluate({"extra": name}) for name in extras)
            ]
    return {name: version for (name, _), version in versions.items()}


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.name)
def test_a_lock_file_agrees_with_its_requirements_and_leaves_nothing_floating(path):
    pinned, pins = (named(file, everywhere=True) for file in (path, path.with_suffix(".lock")))
    assert pinned.items() <= pins.items(), "run `make lock`"
    assert len(pins) > len(pinned), "run `make lock`"
    assert not [name for name, version in pins.items() if FLOATING.search(version) or not version.startswith("==")]
    assert not BY_THE_HUB & pins.keys() or "zerogpu" not in path.name


@pytest.mark.parametrize("path", cases(HERE, always=BY_DAY), ids=lambda path: path.name)
def test_every_package_that_a_set_brings_is_pinned_by_its_lock_file(path):
    installed = brought(path)
    # PyTorch's build for CPUs needs none of the GPU's packages, which the lock file names as well
    assert installed.items() - named(path.with_suffix(".lock")).items() == set()
    assert len(installed) > len(list(lines(path)))


def test_the_sets_that_stand_on_the_run_set_agree_with_it():
    run = named(PROJECT / "requirements.lock")
    for path in HERE:
        assert run.items() <= named(path.with_suffix(".lock")).items(), path.name


def test_make_installs_what_is_locked():
    text = (PROJECT / "Makefile").read_text(encoding="utf-8")
    for name in ("requirements", "requirements-dev", "requirements-night"):
        assert f"pip install -r {name}.txt -c {name}.lock" in text
    assert "COPY Makefile requirements.txt requirements.lock ./" in (PROJECT / "Dockerfile").read_text("utf-8")


AS = "import sys; sys.{}; import playground"
MISSING = ["is not installed", "`make run`", "`.venv/bin/python -m playground`"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["-c", AS.format("version_info = (3, 10, 13)")], ["make run PYTHON=python3.12", 'python_version: "3.12"']),
        (["-c", AS.format("platform = 'win32'")], ["`wsl --install`"]),
        (["-S", "-m", "playground", "presets"], MISSING),  # -S: without the folder in which packages are
        (["-S", "app.py"], MISSING),
    ],
    ids=["an older Python", "Windows", "a command without packages", "the page without packages"],
)
def test_where_the_project_cannot_run_it_says_in_one_line_what_to_do(command, words):
    answer = subprocess.run([sys.executable, *command], cwd=PROJECT, capture_output=True, text=True, timeout=240)
    assert (answer.returncode, answer.stdout, answer.stderr.count("\n")) == (1, "", 1), answer.stderr
    assert [word for word in words if word not in answer.stderr] == []
