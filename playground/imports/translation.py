"""A translation at work: what a file says, the dialect it is in, our settings so far, and the report on each of theirs.
The modules that read several settings together (`sizes`, `rules`, `roles`) write into it. The rule: what is written is
taken over, or listed with why it is not; what is not written is the other trainer's default, and is listed as that."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import InvalidConfig, Problem
from playground.imports import conversions
from playground.imports.found import ForeignSetting, ForeignSource

FILE = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))
DIALECTS = FILE["dialects"]
OLD_NAMES = FILE["old-names"]
ARGUMENTS = FILE["aside"]["arguments"].split()
OWNERS = {"lora": "lora", "generate": "generate", "model": "model script", "script": "script"}
KINDS = {"loop": "loop", "PPOv2Config": "trl-ppo", "GRPOConfig": "trl-grpo", "DPOConfig": "trl-dpo"}
STAGES = {"None": "llamafactory", "ppo": "llamafactory", "dpo": "llamafactory-dpo"}
AGES = {"PPOConfig": ("trl-old", "trl-ppo", (0, 12)), "RLOOConfig": ("trl-rloo-old", "trl-rloo", (0, 22))}
SIGNS = {  # what the calls of a script have that is for the older or the newer of two versions
    "trl-old": {"WithValueHead", "config", "dataset"},
    "trl-ppo": {"args", "processing_class", "policy", "value_model"},
    "trl-rloo-old": {"policy", "ref_policy", "reward_model"},
    "trl-rloo": {"reward_funcs"},
}
NOTHING = (
    "Nothing in this file is recognised as the settings of a trainer: PPOConfig, RLOOConfig, GRPOConfig or DPOConfig "
    "of TRL, the options of a command that starts one, or a YAML of LLaMA-Factory. Where a script takes its settings "
    "from the command line, import the shell script that starts it."
)
ANOTHER = (
    "Most of its settings are none of TRL's, so the {} of this file is another library's: only TRL's and "
    "LLaMA-Factory's are imported."
)
BOTH = (
    "Which version of TRL it is for is not in this file, and that decides what is not named: {}, or {}. Write one more "
    "setting that only one of them has ({}, {}), or a comment such as `# trl==0.11`."
)
REFUSED = (
    "{} of {}: its settings are not imported. Only those of PPO, RLOO, GRPO and DPO of TRL, and of LLaMA-Factory, are."
)


def refused(other: str, program: str = "") -> InvalidConfig:
    """What is said of a file for another library or trainer; `program`: what a command of it starts."""
    start = f"Nothing in this file is recognised: {program[:60]} is" if program else "This is"
    return InvalidConfig([Problem("", REFUSED.format(start, other))])


def version_of(text: str) -> tuple[int, ...]:
    """`0.7.11` as numbers, to compare."""
    return tuple(map(int, text.split(".")))


def is_aside(name: str) -> bool:
    """Whether a setting is about the machine, the log or the hub."""
    words = FILE["aside"]["words"].split()
    return name in FILE["aside"]["names"].split() or not {*name.split("_")}.isdisjoint(words)


def _by_name(table: dict[str, str], key: str) -> dict[str, dict[str, Any]]:
    """A table of lists of names as a line for each name: what it stands under, as `key`."""
    return {name: {key: value} for value, names in table.items() for name in names.split()}


def _table(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Of each setting that a dialect has: `to`, `rule` or `no`, and with them `note` and `default`."""
    meaning = _by_name(FILE["to"], "to") | _by_name(FILE["rule"], "rule")
    groups = spec.get("groups", "").split()
    own = [
        name
        for names in (*(FILE["groups"][group] for group in groups), spec.get("names", ""))
        for name in names.split()
    ]
    lines = _by_name(FILE["no"], "no") | {name: dict(meaning[name]) for name in own}
    lines |= {name: {"rule": rule} for name, rule in spec.get("rule", {}).items()}
    lines |= _by_name(spec.get("no", {}), "no")
    for name, note in (_by_name(FILE["note"], "note") | _by_name(spec.get("note", {}), "note")).items():
        if "to" in lines.get(name, {}):
            lines[name] |= note
    for defaults in (*(FILE["defaults"].get(group, {}) for group in groups), spec.get("default", {})):
        for name, default in defaults.items():
            lines[name]["default"] = default
    return lines


