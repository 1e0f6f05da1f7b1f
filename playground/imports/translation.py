"""A translation at work: what a file says, the dialect it is in, our settings so far, and the report on each of theirs.
The modules that read several settings together (`sizes`, `rules`, `roles`) write into it. The rule: what is written is
taken over, or listed with why it is not; what is not written is the other trainer's default, and is listed as that."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from playground.errors import InvalidConfig, Problem
from playground.imports import conversions
from playground.imports.found import ForeignSetting, ForeignSource

FILE = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))
DIALECTS = {name: {**dialect, "tables": [name]} for name, dialect in FILE["dialects"].items()}
OLD_NAMES = FILE["old-names"]
ASIDE = {name: kind for kind, names in FILE["aside"].items() for name in names.split()}
KINDS = {"loop": "loop", "PPOv2Config": "trl-ppo", "GRPOConfig": "trl-grpo", "DPOConfig": "trl-dpo"}
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
    "Most of its settings are none of TRL's, so the {kind} of this file is another library's: only TRL's and "
    "LLaMA-Factory's are imported."
)
BOTH = (
    "Which version of TRL it is for is not in this file, and that decides what is not named: {older}, or {newer}. "
    "Write one more setting that only one of them has ({old}, {new}), or a comment such as `# trl==0.11`."
)


def refused(other: str, program: str = "") -> InvalidConfig:
    """What is said of a file for another library or trainer; `program`: what a command of it starts."""
    start = f"Nothing in this file is recognised: {program[:60]} is" if program else "This is"
    only = "Only PPO, RLOO, GRPO and DPO of TRL, and LLaMA-Factory's, are."
    return InvalidConfig([Problem("", f"{start} of {other}, not of TRL: its settings are not imported. {only}")])


def version_of(text: str) -> tuple[int, ...]:
    """`0.7.11` as numbers, to compare."""
    return tuple(map(int, text.split(".")))


def _words(*lists: str) -> list[str]:
    return [word for words in lists for word in words.split()]


def _table(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The line of each setting that a dialect, or a group of settings, has: `to`, `rule` or `no`, `note`, `default`."""
    meaning = {name: {"to": ours} for ours, names in FILE["to"].items() for name in _words(names)}
    meaning |= {name: {"rule": rule} for rule, names in FILE["rule"].items() for name in _words(names)}
    own = _words(*(FILE["groups"][group] for group in _words(spec.get("groups", ""))), spec.get("names", ""))
    lines = {name: {"no": why} for why, names in FILE["no"].items() for name in _words(names)}
    lines |= {name: dict(meaning[name]) for name in own}
    lines |= {name: {"rule": rule} for name, rule in spec.get("rule", {}).items()}
    lines |= {name: {"no": why} for why, names in spec.get("no", {}).items() for name in _words(names)}
    for name, note in (FILE["note"] | spec.get("note", {})).items():
        if "to" in lines.get(name, {}):
            lines[name]["note"] = note
    for name, default in spec.get("default", {}).items():
        lines[name]["default"] = default
    return lines


TABLES = {name: _table(dialect) for name, dialect in DIALECTS.items()}
TABLES |= {owner: _table({"groups": groups}) for owner, groups in FILE["owners"].items()}


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
        found: dict[str, ForeignSetting] = {}
        for item in self.source.settings:
            if item.owner == "generate" and self.dialect != "trl-old":
                continue  # a text written after training
            name = f"generate.{item.name}" if item.owner == "generate" else item.name
            other = found.get(name)
            if other and other.value != item.value:
                self.source.remarks.append(f"{other} and {item} differ; the second was taken.")
            found[name] = item
        of_command = DIALECTS[self.dialect].get("of-command", {}) if self.source.is_command else {}
        return {name: ForeignSetting(name, value, 0) for name, value in of_command.items()} | found

    def known(self, item: ForeignSetting) -> dict[str, Any] | None:
        """The line of the tables on a setting."""
        return TABLES[item.owner if item.owner in TABLES else self.dialect].get(item.name)

    def value(self, name: str) -> Any:
        """What a setting is, else the other trainer's default, else None. Raises: ValueError, it is not known."""
        item = self.named.get(name)
        if item is None:
            return self._default(name)[0]
        if item.problem:
            raise ValueError(item.problem)
        return item.value

    def _default(self, name: str) -> tuple[Any, str]:
        """What the other trainer takes where nothing is named, and what another version of it took."""
        default = TABLES[self.dialect].get(name, {}).get("default")
        until, older = DIALECTS[self.dialect].get("before", {}).get(name, ("", None))
        if until and self.source.version:
            before = self.source.version < version_of(until)
            return (older if before else default), ""
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
        shown = value if not isinstance(value, float) else f"{value:g}"
        self.say(theirs, f"{ours}: {'empty' if value is None else shown}", why)

    def say(self, theirs: str, ours: str, why: str = "") -> None:
        """What has become of a setting."""
        of_command = [str(item) for item in self.named.values() if not item.line and self.source.is_command]
        (self.assumed if theirs in of_command else self.became).append(ReportLine(theirs, ours, why))

    def leave(self, theirs: str, why: str) -> None:
        """A setting has no equal."""
        self.no_equal.append(ReportLine(theirs, why=why))

    def translate_each(self) -> None:
        """Every setting that stands for itself; those with a `rule` are left to that."""
        for item in self.named.values():
            line = self.known(item)
            if line is None and item.name in ASIDE:
                self.aside.append(item.name)
            elif line is None and item.owner != "generate":
                why = item.problem or self._unknown(item.name)
                self.not_understood.append(ReportLine(str(item), why=why))
            elif line and "no" in line:
                self.leave(str(item), line["no"])
            elif line and item.problem:
                self.not_understood.append(ReportLine(str(item), why=item.problem))
            elif line and "to" in line:
                try:
                    value = conversions.converted(line["to"], item.name, item.value)
                    self.set(str(item), line["to"], value, line.get("note", ""))
                except ValueError as why_not:
                    self.leave(str(item), str(why_not))
        self._defaults()

    def _defaults(self) -> None:
        for name, line in TABLES[self.dialect].items():
            if "default" in line and "to" in line and name not in self.named and line["to"] not in self.data:
                default, older = self._default(name)
                why = "; ".join(filter(None, [line.get("note", ""), older]))
                self.assume(f"{name} = {default!r}", line["to"], conversions.converted(line["to"], name, default), why)

    def assume(self, theirs: str, ours: str, value: Any, why: str = "") -> None:
        """One of our fields from a default of the other trainer's."""
        self.data[ours] = value
        self.assumed.append(ReportLine(theirs, f"{ours}: {'empty' if value is None else value}", why))

    def say_the_rest(self) -> None:
        """Every setting, and every argument of a call that was read, is in the report."""
        lines = (*self.became, *self.assumed, *self.no_equal, *self.not_understood)
        for item in self.named.values():
            if item.name not in self.aside and not any(str(item) in line.theirs for line in lines):
                known = self.known(item) is not None
                why = "it adds nothing to what other settings of the file say" if known else "no setting that is known"
                self.leave(str(item), why)
        for call in self.source.calls:
            of_settings = call.name.rpartition(".")[2] in ("generate", "Scale")  # which are read as settings
            for name, value in () if of_settings else call.keywords.items():
                if name in ASIDE:
                    self.aside.append(name)
                elif name not in FILE["arguments"]["read"].split():
                    self.leave(f"{call.name}({name}={str(value)[:60]}) (line {call.line})", "it is not taken over")

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, TABLES[self.dialect], n=1, cutoff=0.75)
        return f"no setting of this name is known{f'; is it `{close[0]}`?' if close else ''}"


