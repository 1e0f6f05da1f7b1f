"""Shows that the tests bite: breaks one thing at a time in a copy of the project and expects the named test to fail.

`make test-mutations`, or `python -m tests.mutations.run [WORD]` for those whose name or test holds a word. Each *.yaml
file here is a list of {name, file, old, new, test}: `old` stands exactly once in `file`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import yaml
from rich.progress import track

from tests.figures import replace_section
from tests.support import PROJECT

TIMEOUT_SECONDS = 600
FAILED = 1  # pytest's exit code for tests that failed; others mean that nothing was tested
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "outputs", "__pycache__", ".*_cache", "node_modules")


class Mutation(NamedTuple):
    """One thing to break, and the test that must notice."""

    name: str
    file: str
    old: str
    new: str
    test: str


def mutations() -> list[Mutation]:
    """All of them, by file and in their order."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        found += [Mutation(**item) for item in yaml.safe_load(path.read_text(encoding="utf-8"))]
    return found


def is_noticed(mutation: Mutation, project: Path) -> bool:
    """Break a copy of the project, run the test, mend the copy. True if the test failed."""
    path = project / mutation.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "slow or not slow", mutation.test]
    try:
        answer = subprocess.run(command, cwd=project, capture_output=True, timeout=TIMEOUT_SECONDS)
        return answer.returncode == FAILED
    except subprocess.TimeoutExpired:
        return True  # broken so that it hangs; whole, it ends (`make test-faults` shows that)
    finally:
        path.write_text(whole, encoding="utf-8")


def main() -> int:
    """Try them one after the other. Exit code: how many went unnoticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("word", nargs="?", default="")
    parser.add_argument("--write", type=Path, help="put the table into this document")
    arguments = parser.parse_args()
    chosen = [item for item in mutations() if arguments.word in item.name or arguments.word in item.test]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(PROJECT, project, ignore=LEFT_OUT)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        for mutation in track(chosen, "Breaking things"):
            results.append((mutation, is_noticed(mutation, project)))
    unnoticed = [mutation for mutation, noticed in results if not noticed]
    for mutation in unnoticed:
        print(f"unnoticed: {mutation.name} ({mutation.file}); {mutation.test} passed or did not run")
    print(f"{len(results) - len(unnoticed)} of {len(results)} were noticed")
    if arguments.write:
        lines = ["| What was broken | Where | Test that must fail | It did |", "|---|---|---|---|"]
        for mutation, noticed in results:
            test = mutation.test.rpartition("::")[2]
            lines.append(f"| {mutation.name} | {mutation.file} | {test} | {'yes' if noticed else 'no'} |")
        replace_section(arguments.write, "mutations", "\n".join(lines))
    return min(len(unnoticed), 100)


if __name__ == "__main__":
    sys.exit(main())
