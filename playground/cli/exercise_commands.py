"""The command that checks an exercise: `check`. A student's file runs in a process of its own, under the limits of
Python rewards, and on one's own machine only; the page has no part in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import playground
from playground.cli.arguments import FAILED, Json
from playground.cli.terminal import complain, plain, print_json
from playground.config import local_only
from playground.errors import ExerciseUnusable, NotAllowed
from playground.imports.python_source import without_magics
from playground.plain_files import parse_json, read_bytes
from playground.rewards.limited_process import LimitedProcess, ProcessEnded

FUNCTIONS = ("generate_with_logprobs", "compute_kl", "compute_advantages", "ppo_step", "train")
PARTS = ("case", "expected", "got", "hint")
RUNNER = Path(playground.__file__).resolve().parent / "training" / "exercise" / "runner.py"
MEMORY_BYTES = 8 << 30  # of address space, of which PyTorch's libraries reserve a good part
MOST_BYTES = 1_000_000  # of a file
START_SECONDS, LOAD_SECONDS, CHECK_SECONDS = 300.0, 30.0, 60.0  # of packages; of the file; of one function


def check(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="examples/exercise.py or examples/exercise.ipynb, as you have filled it."),
    ],
    json: Json = False,
) -> None:
    """Say of each function of the exercise what is right, or the smallest case that is not, with a hint.

    Exit codes: 0 all five are right, 1 some are wrong or not written yet, 2 the file cannot be read or run.
    """
    pieces = read(file)
    if local_only.refusal("python"):
        raise NotAllowed("An exercise is code that runs on this machine, so it is checked on your own machine only.")
    verdicts, left_out = checked(pieces, file)
    right = sum(verdict["verdict"] == "right" for verdict in verdicts.values())
    if json:
        print_json({"file": str(file), "right": right, "left_out": left_out, "functions": verdicts})
    else:
        for words in left_out:
            complain(f"A cell was left out: {words}.")
        for function, result in verdicts.items():
            print(plain("\n".join(_lines(function, result))))
        print(f"{right} of {len(FUNCTIONS)} are right.")
    if right != len(FUNCTIONS):
        raise typer.Exit(FAILED)


def read(file: Path) -> list[str]:
    """The code of a file: one piece, or of a notebook its cells. Raises: ExerciseUnusable."""
    if file.suffix not in (".py", ".ipynb"):
        raise ExerciseUnusable(
            f"{file} is neither a .py nor an .ipynb file. Give examples/exercise.py, as you filled it."
        )
    try:
        text = read_bytes(file, MOST_BYTES, links=True).decode("utf-8")
        if file.suffix == ".py":
            return [text]
        cells = [cell for cell in parse_json(text)["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
    except OSError as error:
        raise ExerciseUnusable(f"{file} cannot be read: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError):
        raise ExerciseUnusable(f"{file} is not {'a notebook' if file.suffix == '.ipynb' else 'text'}.") from None
    return [without_magics(source) or source for source in sources if not source.startswith("%%")]


def checked(pieces: list[str], file: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The verdict on each function, and which cells of a notebook failed. Raises: ExerciseUnusable."""
    process, results, left_out = LimitedProcess(), dict[str, dict[str, Any]](), list[str]()
    try:
        for function in FUNCTIONS:
            if process.process is None:
                left_out = _begin(process, pieces, file)
            try:
                results[function] = process.ask({"function": function}, CHECK_SECONDS)
            except ProcessEnded as error:
                process.close()
                results[function] = {"verdict": "wrong", "error": f"It {error}"}
    finally:
        process.close()
    return results, left_out


def _begin(process: LimitedProcess, pieces: list[str], file: Path) -> list[str]:
    """A process that has run the file. Raises: ExerciseUnusable, if it cannot be run."""
    process.start(RUNNER, MEMORY_BYTES)
    try:
        process.ask({"start": True}, START_SECONDS)
    except ProcessEnded as error:
        raise ExerciseUnusable(f"The process of the check {error} Try `python -m playground doctor`.") from None
    try:
        failed: list[str] = process.ask({"code": pieces}, LOAD_SECONDS)["failed"]
    except ProcessEnded as error:
        raise ExerciseUnusable(f"{file}, run from top to bottom, {error} Let it only define functions.") from None
    if failed and file.suffix == ".py":
        raise ExerciseUnusable(f"{file} cannot be run: {failed[0]}. Correct it first.")
    return failed


def _lines(function: str, result: dict[str, Any]) -> list[str]:
    """What the terminal says of one function."""
    if result["verdict"] == "right":
        return [f"{function}: right"]
    if result["verdict"] != "wrong":
        return [f"{function}: not written yet"]
    if "error" in result:
        return [f"{function}: wrong", f"    {result['error']}"]
    return [f"{function}: wrong", *(f"    {name.capitalize():>8}: {result[name]}" for name in PARTS)]
