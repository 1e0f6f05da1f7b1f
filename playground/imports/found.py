"""What a file from elsewhere says, before anything is made of it: settings with their line, and the calls that name
models, rewards and data. Knows no names of settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

Owner = Literal["config", "lora", "generate", "model", "script", ""]  # "": a file without owners; its tables say


class NotConstant(Exception):
    """Why a value cannot be known without running the file, in words that follow a colon."""


class Unknown(str):
    """The text of an argument that is no constant."""


class ForeignSetting(NamedTuple):
    """One setting as a file has it. `problem`: why its value is not known; `value` is then its text."""

    name: str
    value: Any
    line: int
    owner: Owner = ""
    problem: str = ""

    def __str__(self) -> str:
        shown = str(self.value) if self.problem else repr(self.value)
        short = shown if len(shown) <= 60 else f"{shown[:57]}..."
        said = self.name if shown == self.name else f"{self.name} = {short}"
        return f"{said} (line {self.line})" if self.line else said


class Call(NamedTuple):
    """A call of interest: its name, what it is assigned to, and its arguments, some of them `Unknown`."""

    name: str
    target: str
    arguments: list[Any]
    keywords: dict[str, Any]
    line: int

    def text(self, position: int, *names: str) -> str:
        """Its argument at a position, or of these names, if that is a text whose value is known; else ""."""
        named = [self.keywords[name] for name in names if name in self.keywords]
        return known_text([*self.arguments[position : position + 1], *named, None][0])


@dataclass
class ForeignSource:
    """All that a file says. `kind`: the class of settings, or of what a command starts; `is_command`: they are options
    of a command; `own`: constants of a script that this project has exported; `version`: of TRL, if it is said."""

    settings: list[ForeignSetting] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    kind: str = ""
    own: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    controllers: list[str] = field(default_factory=list)  # of the KL, that the file writes by hand
    is_command: bool = False
    version: tuple[int, ...] = ()

    def named(self, name: str) -> list[Call]:
        """The calls of one name, or of names that end with it after a dot."""
        return [call for call in self.calls if f".{call.name}".endswith(f".{name}")]


def known_text(value: Any) -> str:
    """A text whose value is known; "" for anything else."""
    return value if isinstance(value, str) and not isinstance(value, Unknown) else ""
