"""The process of a Python reward: `python -I -B python_runner.py PARENT MEMORY_BYTES`, nothing of the playground in it.

JSON lines: on stdin the code, then batches; each is answered by a line on what was stdout. The limits are for mistakes,
not for malice: the code may do what its user may (docs/security.md). `python_function` starts it and ends it. `serve`
is all that is not about rewards: other processes of this kind use it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

CPU_SECONDS = 3600  # of the process in all
FILE_BYTES = 100 << 20  # of each file that it writes
MAX_ERROR = 300  # characters


def serve(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Set the limits, then answer every request until stdin closes."""
    parent, memory = int(sys.argv[1]), int(sys.argv[2])
    requests, answers = os.fdopen(os.dup(0), encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # what the code prints is no answer
        os.dup2(nowhere, standard)
    limits = {resource.RLIMIT_AS: memory, resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_FSIZE: FILE_BYTES}
    for what, most in limits.items():
        with contextlib.suppress(ValueError, OSError):  # macOS has no limit of the address space
            resource.setrlimit(what, (most, most))
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    for line in requests:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def in_words(error: BaseException, file: str) -> str:
    """What an error says, and in which line of the code it was raised."""
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == file]
    return f"{type(error).__name__}: {error}"[:MAX_ERROR] + (f", in line {lines[-1]}" if lines else "")


def main() -> None:
    """Load the code of a reward, then give its values of one batch after the other."""
    names: dict[str, Any] = {"__name__": "reward"}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        try:
            if "code" in request:
                exec(compile(request["code"], "the code", "exec"), names)
                return {"values": []}
            return {"values": _values(names["reward"], request["prompts"], request["completions"])}
        except BaseException as error:  # also SystemExit and MemoryError: all are the function's own doing
            return {"values": [], "error": in_words(error, "the code")}

    serve(answer)


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it, whatever the function is doing."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _values(reward: Any, prompts: list[str], completions: list[str]) -> list[float | None]:
    """What the function says, as numbers; those of numpy are numbers too."""
    in_batches = reward.__code__.co_varnames[:1] == ("prompts",)
    found = reward(prompts, completions) if in_batches else map(reward, prompts, completions)
    return [None if value is None else float(value) for value in found]


if __name__ == "__main__":
    main()
