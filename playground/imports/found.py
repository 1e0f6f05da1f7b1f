"""What a file from elsewhere says, before anything is made of it. Knows no names of settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

SETTINGS = ("", "lora", "lora of Unsloth", "model", "script")  # owners of settings; others are parts of a script


class Unknown(str):
    """The text of a value that cannot be known without running the file. `why`: in words that follow a colon."""

    why: str

    def __new__(cls, text: str, why: str) -> Unknown:
        unknown = super().__new__(cls, text)
        unknown.why = why
        return unknown


class ForeignSetting(NamedTuple):
    """One setting, or one argument of a call, as a file has it. `owner`: whose it is, by the names of the tables: ""
    the trainer's, else what the call makes. `line`: 0 for a default, which `note` says more of."""

    name: str
    value: Any
    line: int = 0
    owner: str = ""
    note: str = ""

    def __str__(self) -> str:
        value = str(self.value) if isinstance(self.value, Unknown) else repr(self.value)
        words = self.name
        if value != self.name:
            if len(value) > 60:
                value = f"{value[:57]}..."
            words += f" = {value}"
        if self.owner not in SETTINGS:
            words += f" of the {self.owner}"
        if self.line:
            return f"{words} (line {self.line})"
        if self.note:
            return f"{words} ({self.note})"
        return words

    @property
    def problem(self) -> str:
        """Why its value is not known."""
        if isinstance(self.value, Unknown):
            return self.value.why
        return ""

    @property
    def text(self) -> str:
        """Its value, if that is a text and known; else ""."""
        if isinstance(self.value, str) and not self.problem:
            return self.value
        return ""


@dataclass
class ForeignSource:
    """All that a file says. `kind`: the class of settings, or of what a command starts; `called`: the names of the
    calls that were read; `is_command`: the settings are options of a command; `own`: constants of a script that this
    project has exported; `version`: of TRL, if it is said; `unsloth`: it is imported, which changes
    TRL's defaults."""

    settings: list[ForeignSetting] = field(default_factory=list)
    kind: str = ""
    default_kind: str = ""  # what it is where it has no settings anywhere
    called: set[str] = field(default_factory=set)
    own: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)
    controllers: list[str] = field(default_factory=list)  # of the KL, that the file writes by hand
    is_command: bool = False
    version: tuple[int, ...] = ()
    unsloth: bool = False
