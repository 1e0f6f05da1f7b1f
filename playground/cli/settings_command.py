"""The command `settings`: what can be set, from the configuration's own words; docs/settings.md is the same as a page.

`field_of` is how Python's callers may name a setting: by its path, by the last part of it, or as TRL calls it.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from playground.cli.arguments import Json
from playground.cli.terminal import print_json, print_table, say
from playground.config import REWARD_CLASSES, Part, RewardTrainingConfig, RunConfig
from playground.config.parts import words_of
from playground.errors import InvalidConfig, Problem
from playground.imports.translation import TABLES

KIND, TRAINING = "rewards.N.kind: ", "reward-train: "  # in front of a kind of reward; of the training of a reward model
BOUNDS = ("ge", "gt", "le")
# Where TRL's settings stand, those of its newest trainers first, and where the names lead that are read by a rule.
TRL_TABLES = "trl-ppo trl-grpo trl-rloo trl-dpo groups training model lora generate script trl-rloo-old trl-old".split()
BY_RULE = {
    "beta": "kl.coef", "kl_coef": "kl.coef", "init_kl_coef": "kl.coef", "num_generations": "ppo.samples_per_prompt",
    "rloo_k": "ppo.samples_per_prompt", "sft_model_path": "model.source", "model_name": "model.source",
    "dataset_name": "prompts.source", "reward_model_path": "rewards", "reward_funcs": "rewards",
    "reward_weights": "rewards", "total_episodes": "ppo.num_updates", "max_steps": "ppo.num_updates",
    "per_device_train_batch_size": "ppo.batch_size", "num_mini_batches": "ppo.minibatch_size",
    "mini_batch_size": "ppo.minibatch_size", "early_stopping": "ppo.update_kl_stop",
}  # fmt: skip
ALIKE = {"beta", "kl_coef", "init_kl_coef", "num_generations", "rloo_k"}  # whose value is ours as it is
AS_IT_IS = ("", "number", "count")  # how a value becomes ours, where nothing is done to it
HEAD = """# Settings

What a run can be told. `python -m playground settings` lists it, `settings WORD` searches it and says more. A path is
used in YAML, with `--set path=value`, and in Python (`playground.train(..., beta=0.1)`), where its last part will do,
or TRL's name for the same value. Live: may change while the run trains. TRL: how its trainers say it; some of these
names are read together with others ([from-elsewhere.md](from-elsewhere.md)).

<!-- Written by `python -m playground settings --markdown`; a test compares. -->
"""


class SettingLine(NamedTuple):
    """One line of the table. `default` and `range` are words; `trl`: the names that TRL has for it."""

    path: str
    label: str
    meaning: str
    default: str
    range: str
    live: bool
    trl: tuple[str, ...]
    low: str = ""
    high: str = ""


def settings(
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="Only those with it in path, label, meaning or TRL's name.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="All of them as docs/settings.md.")] = False,
    json: Json = False,
) -> None:
    """List what can be set: path, meaning, default, range, whether it may change in a running run, and TRL's name."""
    if markdown:
        print(page(), end="")
        return
    found = every() if word is None else matching(word)
    if json:
        print_json([one._asdict() for one in found])
    elif word is None:
        rows = [(one.path, one.label, one.default, one.range, "live" if one.live else "") for one in found]
        print_table(rows, "Setting", "What", "Default", "Range", "")
    else:
        for one in found:
            say(f"{one.path}: {one.label}" if one.label else one.path, f"   {one.meaning}" if one.meaning else "")
            say(*(f"   {point}" for point in (one.low, one.high) if point))
            live = "; may change while it trains" if one.live else ""
            names = f"; in TRL: {', '.join(one.trl)}" if one.trl else ""
            say(f"   default: {one.default}; {one.range}{live}{names}")


@functools.cache
def every() -> tuple[SettingLine, ...]:
    """All settings of a run, the kinds of rewards, and what belongs to the training of a reward model."""
    kinds = [
        SettingLine(
            KIND + kind,
            "",
            " ".join((cls.__doc__ or "").split()),
            "",
            f"with {', '.join(name for name in cls.model_fields if name != 'kind')}",
            False,
            (),
        )
        for kind, cls in REWARD_CLASSES.items()
    ]
    return (*_of(RunConfig), *kinds, *_of(RewardTrainingConfig, TRAINING))


