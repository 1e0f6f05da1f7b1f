"""A translation at work: what a file says, the dialect it is in, our settings so far, and the report on each of theirs.
The modules that read several settings together (`sizes`, `rules`, `roles`) write into it."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import InvalidConfig, Problem
from playground.imports import conversions
from playground.imports.found import ForeignSetting, ForeignSource, Owner

TABLES = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))
DIALECTS = TABLES["dialects"]
OLD_NAMES = TABLES["old-names"]
ASIDE = {name: kind for kind, names in TABLES["aside"].items() for name in names.split()}
OF_OWNER: dict[Owner, list[str]] = {
    "lora": ["lora"],
    "generate": ["generate"],
    "model": ["model", "script"],
    "script": ["script"],
}
OLD_RLOO = {"rloo_k", "kl_coef", "num_ppo_epochs", "response_length", "total_episodes"}
BY_KIND = {"loop": "loop", "PPOv2Config": "trl-ppo", "GRPOConfig": "trl-grpo", "DPOConfig": "trl-dpo"}
NOTHING = (
    "Nothing in this file is recognised as the settings of a trainer: PPOConfig, RLOOConfig, GRPOConfig or DPOConfig "
    "of TRL, the options of a command that starts one, or a YAML of LLaMA-Factory. Where a script takes its settings "
    "from the command line, import the shell script that starts it."
)


ANOTHER = (
    "Most of its settings are none of TRL's, so the {kind} of this file is another library's: only TRL's and "
    "LLaMA-Factory's are imported."
)

NOT_TRL = "This is of {}, not of TRL: its settings are not imported. Only those of TRL and LLaMA-Factory are."


class ReportLine(NamedTuple):
    """One line of the report. `theirs`: the setting as the file has it; `ours`: our field and its value, or ""."""

    theirs: str
    ours: str = ""
    why: str = ""


@dataclass
class Translation:
    """See the module. `data`: our settings by dotted name."""

    source: ForeignSource
    dialect: str
    data: dict[str, Any] = field(default_factory=dict)
    became: list[ReportLine] = field(default_factory=list)
    assumed: list[ReportLine] = field(default_factory=list)  # not named in the file: the other trainer's default
    no_equal: list[ReportLine] = field(default_factory=list)
    not_understood: list[ReportLine] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    fill_in: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        return str(DIALECTS[self.dialect]["label"])

    @cached_property
    def named(self) -> dict[str, ForeignSetting]:
        """The settings by name; what is said last counts."""
        found: dict[str, ForeignSetting] = {}
        for item in self.source.settings:
            if item.owner == "generate" and self.dialect != "trl-old":
                continue  # a text written after training
            name = f"generate.{item.name}" if item.owner == "generate" else item.name
            other = found.get(name)
            if other and other.value != item.value:
                self.source.remarks.append(f"{other} and {item} differ; the second was taken.")
            found[name] = item
        return found

    def known(self, item: ForeignSetting) -> dict[str, Any] | None:
        """The line of the tables on a setting."""
        for table in OF_OWNER.get(item.owner, DIALECTS[self.dialect]["tables"]):
            if item.name in TABLES[table]:
                line: dict[str, Any] = TABLES[table][item.name]
                return line
        return None

    def value(self, name: str) -> Any:
        """What a setting is, else the other trainer's default, else None. Raises: ValueError, it is not known."""
        item = self.named.get(name)
        if item is None:
            lines = (TABLES[table].get(name, {}) for table in DIALECTS[self.dialect]["tables"])
            return next((line["default"] for line in lines if "default" in line), None)
        if item.problem:
            raise ValueError(item.problem)
        return item.value

    def theirs(self, *names: str) -> str:
        """The settings of these names as the file has them, for the report."""
        said = [
            str(self.named[name]) if name in self.named else f"{name} = {self.value(name)!r} (default)"
            for name in names
        ]
        return ", ".join(said)

    def set(self, theirs: str, ours: str, value: Any, why: str = "") -> None:
        """One of our fields from theirs."""
        self.data[ours] = value
        shown = value if not isinstance(value, float) else f"{value:g}"
        self.became.append(ReportLine(theirs, f"{ours}: {'empty' if value is None else shown}", why))

    def translate_each(self) -> None:
        """Every setting that stands for itself; those with a `rule` are left to that."""
        for item in self.named.values():
            line = self.known(item)
            if line is None and item.name in ASIDE:
                self.aside.append(item.name)
            elif line is None:
                if item.owner != "generate":
                    self.not_understood.append(ReportLine(str(item), why=self._unknown(item.name)))
            elif "no" in line:
                self.no_equal.append(ReportLine(str(item), why=line["no"]))
            elif item.problem:
                self.not_understood.append(ReportLine(str(item), why=item.problem))
            elif "to" in line:
                self._one(item, line)
        self._defaults()

    def say_the_rest(self) -> None:
        """Every setting is in the report, also one that others of the file say already."""
        lines = (*self.became, *self.no_equal, *self.not_understood)
        for item in self.named.values():
            if item.name not in self.aside and not any(str(item) in line.theirs for line in lines):
                known = self.known(item) is not None
                why = "it adds nothing to what other settings of the file say" if known else "no setting that is known"
                self.no_equal.append(ReportLine(str(item), why=why))

    def check_is_theirs(self) -> None:
        """Raises: InvalidConfig, most of what a class of this name is given is not known."""
        own = [item for item in self.named.values() if item.owner == "config"]
        unknown = [item for item in own if self.known(item) is None and item.name not in ASIDE]
        if 2 * len(unknown) > len(own):
            raise InvalidConfig([Problem("", ANOTHER.format(kind=self.source.kind))])

    def _one(self, item: ForeignSetting, line: dict[str, Any]) -> None:
        try:
            value = conversions.converted(line.get("how", ""), item.value)
        except ValueError as why:
            self.no_equal.append(ReportLine(str(item), why=str(why)))
        else:
            self.set(str(item), line["to"], value, line.get("note", ""))

    def _defaults(self) -> None:
        for table in reversed(DIALECTS[self.dialect]["tables"]):
            for name, line in TABLES[table].items():
                if "default" in line and "to" in line and name not in self.named and line["to"] not in self.data:
                    value = conversions.converted(line.get("how", ""), line["default"])
                    self.assume(f"{name} = {line['default']!r}", line["to"], value, line.get("note", ""))

    def assume(self, theirs: str, ours: str, value: Any, why: str = "") -> None:
        """One of our fields from a default of the other trainer's."""
        self.data[ours] = value
        self.assumed = [line for line in self.assumed if not line.ours.startswith(f"{ours}:")]
        self.assumed.append(ReportLine(theirs, f"{ours}: {'empty' if value is None else value}", why))

    def _unknown(self, name: str) -> str:
        tables = DIALECTS[self.dialect]["tables"]
        close = difflib.get_close_matches(
            name, [known for table in tables for known in TABLES[table]], n=1, cutoff=0.75
        )
        return f"no setting of this name is known{f'; is it `{close[0]}`?' if close else ''}"


