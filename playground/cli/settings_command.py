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
from playground.config import REWARD_CLASSES, Part, RewardPart, RewardTrainingConfig, RunConfig
from playground.config.parts import words_of
from playground.errors import InvalidConfig, Problem
from playground.imports.conversions import is_converted
from playground.imports.tables import FILE

KIND, TRAINING = "rewards.N.kind: ", "reward-train: "  # in front of a kind of reward; of the training of a reward model
BOUNDS = ("ge", "gt", "le")
ALIKE = {  # names of other trainers that `import` reads by a rule: whose value is ours as it is, and the others
    "kl.coef": "kl_coef beta init_kl_coef",
    "ppo.samples_per_prompt": "num_generations rloo_k",
    "ppo.value_clip_range": "cliprange_value",
}
BY_RULE = {
    "prompts.source": "train_dataset",
    "rewards": "reward_funcs reward_weights reward_model_path",
    "ppo.num_updates": "total_episodes max_steps",
    "ppo.batch_size": "per_device_train_batch_size",
    "ppo.minibatch_size": "num_mini_batches mini_batch_size",
}
ARGUMENTS = {"model.source": "model", "prompts.source": "prompts", "rewards": "reward"}  # of `playground.train`
HEAD = """# Settings

Which settings does a run have? `python -m playground settings WORD` searches them. A path is used in YAML, with
`--set path=value`, and in Python (`playground.train(..., beta=0.1)`), where its last part will do, or TRL's name for
the same value. Live: may change while the run trains. Elsewhere: how TRL and other trainers say it; some of these
names are read together with others ([from-elsewhere.md](from-elsewhere.md)).

<!-- Written by `python -m playground settings --markdown`; a test compares. -->
"""


class SettingLine(NamedTuple):
    """One line of the table. `default` and `range` are words; `elsewhere`: its names in TRL and other trainers."""

    path: str
    label: str
    meaning: str
    default: str
    range: str
    live: bool = False
    elsewhere: tuple[str, ...] = ()
    low: str = ""
    high: str = ""

    @property
    def words(self) -> str:
        """All that may be searched for."""
        return " ".join((self.path, self.label, self.meaning, *self.elsewhere)).casefold()


def settings(
    word: Annotated[
        str | None, typer.Argument(metavar="[WORD]", help="Only those with it in path, label, meaning or TRL's name.")
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="All of them as docs/settings.md.")] = False,
    json: Json = False,
) -> None:
    """List what can be set: path, meaning, default, range, whether it may change in a running run, and TRL's name."""
    settings_found = every() if word is None else matching(word)
    if markdown:
        print(page(), end="")
    elif json:
        print_json([line._asdict() for line in settings_found])
    elif word is None:
        rows = [
            (line.path, line.label, line.default, line.range, "live" if line.live else "") for line in settings_found
        ]
        print_table(rows, "Setting", "What", "Default", "Range", "")
    else:
        for line in settings_found:
            say(f"{line.path}: {line.label}".removesuffix(": "))
            texts = (line.meaning, line.low, line.high, "; ".join(_facts(line)))
            say(*(f"   {text}" for text in texts if text))


def _facts(line: SettingLine) -> list[str]:
    """What there is to know of a setting besides its meaning."""
    facts = [f"default: {line.default}"]
    if line.range:
        facts.append(line.range)
    if line.live:
        facts.append("may change while it trains")
    if line.elsewhere:
        facts.append(f"elsewhere: {', '.join(line.elsewhere)}")
    return facts


@functools.cache
def every() -> tuple[SettingLine, ...]:
    """All settings of a run, the kinds of rewards, and what belongs to the training of a reward model."""
    kinds = []
    for kind, cls in REWARD_CLASSES.items():
        fields = ", ".join(name for name in cls.model_fields if name not in RewardPart.model_fields)
        kinds.append(SettingLine(KIND + kind, "", " ".join((cls.__doc__ or "").split()), "", fields))
    return (*_of(RunConfig), *kinds, *_of(RewardTrainingConfig, TRAINING))


def matching(word: str) -> list[SettingLine]:
    """Those that have it somewhere, first those of that name. Raises: InvalidConfig, there are none."""
    sought = word.strip().casefold()
    entries = [entry for entry in every() if sought in entry.words]
    if not entries:
        close = difflib.get_close_matches(
            word, [name for entry in every() for name in (entry.path, *entry.elsewhere)], n=1
        )
        hint = " `settings` alone lists all."
        if close:
            hint = f" Did you mean `{close[0]}`?"
        raise InvalidConfig([Problem("", f"No setting has `{word[:60]}` in its path, meaning or name in TRL.{hint}")])
    return sorted(entries, key=lambda entry: sought not in (entry.path.casefold(), *entry.elsewhere))


@functools.cache
def groups(of_reward_model: bool = False) -> set[str]:
    """The paths of groups of settings, such as `kl` and `model.adapter`."""
    return {path.rpartition(".")[0] for path in _paths(of_reward_model) if "." in path and ": " not in path}


def _paths(of_reward_model: bool) -> list[str]:
    return [line.path.removeprefix(TRAINING) for line in every() if line.path.startswith(TRAINING) == of_reward_model]