TABLES = {name: _table(dialect) for name, dialect in DIALECTS.items()}
TABLES |= {owner: _table({"groups": groups}) for owner, groups in OWNERS.items()}


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
        """The settings by name; what is said last counts. A command starts TRL's own script, which has a model."""
        of_command = DIALECTS[self.dialect].get("of-command", {}) if self.source.is_command else {}
        found = {name: ForeignSetting(name, value, 0) for name, value in of_command.items()}
        for item in self.source.settings:
            if item.owner == "generate" and self.dialect != "trl-old":
                continue  # a text written after training
            name = f"generate.{item.name}" if item.owner == "generate" else item.name
            other = found.get(name)
            if other and other.line and other.value != item.value:
                self.source.remarks.append(f"{other} and {item} differ; the second was taken.")
            found[name] = item
        return found

    def known(self, item: ForeignSetting) -> dict[str, Any] | None:
        """The line of the tables on a setting."""
        return TABLES[item.owner if item.owner in OWNERS else self.dialect].get(item.name)

    def value(self, name: str) -> Any:
        """What a setting is, else the other trainer's default, else None. Raises: ValueError, it is not known."""
        item = self.named.get(name)
        if item and item.problem:
            raise ValueError(item.problem)
        return item.value if item else self._default(name)[0]

    def _default(self, name: str) -> tuple[Any, str]:
        """What the other trainer takes where nothing is named, and what another version of it took."""
        default = TABLES[self.dialect].get(name, {}).get("default")
        until, older = DIALECTS[self.dialect].get("before", {}).get(name, ("", default))
        if until and self.source.version:
            return (older if self.source.version < version_of(until) else default), ""
        return default, f"before TRL {until}: {older}" if until else ""

    def theirs(self, *names: str) -> str:
        """The settings of these names as the file has them, for the report."""
        said = []
        for name in names:
            default, older = self._default(name)
            said.append(str(self.named.get(name) or f"{name} = {default!r} (default{older and f'; {older}'})"))
        return ", ".join(said)

    def set(self, theirs: str, ours: str, value: Any, why: str = "") -> None:
        """One of our fields from theirs."""
        self.data[ours] = value
        self.say(theirs, f"{ours}: {_shown(value)}", why)

    def say(self, theirs: str, ours: str, why: str = "") -> None:
        """What has become of a setting."""
        of_command = [str(item) for item in self.named.values() if not item.line and self.source.is_command]
        (self.assumed if theirs in of_command else self.became).append(ReportLine(theirs, ours, why))

    def assume(self, theirs: str, ours: str, value: Any, why: str = "") -> None:
        """One of our fields from a default of the other trainer's."""
        self.data[ours] = value
        self.assumed.append(ReportLine(theirs, f"{ours}: {_shown(value)}", why))

    def leave(self, theirs: object, why: str) -> None:
        """What has no equal."""
        self.no_equal.append(ReportLine(str(theirs), why=why))

    def ask(self, theirs: object, why: str) -> None:
        """What is not understood."""
        self.not_understood.append(ReportLine(str(theirs), why=why))

    def translate_each(self) -> None:
        """Every setting that stands for itself; those with a `rule` are left to that."""
        for item in self.named.values():
            line = self.known(item)
            if line is None and is_aside(item.name):
                self.aside.append(item.name)
            elif line is None and item.owner != "generate":
                self.ask(item, item.problem or self._unknown(item.name))
            elif line and "no" in line:
                self.leave(item, line["no"])
            elif line and "to" in line:
                self._one(item, line)
        for name, line in TABLES[self.dialect].items():
            if "default" in line and "to" in line and name not in self.named and line["to"] not in self.data:
                default, older = self._default(name)
                why = "; ".join(filter(None, [line.get("note", ""), older]))
                self.assume(f"{name} = {default!r}", line["to"], conversions.converted(line["to"], name, default), why)

    def _one(self, item: ForeignSetting, line: dict[str, Any]) -> None:
        if item.problem:
            self.ask(item, item.problem)
            return
        try:
            self.set(
                str(item), line["to"], conversions.converted(line["to"], item.name, item.value), line.get("note", "")
            )
        except ValueError as why:
            self.leave(item, str(why))

    def say_the_rest(self) -> None:
        """Every setting, and every argument of a call that was read, is in the report."""
        lines = (*self.became, *self.assumed, *self.no_equal, *self.not_understood)
        for item in self.named.values():
            if item.name in self.aside or any(str(item) in line.theirs for line in lines):
                continue
            if item.problem:
                self.ask(item, item.problem)
            else:
                known = self.known(item) is not None
                self.leave(item, "other settings of the file say it already" if known else "no setting that is known")
        for call in self.source.calls:
            of_settings = call.name.rpartition(".")[2] in ("generate", "Scale")  # which are read as settings
            for name, value in () if of_settings else call.keywords.items():
                if is_aside(name):
                    self.aside.append(name)
                elif name not in ARGUMENTS:
                    self.leave(f"{call.name}({name}={str(value)[:60]}) (line {call.line})", "it is not taken over")

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, TABLES[self.dialect], n=1, cutoff=0.75)
        return f"no setting of this name is known{f'; is it `{close[0]}`?' if close else ''}"


