"""What `pip install .` makes: all that the playground needs at work is in it, and is found there."""

import json
import subprocess
import sys

from playground import __version__
from tests.spaces.test_locks import lines
from tests.support import PROJECT

MADE = (  # the package as setuptools would make it: what is in it, and what its metadata say
    "import json, setuptools; from distutils.core import run_setup; "
    "made = run_setup('setup.py', stop_after='config'); build = made.get_command_obj('build_py'); "
    "build.build_lib = ''; build.ensure_finalized(); "
    "print(json.dumps([build.get_outputs(), made.get_version(), made.install_requires, made.extras_require]))"
)
NOT_AT_WORK = {"examples/exercise.ipynb", "examples/playground.ipynb"}


def said_by(*command, folder=PROJECT):
    answer = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, timeout=600)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_the_package_has_all_that_is_needed_at_work_and_the_pins_of_the_requirements():
    files, version, requires, extras = json.loads(said_by("-c", MADE))
    named = ("playground", "presets", "lessons", "examples")
    kept = subprocess.check_output(["git", "ls-files", *named], cwd=PROJECT, text=True).splitlines()
    there = {name.removeprefix("playground/project/") for name in files}
    assert len(kept) > 1000
    assert {*kept} - there == NOT_AT_WORK
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
