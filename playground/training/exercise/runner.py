"""The process of a check: `python -I -B runner.py PARENT MEMORY_BYTES PROJECT`, under the limits of Python rewards.

JSON lines: first the packages are loaded, then the student's code, then each function is asked about.
`playground.cli.exercise_commands` starts it and ends it.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

FILE = "your file"


def example(examples: Path) -> ModuleType:
    """examples/minimal_rlhf.py as a module."""
    spec = importlib.util.spec_from_file_location("minimal_rlhf", examples / "minimal_rlhf.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load(pieces: list[str], names: dict[str, Any]) -> dict[str, Any]:
    """Run the code, a file or cell by cell; of a notebook a cell that fails is left out, and said."""
    from playground.rewards.python_runner import in_words

    failed = []
    for piece in pieces:
        try:
            exec(compile(piece, FILE, "exec", dont_inherit=True), names)
        except BaseException as error:  # also SystemExit: whatever a student's code does
            failed.append(in_words(error, FILE))
    return {"failed": failed}


def main() -> None:
    """Answer until stdin closes."""
    sys.path.insert(0, sys.argv[3])
    from playground import PROJECT_FILES
    from playground.rewards.python_runner import serve

    examples, ours = PROJECT_FILES / "examples", dict[str, Any]()
    module = sys.modules["exercise"] = ModuleType("exercise")  # where dataclasses look a name up
    names = vars(module)
    names["__file__"] = str(examples / "exercise.py")

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if "code" in request:
            return load(request["code"], names)
        if "function" in request:
            from playground.training.exercise import checks

            return checks.verdict(names, ours, request["function"], FILE)
        import torch

        torch.set_num_threads(1)  # for models as small as these
        ours.update(vars(example(examples)))
        importlib.import_module("playground.training.exercise.checks")
        return {"ready": True}

    serve(answer)


if __name__ == "__main__":
    main()