def matching(word: str) -> list[SettingLine]:
    """Those that have it somewhere. Raises: InvalidConfig, there are none."""
    sought = word.strip().casefold()
    found = [one for one in every() if sought in " ".join((one.path, one.label, one.meaning, *one.trl)).casefold()]
    named = [one for one in found if sought in (one.path.casefold(), *one.trl)]
    if not found:
        names = [name for one in every() for name in (one.path, *one.trl)]
        close = difflib.get_close_matches(word, names, n=1)
        meant = f" Did you mean `{close[0]}`?" if close else " `settings` alone lists all."
        raise InvalidConfig([Problem("", f"No setting has `{word[:60]}` in its path, meaning or name in TRL.{meant}")])
    return [*named, *(one for one in found if one not in named)]


def field_of(name: str, of_reward_model: bool = False) -> str:
    """The path of a setting that is named by its path, the last part of it, or as TRL names it; as it is where there is
    none. Raises: InvalidConfig, it may be several."""
    paths = [one.path.removeprefix(TRAINING) for one in every() if one.path.startswith(TRAINING) == of_reward_model]
    group, _, last = name.rpartition(".")
    if name in paths or name.partition(".")[0] in ("rewards", "judges", "behaviours", "about"):
        return name
    found = [path for path in paths if not group and (path.rpartition(".")[2], path.replace(".", "_")).count(name)]
    if not found and not of_reward_model:
        names = _trl_names(plain=True).items()
        found = [path for path, theirs in names if last in theirs and path.startswith(group)]
    if len(found) > 1:
        raise InvalidConfig([Problem(name, f"may be {' or '.join(sorted(found))}: name one of them.")])
    return found[0] if found else name


def page() -> str:
    """docs/settings.md."""
    lines = [HEAD]
    for title, prefix, others in (
        ("Of a run", "", (KIND, TRAINING)),
        ("Kinds of rewards", KIND, (TRAINING,)),
        ("Of the training of a reward model", TRAINING, ("\0",)),
    ):
        lines += [f"## {title}\n", "| Setting | Meaning | Default | Range | Live | TRL |", "|---|---|---|---|---|---|"]
        for one in every():
            if one.path.startswith(prefix) and not one.path.startswith(others):
                names = ", ".join(f"`{name}`" for name in one.trl)
                meaning = " ".join(filter(None, (one.label and f"**{one.label}.**", one.meaning)))
                cells = (meaning, one.default, one.range, "yes" * one.live, names)
                lines.append(f"| `{one.path.removeprefix(prefix)}` | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


def _of(part: type[Part], prefix: str = "") -> Iterator[SettingLine]:
    names = {} if prefix.startswith(TRAINING) else _trl_names()
    for name, field in part.model_fields.items():
        kind, path, extra = field.annotation, prefix + name, field.json_schema_extra
        if isinstance(kind, type) and issubclass(kind, Part):
            yield from _of(kind, f"{path}.")
        elif field.description or isinstance(extra, dict):
            known: dict[str, Any] = extra if isinstance(extra, dict) else {}
            words = words_of(field.description or "")
            yield SettingLine(
                path,
                known.get("label", ""),
                words["help"],
                _value(field.get_default()),
                f"{_range(field)} {known.get('unit', '')}".strip(),
                known.get("live", False),
                tuple(names.get(path, ())),
                words["low"],
                words["high"],
            )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, (int, float)) else value if value and isinstance(value, str) else "empty"


def _range(field: FieldInfo) -> str:
    """Which values it may have, in words."""
    kinds = [one for one in (get_args(field.annotation) or (field.annotation,)) if one is not NoneType]
    kind, empty = field.annotation, ""
    if NoneType in get_args(field.annotation):
        kind, empty = kinds[0], "empty, or "
    if get_origin(kind) is Literal:
        return empty + ", ".join(map(str, get_args(kind)))
    if kind not in (int, float):
        return empty + ("true, false" if kind is bool else "text" if kind is str else "a list")
    bounds = {name: getattr(item, name) for item in field.metadata for name in BOUNDS if hasattr(item, name)}
    low = f"{bounds['ge']:,}" if "ge" in bounds else f"above {bounds['gt']:,}" if "gt" in bounds else "any number"
    high = f" to {bounds['le']:,}" if "le" in bounds else ""
    return f"{empty}{'whole, ' if kind is int else ''}{low}{high}"


@functools.cache
def _trl_names(plain: bool = False) -> dict[str, list[str]]:
    """Our fields -> TRL's names. `plain`: only those whose value needs no conversion."""
    found: dict[str, list[str]] = {}
    for table in TRL_TABLES:
        for name, line in TABLES[table].items():
            if "to" in line and (not plain or line.get("how", "") in AS_IT_IS):
                path = line["to"]
            elif "rule" in line and name in BY_RULE and (not plain or name in ALIKE):
                path = BY_RULE[name]
            else:
                continue
            if name not in found.setdefault(path, []):
                found[path].append(name)
    return found
