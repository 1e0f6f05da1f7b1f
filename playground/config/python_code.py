"""The code of the reward kind `python`, looked at and never run: is it Python, and does it define `reward`?

`config.reward_settings` checks by it. What runs the code, and within which limits, is `rewards/python_function.py`.
"""

from __future__ import annotations

import ast
import threading
import warnings

MAX_CHARACTERS = 10_000
ONE = ("prompt", "completion")  # the parameters of a function that scores one completion
MANY = ("prompts", "completions")  # of one that scores a batch, and gives a list
_HOW = "Write `def reward(prompt, completion):` and return a number, or `def reward(prompts, completions):` and a list."
_parsing = threading.Lock()


def check(code: str) -> None:
    """Look for the function.

    Raises:
        ValueError: with a sentence: the code cannot be read, or has no function `reward` of the right form.
    """
    try:
        with _parsing, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except SyntaxError as error:
        raise ValueError(f"Line {error.lineno or 1} is not Python ({error.msg}).") from None
    except (ValueError, RecursionError, MemoryError):
        raise ValueError("The code cannot be read: nested too deeply, or not all text.") from None
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "reward"]
    if not found:
        raise ValueError(f"There is no function `reward`. {_HOW}")
    takes = found[-1].args
    names = tuple(argument.arg for argument in (*takes.posonlyargs, *takes.args))
    if (
        names[:2] not in (ONE, MANY)
        or len(names) - len(takes.defaults) > 2
        or any(default is None for default in takes.kw_defaults)
    ):
        raise ValueError(f"The function `reward` takes other parameters ({', '.join(names)[:60] or 'none'}). {_HOW}")
