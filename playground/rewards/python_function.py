"""A custom reward function in Python: starts its process, times it, and checks what it answers.

The process (`python_runner`) starts with the first batch, answers many, and is killed when it takes too long, says too
much, or is not needed any more. `mixture.build` makes these; where a playground serves others they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playground.config import local_only
from playground.errors import RewardFailed
from playground.rewards.limited_process import LimitedProcess, ProcessEnded, TookTooLong

RUNNER = Path(__file__).with_name("python_runner.py")
MEMORY_BYTES = 4 << 30  # of address space: what numpy or torch reserve counts
LOAD_SECONDS = 20.0  # for what stands above the function: imports are slow
ATTEMPTS = 2  # of one batch: a second one where the process died, or had no luck with the clock


class PythonFunction(LimitedProcess):
    """The function that a piece of code defines, as a reward in TRL's calling convention."""

    def __init__(self, code: str, time_limit: float) -> None:
        """Raises RewardFailed where this process serves others."""
        super().__init__()
        self._code, self._time_limit = code, time_limit
        if refusal := local_only.refusal("python"):
            raise RewardFailed(refusal)

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[Any]:
        """What it returned for each completion, which `mixture.values_of` checks.

        Raises: RewardFailed, if the function raised, took too long or ended its process.
        """
        request = {"prompts": list(prompts), "completions": list(completions)}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if self.process is None:
                    self._start()
                return self._asked(request, self._time_limit)
            except ProcessEnded as error:
                self.close()
                if attempt == ATTEMPTS:
                    advice = " Make it faster, or raise time_limit." if isinstance(error, TookTooLong) else ""
                    raise RewardFailed(f"The function of the reward `python` {error}{advice}") from None
        raise AssertionError("not reached")

    def _start(self) -> None:
        """A process that loads the code. Raises: RewardFailed, ProcessEnded."""
        self.start(RUNNER, MEMORY_BYTES)
        try:
            self._asked({"code": self._code}, LOAD_SECONDS)
        except RewardFailed:
            self.close()
            raise

    def _asked(self, request: dict[str, Any], seconds: float) -> list[Any]:
        """The values that it answers with. Raises: RewardFailed, for an error of the function; ProcessEnded."""
        answer = self.ask(request, seconds)
        if not isinstance(answer.get("values"), list):
            raise ProcessEnded("wrote something other than an answer to its pipe, and was stopped.")
        if "error" in answer:
            message = "".join(character if character.isprintable() else " " for character in str(answer["error"])[:400])
            raise RewardFailed(f"The function of the reward `python` failed: {message}. Correct the code.")
        return list(answer["values"])
