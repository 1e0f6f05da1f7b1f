"""The process of a Python reward: `python -I -B python_runner.py PARENT MEMORY_BYTES`, nothing of the playground in it.

JSON lines: on stdin the code, then batches; each is answered by a line on what was stdout. The limits are for mistakes,
not for malice: the code may do what its user may (docs/security.md). `python_function` starts it and ends it.
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
from typing import Any

CPU_SECONDS = 3600  # of the process in all
FILE_BYTES = 100 << 20  # of each file that it writes
FILES = 64  # open at once
MAX_ERROR = 300  # characters


def main() -> None:
    """Set the limits, then answer until stdin closes."""
    parent, memory = int(sys.argv[1]), int(sys.argv[2])
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # what the function prints is no answer
        os.dup2(nowhere, standard)
    for what, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_NOFILE, FILES),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # macOS has no limit of the address space
            resource.setrlimit(what, (most, most))
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    reward: Any = None
    for line in requests:
        request, answer = json.loads(line), dict[str, Any](values=[])
        try:
            if "code" in request:
                names: dict[str, Any] = {"__name__": "reward"}
                exec(compile(request["code"], "the code", "exec"), names)
                reward = names["reward"]
            else:
                answer = {"values": _values(reward, request["prompts"], request["completions"])}
        except BaseException as error:  # also SystemExit and MemoryError: all are the function's own doing
            answer = {"error": _in_words(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it, whatever the function is doing."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _values(reward: Any, prompts: list[str], completions: list[str]) -> list[float | str | None]:
    """What the function says: numbers; a text stands for something else that it gave, by its type."""
    in_batches = reward.__code__.co_varnames[:1] == ("prompts",)
    found = reward(prompts, completions) if in_batches else list(map(reward, prompts, completions))
    return [_plain(value) for value in (found if isinstance(found, (list, tuple)) else [found])]


def _plain(value: Any) -> float | str | None:
    if value is None:
        return None
    try:
        if not isinstance(value, str):
            return float(value)  # also a number of numpy
    except OverflowError:
        return "a whole number beyond all floats"
    except (TypeError, ValueError):
        pass
    return f"a value of type {type(value).__name__[:40]}"


def _in_words(error: BaseException) -> str:
    """The error and the line it comes from."""
    trace = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in trace if frame.f_code.co_filename == "the code"]
    line = lines[-1] if lines else getattr(error, "lineno", 0) or 0
    try:
        message = f"{type(error).__name__}: {error}"
    except BaseException:  # an exception whose own words fail
        message = type(error).__name__
    return f"{message[:MAX_ERROR]}{f', in line {line}' if line else ''}"


if __name__ == "__main__":
    main()