def field_of(name: str, of_reward_model: bool = False) -> str:
    """The path of a setting that is named by its path, the last part of it, or as TRL names it; as it is where there is
    none. Raises: InvalidConfig, it may be several, or other trainers count it otherwise."""
    paths = _paths(of_reward_model)
    group, _, last = name.rpartition(".")
    if name in paths:
        return name
    fields = [path for path in paths if name in (path.rpartition(".")[2], path.replace(".", "_"))]
    if not fields and not of_reward_model:
        plain = {path: names for path, names in FILE["to"].items() if not is_converted(path)} | ALIKE
        fields = [path for path, names in plain.items() if last in names.split() and path.startswith(group)]
        ours = [path for path, names in (FILE["to"] | BY_RULE).items() if not fields and name in names.split()]
        if ours:
            near = ARGUMENTS.get(ours[0], ours[0])
            raise InvalidConfig([Problem(name, f"is a name of other trainers. The nearest here is {near}.")])
    if len(fields) > 1:
        raise InvalidConfig([Problem(name, f"may be {' or '.join(sorted(fields))}: name one of them.")])
    if not fields:
        return name
    return fields[0]


def setting(example: str, of_reward_model: bool = False) -> Any:
    """The option --set, with an example of what can be changed."""
    return typer.Option(
        "--set",
        metavar="path=value",
        help=f"Change one setting, for example {example}. Repeatable.",
        callback=lambda changes: by_path(changes, of_reward_model),
    )


def by_path(changes: list[str] | None, of_reward_model: bool = False) -> list[str] | None:
    """Each `name=value` with the path of the setting, which may be named as `field_of` takes it. Raises: InvalidConfig,
    a name may be several."""
    parts = [change.partition("=") for change in changes or []]
    return [field_of(name.strip(), of_reward_model) + equals + value for name, equals, value in parts] or None


def page() -> str:
    """docs/settings.md."""
    of_kinds = [(*_cells(line, KIND)[:2], line.range) for line in every() if line.path.startswith(KIND)]
    of_a_run = [_cells(line) for line in every() if not line.path.startswith((KIND, TRAINING))]
    of_training = [_cells(line, TRAINING)[:4] for line in every() if line.path.startswith(TRAINING)]
    words_of_runs = {row[1:4] for row in of_a_run}
    shared = ", ".join(row[0] for row in of_training if row[1:] in words_of_runs)
    lines = [
        HEAD,
        "## Of a run\n",
        *_table("Setting | Meaning | Default | Range | Elsewhere", of_a_run),
        "## Kinds of rewards\n",
        "Each also has `weight`, `normalise` and `cap`.\n",
        *_table("Kind | Meaning | Fields of its own", of_kinds),
        "## Of the training of a reward model\n",
        f"As those of a run: {shared}.\n",
        *_table("Setting | Meaning | Default | Range", [row for row in of_training if row[1:] not in words_of_runs]),
    ]
    return "\n".join(lines)


def _table(head: str, rows: list[tuple[str, ...]]) -> list[str]:
    rule = "|---" * len(head.split(" | "))
    return [f"| {head} |", f"{rule}|", *(f"| {' | '.join(row)} |" for row in rows), ""]


def _cells(line: SettingLine, prefix: str = "") -> tuple[str, ...]:
    path = line.path.removeprefix(prefix)
    meaning = line.meaning
    if line.label:
        meaning = f"**{line.label}.** {meaning}"
    limits = line.range
    if line.default == "empty":
        limits = limits.removeprefix("empty, or ")
    if line.live:
        limits += "; live"
    names = ", ".join(f"`{name}`" for name in line.elsewhere)
    return f"`{path}`", meaning, line.default, limits, names


def _of(part: type[Part], prefix: str = "") -> Iterator[SettingLine]:
    for name, field in part.model_fields.items():
        kind, path, extra = field.annotation, prefix + name, field.json_schema_extra
        if isinstance(kind, type) and issubclass(kind, Part):
            yield from _of(kind, f"{path}.")
        elif field.description or isinstance(extra, dict):
            knob: dict[str, Any] = extra if isinstance(extra, dict) else {}
            help, low, high = words_of(field.description or "").values()
            names = " ".join(table.get(path, "") for table in (FILE["to"], ALIKE, BY_RULE)).split()
            limits = f"{_range(field)} {knob.get('unit', '')}".strip()
            default, live = _value(field.get_default()), knob.get("live", False)
            yield SettingLine(
                path, knob.get("label", ""), help, default, limits, live, (*dict.fromkeys(names),), low, high
            )


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"{value:g}"
    if value and isinstance(value, str):
        return value
    return "empty"


def _range(field: FieldInfo) -> str:
    """Which values it may have, in words."""
    kind, empty = field.annotation, ""
    if NoneType in get_args(kind):
        kind, empty = next(option for option in get_args(kind) if option is not NoneType), "empty, or "
    if get_origin(kind) is Literal:
        return empty + ", ".join(map(str, get_args(kind)))
    if kind not in (int, float):
        kinds: dict[Any, str] = {bool: "true, false", str: "text", dict: "names and values"}
        return empty + kinds.get(get_origin(kind) or kind, "a list")
    bounds = {name: getattr(item, name) for item in field.metadata for name in BOUNDS if hasattr(item, name)}
    words = "any number"
    if "ge" in bounds:
        words = f"{bounds['ge']:,}"
    elif "gt" in bounds:
        words = f"above {bounds['gt']:,}"
    if "le" in bounds:
        words += f" to {bounds['le']:,}"
    if kind is int:
        words = f"whole, {words}"
    return f"{empty}{words}"
