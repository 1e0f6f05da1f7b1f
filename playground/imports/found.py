"""What a file from elsewhere says, before anything is made of it: settings with their line, and the calls that name
models, rewards and data. Knows no names of settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Owner = Literal["config", "lora", "generate", "model", "script", ""]  # "": a file without owners; its tables say


class NotConstant(Exception):
    """Why a value cannot be known without running the file, in words that follow a colon."""


class ForeignSetting(NamedTuple):
    """One setting as a file has it. `problem`: why its value is not known; `value` is then its text."""

    name: str
    value: Any
    line: int
    owner: Owner = ""
    problem: str = ""

    def __str__(self) -> str:
        shown = self.value if self.problem else repr(self.value)
        short = str(shown) if len(str(shown)) <= 60 else f"{str(shown)[:57]}..."
        return f"{self.name} = {short} (line {self.line})" if self.line else f"{self.name} = {short}"


class Call(NamedTuple):
    """A call of interest: its name, what it is assigned to, and the arguments whose values are known."""

    name: str
    target: str
    arguments: list[Any]
    keywords: dict[str, Any]
    line: int


@dataclass
class ForeignSource:
    """All that a file says. `kind`: the class of settings or the command, as it is named there; `own`: constants of a
    script that this project has exported."""

    settings: list[ForeignSetting] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    kind: str = ""
    own: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    controllers: list[str] = field(default_factory=list)  # of the KL, that the file writes by hand

    def named(self, name: str) -> list[Call]:
        """The calls of one name, or of names that end with it after a dot."""
        return [call for call in self.calls if call.name == name or call.name.endswith(f".{name}")]
