"""In whose terms a file is written: by the class of its settings, names that only one trainer has, and the version of
TRL. Where two readings are left, the file is refused with both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from playground.errors import InvalidConfig, Problem
from playground.imports.found import ForeignSource
from playground.imports.tables import DIALECTS, GROUPS, TABLES, WORDS, is_aside, refusal

KINDS = {"loop": "loop", "PPOv2Config": "trl-ppo", "GRPOConfig": "trl-grpo", "DPOConfig": "trl-dpo"}
STAGES = {"None": "llamafactory", "ppo": "llamafactory", "dpo": "llamafactory-dpo"}
AGES = {"PPOConfig": ("trl-old", "trl-ppo", (0, 12)), "RLOOConfig": ("trl-rloo-old", "trl-rloo", (0, 22))}


def dialect_of(source: ForeignSource) -> str:
    """Raises: InvalidConfig, it is nobody's that is known, or may be for two versions of TRL."""
    names = {item.name for item in source.settings if not item.owner}
    stages = [str(item.value) for item in source.settings if item.name == "stage" and not item.owner]
    if stages or source.kind == "llamafactory":
        stage = [*stages, "None"][0]
        if stage not in STAGES:
            instead = "; `python -m playground reward-train` trains a reward model" if stage == "rm" else ""
            raise InvalidConfig([Problem("stage", WORDS["stage"].format(stage[:40], instead))])
        return STAGES[stage]
    if source.kind in AGES:
        return _of_age(source, names)
    dialect = KINDS.get(source.kind, "")  # "": also of a trainer without a class of settings
    if not source.kind:
        hits = {name: len(names.intersection(_own(name))) for name in DIALECTS if name.startswith("trl")}
        best = max(("trl-ppo", "trl-grpo", *hits), key=lambda name: hits[name])
        dialect = best if hits[best] >= 2 else ""
    if not dialect:
        raise refusal("nothing")
    _check_is_theirs(source, names, TABLES[dialect])
    return dialect


def _check_is_theirs(source: ForeignSource, names: set[str], known: Iterable[str]) -> None:
    """Raises: InvalidConfig, most of what a class of this name, or a file without one, is given is not known."""
    strange = [name for name in names.difference(known, ["**"]) if not is_aside(name)]
    if not source.is_command and 2 * len(strange) > len(names):
        if source.kind:
            raise refusal("another", source.kind)
        raise refusal("nothing")


def _own(dialect: str) -> set[str]:
    """The names of a dialect that not every trainer has."""
    spec: dict[str, Any] = DIALECTS[dialect]
    names = {*" ".join([spec.get("names", ""), spec.get("tells", ""), *spec.get("to", {}).values()]).split()}
    for group in ("texts", "policy"):
        if group in spec["groups"].split():
            names |= {*GROUPS[group]["names"].split()}
    return names.difference(GROUPS["training"]["names"].split())


def _of_age(source: ForeignSource, names: set[str]) -> str:
    """Which of two classes of one name it is: by names that only one of them or its trainer has, or by the version."""
    older, newer, turn = AGES[source.kind]
    _check_is_theirs(source, names, TABLES[older] | TABLES[newer])
    used = names | {item.name for item in source.settings if item.owner == "trainer"}
    used |= {"WithValueHead" for call in source.called if "WithValueHead" in call}
    old = _own(older).union(DIALECTS[older].get("age", "").split())
    new = _own(newer).union(DIALECTS[newer].get("age", "").split())
    hits = len(used & (new - old)) - len(used & (old - new))
    if not hits and source.version:
        return newer if source.version >= turn else older
    if not hits:
        raise refusal("both", DIALECTS[older]["label"], DIALECTS[newer]["label"])
    return newer if hits > 0 else older
