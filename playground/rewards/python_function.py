"""A custom reward function in Python: starts its process, times it, and checks what it answers.

The process (`python_runner`) starts with the first batch, answers many, and is killed when it takes too long, says too
much, or is not needed any more. `mixture.build` makes these; where a playground serves others they are refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from playground.config import local_only
from playground.config.python_code import USUAL
from playground.data import dialogues
from playground.errors import RewardFailed
from playground.rewards.limited_process import LimitedProcess, ProcessEnded, TookTooLong
from playground.rewards.rules import PromptFacts

RUNNER = Path(__file__).with_name("python_runner.py")
MEMORY_BYTES = 4 << 30  # of address space: what numpy or torch reserve counts
LOAD_SECONDS = 20.0  # for what stands above the function: imports are slow
ATTEMPTS = 2  # of one batch: a second one where the process died, or had no luck with the clock
OWN = ("prompt", "completion", "prompts", "completions", "completion_ids")  # parameters that are no columns
OF_TRL = ("trainer_state", "log_extra", "log_metric", "environments")
OF_ITS_FORM = ("TypeError", "AttributeError", "KeyError")  # errors of who takes a text for messages, or messages for it


class Signature(NamedTuple):
    """How a function is called, as its process says. `like_trl`: as TRL calls it, with everything by name, and with
    messages where prompts go through a chat template. `line`: in which it begins."""

    takes: Sequence[str] = ()
    needs: Sequence[str] = ()
    takes_all: bool = False
    like_trl: bool = False
    line: int = 0


class PythonFunction(LimitedProcess):
    """The function that a piece of code defines, as a reward in TRL's calling convention. `file`: from which it was
    read. `function`: its name, behind that of its module where it has one."""

    def __init__(
        self,
        code: str,
        time_limit: float,
        file: str | None = None,
        function: str | None = None,
        facts: PromptFacts | None = None,
    ) -> None:
        """Raises RewardFailed where this process serves others."""
        super().__init__()
        self._code, self._time_limit, self._file = code, time_limit, file
        self._module, _, self._name = (function or USUAL).rpartition(":")
        self.facts, self.signature = facts or PromptFacts(), Signature()
        self.what = f"The function of the reward `{function or 'python'}`"
        if file:
            self.what = f"The function `{self._name}` of {Path(file).name}"
        if refusal := local_only.refusal("python"):
            raise RewardFailed(refusal)

    def __call__(self, prompts: Sequence[str], completions: Sequence[str], **columns: Any) -> list[Any]:
        """What it returned for each completion, which `mixture.values_of` checks; no opinion where it wants columns
        by name, and nothing is known of a prompt.

        Raises: RewardFailed, if the function raised, took too long, ended its process, or wants what there is not.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                if self.process is None:
                    self.load()
                return self._values(prompts, completions)
            except ProcessEnded as error:
                self.close()
                if attempt == ATTEMPTS:
                    advice = ""
                    if isinstance(error, TookTooLong):
                        advice = " Make it faster, or raise time_limit."
                    raise RewardFailed(f"{self.what} {error}{advice}") from None
        raise AssertionError("not reached")

    def load(self) -> None:
        """Start a process that loads the code. Raises: RewardFailed, ProcessEnded."""
        self.start(RUNNER, MEMORY_BYTES)
        request = {"code": self._code, "file": self._file, "module": self._module, "name": self._name}
        try:
            self.signature = Signature(**self._asked(request, LOAD_SECONDS)["signature"])
        except RewardFailed:
            self.close()
            raise

    def lacking(self) -> list[str]:
        """Parameters without a default that are neither ours nor columns."""
        known = {*OWN, *self._columns()}
        return [name for name in self.signature.needs if name not in known]

    def _columns(self) -> dict[str, None]:
        return {name: None for row in self.facts.columns.values() for name in row if name not in OWN}

    def _values(self, prompts: Sequence[str], completions: Sequence[str]) -> list[Any]:
        facts, signature = self.facts, self.signature
        if lacking := self.lacking():
            raise RewardFailed(f"{self.what} needs {dialogues.listed(lacking)}. {self._what_there_is(lacking)}")
        extra = [name for name in self._columns() if signature.takes_all or name in signature.takes]
        by_name = any(name in signature.takes for name in extra)
        rows = [row for row, prompt in enumerate(prompts) if prompt in facts.columns or not by_name]
        asked, given = [prompts[row] for row in rows], [completions[row] for row in rows]
        of_rows = [facts.columns.get(prompt, {}) for prompt in asked]
        request: dict[str, Any] = {
            "prompts": asked,
            "completions": given,
            "columns": {name: [row.get(name) for row in of_rows] for name in extra},
        }
        if facts.encode and (signature.takes_all or "completion_ids" in signature.takes):
            request["columns"]["completion_ids"] = [facts.encode(text) for text in given]
        if signature.like_trl and facts.in_chat:
            first = [{"role": "system", "content": facts.system}] if facts.system else []
            request["prompts"] = [[*first, *(turn._asdict() for turn in dialogues.turns(text))] for text in asked]
            request["completions"] = [[{"role": "assistant", "content": text}] for text in given]
        values: list[Any] = [None] * len(prompts)
        for row, value in zip(rows, self._asked(request, self._time_limit)["values"], strict=True):
            values[row] = value
        return values

    def _what_there_is(self, lacking: Sequence[str]) -> str:
        if {*lacking} & {*OF_TRL}:
            return f"Only TRL's trainers have {', '.join(OF_TRL)}: give it a default."
        columns = [*self._columns()]
        listing = "they have no further columns"
        if columns:
            listing = f"they have {dialogues.listed(columns)}"
        return f"The prompts bring no such column; {listing}. Name one of them in the function, or add it to the file."

    def _asked(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """What it answers. Raises: RewardFailed, for an error of the function; ProcessEnded."""
        answer = self.ask(request, seconds)
        if "error" in answer:
            report = str(answer["error"])
            error = local_only.shareable(report)[:400]
            message = "".join(character if character.isprintable() else " " for character in error)
            raise RewardFailed(f"{self.what} failed: {message}. Correct the code.{self._hint(error)}")
        values, expected = answer.get("values"), len(request.get("prompts", ()))
        if not isinstance(values, list) or len(values) != expected or ("code" in request) != ("signature" in answer):
            raise ProcessEnded("wrote something other than an answer to its pipe, and was stopped.")
        return answer

    def _hint(self, error: str) -> str:
        lacking = re.match(r"KeyError: '(\w+)'", error)
        if lacking and lacking[1].isupper():
            return " If that is a variable of the environment: a reward has none of them."
        if lacking and self.signature.takes_all and lacking[1] not in ("role", "content", *OWN, *self._columns()):
            return f" If that is a column: {self._what_there_is([lacking[1]])}"
        if not self.signature.like_trl or not error.startswith(OF_ITS_FORM) or "NoneType" in error:
            return ""
        forms = ("texts", "lists of messages")
        here, other = forms[self.facts.in_chat], forms[not self.facts.in_chat]
        way = "go" if self.facts.in_chat else "do not go"
        return f" Its completions are {here} here and not {other}: the prompts {way} through a chat template."
