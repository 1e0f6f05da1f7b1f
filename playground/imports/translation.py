"""A translation at work: what a file says, the dialect it is in, our settings so far, and the report on each of theirs.
The one rule: what is written is taken over, or listed with why it is not; what is not written is the other trainer's
default, and is listed as that. What several settings say together is in `rules` and `roles`."""

from __future__ import annotations

import difflib
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from playground.imports.conversions import converted
from playground.imports.found import SETTINGS, ForeignSetting, ForeignSource
from playground.imports.tables import ASIDE, DIALECTS, RANK, TABLES, UNSLOTH, WORDS, is_aside, version_of

AFTER_TRAINING = {"no": "it is of a text that is written beside the training"}
SAID = "other settings of the file say it already"


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

    def __post_init__(self) -> None:
        self.spec, self.table = DIALECTS[self.dialect], TABLES[self.dialect]
        self.label: str = self.spec["label"]
        self.method: str = self.spec["method"]

    @cached_property
    def named(self) -> dict[str, ForeignSetting]:
        """The settings that are written, by name; those of a call by its owner and name. Of settings the last counts,
        of arguments of calls the first that is known."""
        by_name: dict[str, ForeignSetting] = {}
        for item in self.source.settings:
            if self._is_part(item):
                continue
            key = item.name if item.owner in SETTINGS else f"{item.owner}.{item.name}"
            if self.known(item) is None or item.name == "reward_funcs":
                key = f"{key} {item}"
            other = by_name.get(key)
            if not other or item.owner in SETTINGS or other.problem:
                by_name[key] = item
            if other and other.value != item.value:
                self.source.remarks.append(f"{other} and {item} differ; taken was {by_name[key]}.")
        return by_name

    @cached_property
    def items(self) -> dict[str, ForeignSetting]:
        """The settings that are written, and the defaults of the rest in that version of the trainer. A command starts
        TRL's own script, which has a model."""
        parts = {}
        for owner in ["", *dict.fromkeys(item.owner for item in self.source.settings if self.known(item))]:
            for name, line in TABLES[owner or self.dialect].items():
                if "default" in line:
                    parts[name] = ForeignSetting(name, line["default"], owner=owner, note="default")
        for name, (until, older) in self.spec.get("before", {}).items():
            if self.source.version < version_of(until) and self.source.version:
                parts[name] = ForeignSetting(name, older, note="default")
            elif not self.source.version:
                parts[name] = ForeignSetting(name, parts[name].value, note=f"default; before TRL {until}: {older}")
        for name, value in self._unsloths.items():
            parts[name] = ForeignSetting(name, value, note="default of Unsloth")
        for name, value in self.spec.get("of-command", {}).items() if self.source.is_command else ():
            parts[name] = ForeignSetting(name, value, note="default of its command")
        return parts | self.named

    @property
    def _unsloths(self) -> dict[str, Any]:
        """The defaults that Unsloth puts in the place of TRL's, of the settings that this trainer has."""
        if not self.source.unsloth or not self.dialect.startswith("trl"):
            return {}
        values = UNSLOTH | UNSLOTH.get(self.dialect, {})
        return {name: value for name, value in values.items() if name in self.table}

    def known(self, item: ForeignSetting) -> dict[str, Any] | None:
        """The line of the tables on a setting."""
        if item.owner == "generation" and self.dialect != "trl-old":
            return AFTER_TRAINING
        return TABLES[item.owner or self.dialect].get(item.name)

    def _is_part(self, item: ForeignSetting) -> bool:
        """Whether an argument of a call hands on what another part of the script has made."""
        if item.owner in SETTINGS or item.name not in ASIDE["parts"]:
            return False
        return self.known(item) is None or (item.owner == "trainer" and bool(item.problem))

    def of_rule(self, rule: str) -> list[ForeignSetting]:
        """The settings that are read together by a rule, those that are written first."""
        names = [name for name, line in self.table.items() if line.get("rule") == rule]
        items = [self.items[name] for name in names if name in self.items]
        return sorted(items, key=lambda item: bool(item.note))

    def set(self, theirs: ForeignSetting | str, ours: str, value: Any, why: str = "") -> None:
        """One of our fields from theirs."""
        self.data[ours] = value
        self.say(theirs, f"{ours}: {_shown(value)}", why)

    def say(self, theirs: ForeignSetting | str, ours: str, why: str = "") -> None:
        """What has become of a setting."""
        line = ReportLine(str(theirs), ours, why)
        if isinstance(theirs, ForeignSetting) and theirs.note:
            self.assumed.append(line)
        else:
            self.became.append(line)

    def leave(self, theirs: ForeignSetting | str, why: str) -> None:
        """What is not taken over. Of a setting whose value is not known the reason is that."""
        if isinstance(theirs, ForeignSetting) and theirs.problem:
            self.not_understood.append(ReportLine(str(theirs), why=theirs.problem))
        else:
            self.no_equal.append(ReportLine(str(theirs), why=why))

    def take_back(self, ours: str, why: str) -> None:
        """Leave one of our fields out, and say so of the setting that it came from."""
        self.data.pop(ours)
        for lines in (self.became, self.assumed):
            for line in [line for line in lines if line.ours.startswith(f"{ours}:")]:
                lines.remove(line)
                self.leave(line.theirs, why)

    def translate_each(self) -> None:
        """Every setting that stands for itself; those with a `rule` are left to that. Of several that say the same one
        counts: a setting before an argument of a call, and both before a default."""
        fields: dict[str, list[ForeignSetting]] = defaultdict(list)
        for item in self.items.values():
            line = self.known(item)
            if line is None and is_aside(item.name):
                self.aside.append(item.name)
            elif item.name == "**":
                self.not_understood.append(ReportLine(str(item), why=WORDS["made-later"]))
            elif line is None and (item.problem or item.owner not in SETTINGS):
                self.leave(item, "it is not taken over")
            elif line is None:
                self.not_understood.append(ReportLine(str(item), why=self._unknown(item.name)))
            elif "no" in line:
                self.leave(str(item), line["no"])
            elif "to" in line:
                fields[line["to"]].append(item)
        for ours, items in fields.items():
            for item in sorted(items, key=_order):
                self._one(item, ours)

    def _one(self, item: ForeignSetting, ours: str) -> None:
        """`ours`: our field that a setting is."""
        line = self.known(item) or {}
        if ours in self.data:
            if item.problem and item.owner in SETTINGS:
                self.leave(item, SAID)
            elif not item.note:
                self.leave(str(item), SAID)
        elif item.problem:
            self.leave(item, SAID)
        else:
            try:
                self.set(item, ours, converted(ours, item.name, item.value), line.get("note", ""))
            except ValueError as why:
                self.leave(item, str(why))

    def say_the_rest(self) -> None:
        """Every setting is in the report."""
        lines = [*self.became, *self.assumed, *self.no_equal, *self.not_understood]
        for item in self.named.values():
            is_said = any(str(item) in line.theirs for line in lines)
            if not is_said and item.name not in self.aside:
                self.leave(item, SAID)

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, self.table, n=1, cutoff=0.75)
        return "; ".join(["no setting of this name is known", *(f"is it `{other}`?" for other in close)])


def _shown(value: Any) -> str:
    if value is None:
        return "empty"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _order(item: ForeignSetting) -> tuple[bool, bool, bool, bool, int]:
    """Which of several that say the same counts: a setting before an argument of a call, both before a default. What
    is off, or an argument that is not known, counts last."""
    is_argument = item.owner not in SETTINGS
    return bool(item.problem) and is_argument, item.value is False, bool(item.note), is_argument, RANK.get(item.name, 0)
