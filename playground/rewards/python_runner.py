"""The process of a Python reward: `python -I -B python_runner.py PARENT MEMORY_BYTES`, nothing of the playground in it.

JSON lines: on stdin the code, then batches; each is answered by a line on what was stdout. The limits are for mistakes,
not for malice: the code may do what its user may (docs/security.md). `python_function` starts it and ends it. `serve`
is all that is not about rewards: other processes of this kind use it.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import os
import resource
import sys
import threading
import time
import traceback
import types
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


class Wrong(Exception):
    """What a function returned and should not have."""


def main() -> None:
    """Load the code of a reward, then give its values of one batch after the other."""
    file, function, signature = "the code", None, {}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal file, function, signature
        try:
            if "code" in request:
                file = request.get("file") or file
                function = _loaded(request, file)
                signature = _signature(function)
                return {"values": [], "signature": signature}
            return {"values": _values(function, signature, request)}
        except Wrong as error:
            return {"values": [], "error": f"it {error}" + f", in line {signature['line']}" * bool(signature["line"])}
        except BaseException as error:  # also SystemExit and MemoryError: all are the function's own doing
            return {"values": [], "error": in_words(error, file)}

    serve(answer)


def _loaded(request: dict[str, Any], file: str) -> Any:
    """The function, in a module as Python itself would have made it of that text."""
    name = request.get("module") or "reward"
    module = types.ModuleType(name)
    if request.get("file"):
        module.__file__ = file
        inside = name.count(".") + file.endswith("__init__.py") if request["module"] else 0
        folders = file.rsplit("/", inside + 1)
        sys.path.insert(0, folders[0] or "/")
    if request.get("module"):
        module.__package__ = name if file.endswith("__init__.py") else name.rpartition(".")[0]
        if name.rpartition(".")[0]:
            importlib.import_module(name.rpartition(".")[0])
        if file.endswith("__init__.py"):
            module.__path__ = [file.rpartition("/")[0]]
    sys.modules[name] = module
    exec(compile(request["code"], file, "exec"), module.__dict__)
    return getattr(sys.modules.get(name, module), request.get("name") or "reward")  # which a lazy package replaces


def _signature(function: Any) -> dict[str, Any]:
    """See `python_function.Signature`."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    parameters = inspect.signature(function).parameters.values()
    named = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    takes = [one.name for one in named]
    takes_all = any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters)
    return {
        "takes": takes,
        "needs": [one.name for one in named if one.default is one.empty],
        "takes_all": takes_all,
        "like_trl": "completion" not in takes and (takes_all or takes[:2] != ["prompts", "completions"]),
        "line": code.co_firstlineno if code else 0,
    }


def _end_with(parent: int) -> None:
    """End this process soon after the one that started it, whatever the function is doing."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _values(function: Any, signature: dict[str, Any], request: dict[str, Any]) -> list[float | None]:
    """What the function says, as numbers; those of numpy and torch are numbers too."""
    prompts, completions, columns = request["prompts"], request["completions"], request.get("columns", {})
    takes, count = signature["takes"], len(completions)
    if "completion" in takes:
        arguments = {"prompt": prompts, "completion": completions, **columns}
        argument_names = [name for name in arguments if signature["takes_all"] or name in takes]
        result = [function(**{name: arguments[name][row] for name in argument_names}) for row in range(count)]
    else:
        arguments = {**columns, "prompts": prompts, "completions": completions}
        result = function(
            **{name: value for name, value in arguments.items() if signature["takes_all"] or name in takes}
        )
        if inspect.iscoroutine(result):
            import asyncio  # as seldom as such functions

            result = asyncio.run(result)
    try:
        values = list(result)
    except TypeError:
        raise Wrong(f"returned {_shown(result)}, not a list with one number for each completion") from None
    if isinstance(result, (str, bytes, dict)) or len(values) != count:
        raise Wrong(f"returned {len(values)} values for {count} completions; return one number for each")
    return [_number(value) for value in values]


def _number(value: Any) -> float | None:
    try:
        if value is None or not isinstance(value, (str, bytes)):
            return None if value is None else float(value)
    except (TypeError, ValueError):
        pass
    raise Wrong(f"returned {_shown(value)} for a completion; return a number, or None for no opinion")


def _shown(value: Any) -> str:
    return f"{value!r:.40}" if isinstance(value, (str, int, float, type(None))) else f"a {type(value).__name__}"


if __name__ == "__main__":
    main()
