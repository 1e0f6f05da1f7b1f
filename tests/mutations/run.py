"""Shows that the tests bite: breaks one thing at a time in a copy of the project and expects the named test to fail.

`make test-mutations`, or `python -m tests.mutations.run [WORD ...]` for those whose name or test holds one of the
words. Each *.yaml file here is a list of {name, old, new, test}: `old` stands exactly once in the program (or in
`file`, where that is named), and `test` is one test or a list of them, each of which must fail. Every test of
tests/faults and tests/security is named by at least one.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from rich.progress import track

from tests.figures import replace_section
from tests.support import PROJECT

TIMEOUT_SECONDS = 600
TRIES = 3
RESULTS = ("no", "yes", "yes, at the second try", "yes, at the third try")  # by `noticed_at`
FAILED = 1  # pytest's exit code for tests that failed; others mean that nothing was tested
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "outputs", "__pycache__", ".*_cache", "node_modules")


class Mutation(NamedTuple):
    """One thing to break, and a test that must notice."""

    name: str
    old: str
    new: str
    test: str
    file: str = ""

    def places(self) -> list[str]:
        """The files in which `old` stands, each as often as it does."""
        if self.file:
            return [self.file]
        return [path for path, text in program().items() for _ in range(text.count(self.old))]


@cache
def program() -> dict[str, str]:
    """The source of every module and script."""
    paths = [path for ending in ("py", "js") for path in sorted((PROJECT / "playground").rglob(f"*.{ending}"))]
    return {str(path.relative_to(PROJECT)): path.read_text(encoding="utf-8") for path in [PROJECT / "app.py", *paths]}


def mutations() -> list[Mutation]:
    """All of them, by file and in their order; one that several tests must notice comes once for each of them."""
    found = []
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        for item in yaml.safe_load(path.read_text(encoding="utf-8")):
            tests = [item["test"]] if isinstance(item["test"], str) else item["test"]
            found += [Mutation(**{**item, "test": test}) for test in tests]
    return found


def noticed_at(mutation: Mutation, project: Path) -> int:
    """Break a copy of the project, run the test, mend the copy. The try at which the test failed; 0 if it never did.

    What a break does to a race may take more than one try to be seen.
    """
    (place,) = mutation.places()
    path = project / place
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace(mutation.old, mutation.new), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "slow or not slow", mutation.test]
    try:
        for number in range(1, TRIES + 1):
            answer = subprocess.run(command, cwd=project, capture_output=True, timeout=TIMEOUT_SECONDS)
            if answer.returncode == FAILED:
                return number
        return 0
    except subprocess.TimeoutExpired:
        return number  # broken so that it hangs; whole, it ends (`make test-faults` shows that)
    finally:
        path.write_text(whole, encoding="utf-8")


def try_all(chosen: list[Mutation], jobs: int) -> Iterator[tuple[Mutation, int]]:
    """Each mutation with the try at which it was noticed, in order; `jobs` at a time, each in a copy of its own."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        copies: queue.SimpleQueue[Path] = queue.SimpleQueue()
        for number in range(jobs):
            copies.put(Path(shutil.copytree(PROJECT, Path(folder) / str(number) / "project", ignore=LEFT_OUT)))

        def attempt(mutation: Mutation) -> tuple[Mutation, int]:
            copy = copies.get()
            try:
                return mutation, noticed_at(mutation, copy)
            finally:
                copies.put(copy)

        yield from pool.map(attempt, chosen)


def main() -> int:
    """Try them. Exit code: how many went unnoticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="only those whose name or test holds one of these words")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--write", type=Path, help="put the results into the table of this document")
    arguments = parser.parse_args()
    words = arguments.words or [""]
    chosen = [item for item in mutations() if any(word in item.name or word in item.test for word in words)]
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    results: dict[Mutation, int] = {}
    for mutation, noticed in track(try_all(chosen, arguments.jobs), "Breaking things", total=len(chosen)):
        results[mutation] = noticed
        if not noticed:
            print(f"unnoticed: {mutation.name} ; {mutation.test} passed or did not run", flush=True)
    unnoticed = list(results.values()).count(0)
    print(f"{len(results) - unnoticed} of {len(results)} were noticed")
    if arguments.write:
        write_table(arguments.write, results)
    return min(unnoticed, 100)


def write_table(document: Path, results: dict[Mutation, int]) -> None:
    """Enter results into the table of a document; what was not tried this time keeps what it has there."""
    lines_before = document.read_text(encoding="utf-8").splitlines()
    before = dict(line.removesuffix(" |").rsplit(" | ", 1) for line in lines_before if line.startswith("| "))
    rows = {}
    for mutation in mutations():
        place, _, test = mutation.test.partition("::")
        cells = (mutation.name, f"`{test}` in `{place}`")
        row = f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)}"
        rows[row] = RESULTS[results[mutation]] if mutation in results else before.get(row, "not tried yet")
    good = sum(result.startswith("yes") for result in rows.values())
    head = [f"{good} of {len(rows)} were noticed.", "", "| What was broken | Test that must fail | It did |"]
    lines = [*head, "|---|---|---|", *(f"{row} | {result} |" for row, result in rows.items())]
    replace_section(document, "mutations", "\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