def _shown(value: Any) -> str:
    return "empty" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def dialect_of(source: ForeignSource) -> str:
    """In whose terms a file is written. Raises: InvalidConfig."""
    names = {item.name for item in source.settings if item.owner in ("", "config")}
    stages = [item.value for item in source.settings if item.name == "stage" and not item.owner]
    if stages or source.kind == "llamafactory":
        return _of_stage([*stages, None][0])
    if source.kind in AGES:
        return _of_age(source, names)
    if source.kind:
        found = KINDS.get(source.kind, "")  # "": a trainer without a class of settings
    else:
        hits = {name: len(names.intersection(_own(name))) for name in DIALECTS if name.startswith("trl")}
        best = max(("trl-ppo", "trl-grpo", *hits), key=lambda name: hits[name])
        found = best if hits[best] >= 2 else ""
    if not found:
        raise InvalidConfig([Problem("", NOTHING)])
    check_is_theirs(source, TABLES[found])
    return found


def check_is_theirs(source: ForeignSource, known: Iterable[str]) -> None:
    """Raises: InvalidConfig, most of what a class of this name is given is not known."""
    own = [item.name for item in source.settings if item.owner == "config"]
    if 2 * len([name for name in own if name not in known and not is_aside(name)]) > len(own):
        raise InvalidConfig([Problem("", ANOTHER.format(source.kind))])


def _own(dialect: str) -> list[str]:
    """The names of a dialect that not every trainer has."""
    spec, shared = DIALECTS[dialect], FILE["groups"]["training"].split()
    groups = [FILE["groups"][group] for group in spec["groups"].split() if group in ("texts", "policy")]
    names = " ".join([spec.get("names", ""), *groups, spec.get("tells", "")]).split()
    return [name for name in names if name not in shared]


def _of_age(source: ForeignSource, names: set[str]) -> str:
    """Which of two classes of one name it is: by names that only one of them has, the version, or how it is used."""
    older, newer, turn = AGES[source.kind]
    check_is_theirs(source, TABLES[older] | TABLES[newer])
    old, new = ([*_own(name), *DIALECTS[name].get("age", "").split()] for name in (older, newer))
    old, new = [name for name in old if name not in new], [name for name in new if name not in old]
    hits = len(names.intersection(new)) - len(names.intersection(old))
    if not hits and source.version:
        hits = 1 if source.version >= turn else -1
    if not hits:
        used = {word for call in source.calls if "Trainer" in call.name for word in call.keywords}
        used |= {"WithValueHead" for call in source.calls if "WithValueHead" in call.name}
        hits = len(used & SIGNS[newer]) - len(used & SIGNS[older])
    if not hits:
        labels = DIALECTS[older]["label"], DIALECTS[newer]["label"]
        raise InvalidConfig([Problem("", BOTH.format(*labels, old[0], new[0]))])
    return newer if hits > 0 else older


def _of_stage(stage: Any) -> str:
    if str(stage) in STAGES:
        return STAGES[str(stage)]
    instead = "; `python -m playground reward-train` trains a reward model" if stage == "rm" else ""
    why = f"Only the stages ppo and dpo are runs here (got {str(stage)[:40]!r}){instead}."
    raise InvalidConfig([Problem("stage", why)])