def dialect_of(source: ForeignSource) -> str:
    """In whose terms a file is written. Raises: InvalidConfig."""
    names = {item.name for item in source.settings if item.owner in ("", "config")}
    stage = next((item.value for item in source.settings if item.name == "stage" and not item.owner), None)
    if stage is not None or source.kind == "llamafactory":
        return _of_stage(stage)
    if source.kind in BY_KIND:
        return BY_KIND[source.kind]
    if source.kind == "RLOOConfig":
        return "trl-rloo-old" if names & OLD_RLOO else "trl-rloo"
    if source.kind == "PPOConfig":
        return _age_of_ppo(source, names)
    if source.kind:  # a trainer without a class of settings
        raise InvalidConfig([Problem("", NOTHING)])
    hits = {name: len(names & _of_its_own(name)) for name in DIALECTS if not name.startswith(("llama", "loop"))}
    best = max(("trl-ppo", "trl-grpo", *hits), key=lambda name: hits[name])
    if hits[best] < 2:
        raise InvalidConfig([Problem("", NOTHING)])
    return best


def _of_its_own(dialect: str) -> set[str]:
    """The names of a dialect that not every trainer has."""
    tables = [table for table in DIALECTS[dialect]["tables"] if table not in ("training", "model", "script")]
    return {name for table in tables for name in TABLES[table]} - TABLES["training"].keys()


def _age_of_ppo(source: ForeignSource, names: set[str]) -> str:
    only = {name: TABLES[name].keys() for name in ("trl-old", "trl-ppo")}
    old, new = len(names & (only["trl-old"] - only["trl-ppo"])), len(names & (only["trl-ppo"] - only["trl-old"]))
    with_head = any("WithValueHead" in call.name for call in source.calls)
    return "trl-old" if old > new or (old == new and with_head) else "trl-ppo"


def _of_stage(stage: Any) -> str:
    if stage in (None, "ppo"):
        return "llamafactory"
    if stage == "dpo":
        return "llamafactory-dpo"
    instead = "; `python -m playground reward-train` trains a reward model" if stage == "rm" else ""
    raise InvalidConfig(
        [Problem("stage", f"Only the stages ppo and dpo are runs here (got {str(stage)[:40]!r}){instead}.")]
    )
