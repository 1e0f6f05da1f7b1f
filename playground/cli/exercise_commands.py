"""The command that checks an exercise: `check`. A student's file runs in a process of its own, under the limits of
Python rewards, and on one's own machine only; the page has no part in it."""

from __future__ import annotations

import ast
import json as json_format
import re
import stat
from pathlib import Path
from typing import Annotated, Any

import typer

import playground
from playground.cli.arguments import FAILED, Json
from playground.cli.terminal import complain, plain, print_json
from playground.config import local_only
from playground.errors import ExerciseUnusable, NotAllowed
from playground.rewards.limited_process import LimitedProcess, ProcessEnded

FUNCTIONS = ("generate_with_logprobs", "compute_kl", "compute_advantages", "ppo_step", "train")
PACKAGE = Path(playground.__file__).resolve().parent
RUNNER = PACKAGE / "training" / "exercise" / "runner.py"
MEMORY_BYTES = 8 << 30  # of address space, of which PyTorch's libraries reserve a good part
MOST_BYTES = 1 << 20  # of a file
START_SECONDS, LOAD_SECONDS, CHECK_SECONDS = 300.0, 30.0, 60.0  # of packages; of the file; of one function
NOT_PYTHON = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)  # a notebook's commands


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
    right = sum(one["verdict"] == "right" for one in verdicts.values())
    if json:
        print_json({"file": str(file), "right": right, "left_out": left_out, "functions": verdicts})
    else:
        for words in left_out:
            complain(f"A cell was left out: {words}.")
        for function, one in verdicts.items():
            print(plain("\n".join(_lines(function, one))))
        print(f"{right} of {len(FUNCTIONS)} are right.")
    raise typer.Exit(0 if right == len(FUNCTIONS) else FAILED)


def read(file: Path) -> list[str]:
    """The code of a file: one piece, or of a notebook its cells. Raises: ExerciseUnusable."""
    if file.suffix not in (".py", ".ipynb"):
        raise ExerciseUnusable(
            f"{file} is neither a .py nor an .ipynb file. Give examples/exercise.py, as you filled it."
        )
    try:
        about = file.stat()
        if not stat.S_ISREG(about.st_mode):
            raise ExerciseUnusable(f"{file} is no file. Give examples/exercise.py, as you filled it.")
        if about.st_size > MOST_BYTES:
            raise ExerciseUnusable(f"{file} is larger than 1 MB. Is it the exercise? Clear a notebook's outputs.")
        text = file.read_text(encoding="utf-8")
        if file.suffix == ".py":
            return [text]
        cells = [cell for cell in json_format.loads(text)["cells"] if cell["cell_type"] == "code"]
        sources = ["".join(cell["source"]) for cell in cells]
    except OSError as error:
        raise ExerciseUnusable(f"{file} cannot be read: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ExerciseUnusable(f"{file} is not {'a notebook' if file.suffix == '.ipynb' else 'text'}.") from None
    return [_python_of(source) for source in sources if not source.startswith("%%")]


def _python_of(source: str) -> str:
    """A cell without its commands; a line of an expression may begin like one."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):  # what is wrong beyond commands is found where it is run
        return NOT_PYTHON.sub(r"\1pass", source)
    return source


def checked(pieces: list[str], file: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The verdict on each function, and which cells of a notebook failed. Raises: ExerciseUnusable."""
    process, found, left_out = LimitedProcess(), dict[str, dict[str, Any]](), list[str]()
    try:
        for function in FUNCTIONS:
            if process.process is None:
                left_out = _begin(process, pieces, file)
            try:
                found[function] = process.ask({"function": function}, CHECK_SECONDS)
            except ProcessEnded as error:
                process.close()
                found[function] = {"verdict": "wrong", "error": f"It {error}"}
    finally:
        process.close()
    return found, left_out


def _begin(process: LimitedProcess, pieces: list[str], file: Path) -> list[str]:
    """A process that has run the file. Raises: ExerciseUnusable, if it cannot be run."""
    process.start(RUNNER, MEMORY_BYTES, str(PACKAGE.parent))
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


def _lines(function: str, found: dict[str, Any]) -> list[str]:
    """What the terminal says of one function."""
    if found["verdict"] != "wrong":
        return [f"{function}: {'right' if found['verdict'] == 'right' else 'not written yet'}"]
    lines = [f"{function}: wrong"]
    if "error" in found:
        return [*lines, f"    {found['error']}"]
    lines.append(f"    Case: {found['case']}.")
    for heading in ("given", "expected", "got"):
        lines += [f"    {heading:>8}  {name} = {text}" for name, text in found[heading].items()]
    return [*lines, f"    Hint: {found['hint']}"] if found["hint"] else lines