def check_is_theirs(source: ForeignSource, known: dict[str, dict[str, Any]]) -> None:
    """Raises: InvalidConfig, most of what a class of this name is given is not known."""
    own = [item for item in source.settings if item.owner == "config"]
    unknown = [item for item in own if item.name not in known and item.name not in ASIDE]
    if 2 * len(unknown) > len(own):
        raise InvalidConfig([Problem("", ANOTHER.format(kind=source.kind))])


def dialect_of(source: ForeignSource) -> str:
    """In whose terms a file is written. Raises: InvalidConfig."""
    names = {item.name for item in source.settings if item.owner in ("", "config")}
    stage = next((item.value for item in source.settings if item.name == "stage" and not item.owner), None)
    if stage is not None or source.kind == "llamafactory":
        return _of_stage(stage)
    if source.kind in KINDS:
        return KINDS[source.kind]
    if source.kind in AGES:
        return _of_age(source, names)
    if source.kind:  # a trainer without a class of settings
        raise InvalidConfig([Problem("", NOTHING)])
    hits = {name: len(names.intersection(_own(name))) for name in DIALECTS if name.startswith("trl")}
    best = max(("trl-ppo", "trl-grpo", *hits), key=lambda name: hits[name])
    if hits[best] < 2:
        raise InvalidConfig([Problem("", NOTHING)])
    return best


def _own(dialect: str) -> list[str]:
    """The names of a dialect that not every trainer has."""
    spec, groups = DIALECTS[dialect], FILE["groups"]
    shared = groups["sampling-groups"] if "sampling-groups" in spec["groups"] else ""
    own = _words(spec.get("names", ""), spec.get("tells", ""), shared)
    return [name for name in own if name not in _words(groups["training"])]


def _of_age(source: ForeignSource, names: set[str]) -> str:
    """Which of two classes of one name it is: by names that only one of them has, the version, or how it is used."""
    older, newer, turn = AGES[source.kind]
    old, new = ([*_own(name), *_words(DIALECTS[name].get("age", ""))] for name in (older, newer))
    old, new = [name for name in old if name not in new], [name for name in new if name not in old]
    hits = len(names & {*new}) - len(names & {*old})
    if not hits and source.version:
        hits = 1 if source.version >= turn else -1
    if not hits:
        used = {word for call in source.calls if "Trainer" in call.name for word in call.keywords}
        used |= {"WithValueHead" for call in source.calls if "WithValueHead" in call.name}
        hits = len(used & SIGNS[newer]) - len(used & SIGNS[older])
    if not hits:
        check_is_theirs(source, TABLES[older] | TABLES[newer])
        labels = {"older": DIALECTS[older]["label"], "newer": DIALECTS[newer]["label"]}
        raise InvalidConfig([Problem("", BOTH.format(**labels, old=old[0], new=new[0]))])
    return newer if hits > 0 else older


def _of_stage(stage: Any) -> str:
    if stage in (None, "ppo"):
        return "llamafactory"
    if stage == "dpo":
        return "llamafactory-dpo"
    instead = "; `python -m playground reward-train` trains a reward model" if stage == "rm" else ""
    raise InvalidConfig(
        [Problem("stage", f"Only the stages ppo and dpo are runs here (got {str(stage)[:40]!r}){instead}.")]
    )
