"""Configurations from text: YAML files, `path=value` overrides, plain data; and errors as sentences for a person.

Knows `playground.config` and YAML. The command line, the page and the worker call it.
"""

from __future__ import annotations

import difflib
import functools
import itertools
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar, get_args

import yaml
from pydantic import ValidationError

from playground import plain_files
from playground.config import REWARD_CLASSES, Part, PPOConfig, RunConfig, knobs_of
from playground.errors import InvalidConfig, Problem

MAX_CONFIG_BYTES = 100_000
STORY = "story"  # what the file of a preset says about it, beside its settings (`setup.catalog.Story`)
MAX_VALUE_CHARACTERS = 10_000  # of one `path=value`
MAX_DEPTH = 20
MAX_NODES = 10_000
MAX_PROBLEMS = 20  # that are shown; for each unknown name a similar one is looked for
HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
P = TypeVar("P", bound=Part)
SENTENCES = {  # by the type of pydantic's error
    "missing": "This setting is missing; give it a value.",
    "greater_than_equal": "must be at least {ge:g}{got}.",
    "greater_than": "must be more than {gt:g}{got}.",
    "less_than_equal": "must be at most {le:g}{got}.",
    "literal_error": "must be {expected}{got}.",
    "int_parsing": "must be a whole number{got}.",
    "int_type": "must be a whole number{got}.",
    "int_parsing_size": "must be a whole number with fewer digits.",
    "int_from_float": "must be a whole number{got}.",
    "float_parsing": "must be a number{got}.",
    "float_type": "must be a number{got}.",
    "finite_number": "must be a finite number{got}.",
    "string_type": "must be text{got}.",
    "string_unicode": "must be text in UTF-8.",
    "string_too_short": "must not be empty.",
    "string_too_long": "must be at most {max_length} characters long.",
    "tuple_type": "must be a list{got}.",
    "dict_type": 'must be a dictionary such as {{"kl.coef": 0.2}}{got}.',
    "too_short": "must have at least one entry.",
    "model_type": "must be a group of settings, not a single value{got}.",
    "model_attributes_type": "must be a group of settings with a `kind`{got}.",
    "invalid_key": "is not a setting's name; names are words{got}.",
}


class _Loader(yaml.SafeLoader):
    """Plain data only: no aliases (a few of them can expand without end), no name twice, and 3e-4 is a number. Bounded
    in depth and in the number of values, before anything is made of them."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = self._nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="it uses an alias (`*name`)", problem_mark=mark)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise yaml.MarkedYAMLError(problem=f"it has more than {MAX_NODES:,} values", problem_mark=mark)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise yaml.MarkedYAMLError(problem=f"it is nested deeper than {MAX_DEPTH} levels", problem_mark=mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_scalar(self, node: yaml.ScalarNode | yaml.MappingNode) -> Any:
        """As JSON means it, too, which writes a character beyond U+FFFF as two halves."""
        value = super().construct_scalar(node)
        if isinstance(value, str) and HALVES.search(value):
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        double = plain_files.first_double(key.value for key in keys)
        if double is not None:
            problem = f"`{keys[double].value[:60]}` is given twice"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=keys[double].start_mark)
        return super().construct_mapping(node, deep)


# YAML 1.1, which PyYAML reads, takes 3e-4 for text.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"), list("-+0123456789")
)


def from_dict(data: Any) -> RunConfig:
    """Validate plain data (from YAML, JSON or a form). Raises: see `validated`."""
    return validated(data, RunConfig)


def validated(data: Any, kind: type[P]) -> P:
    """Plain data -> a configuration of this kind.

    Raises:
        InvalidConfig: with every problem at once, each naming its field.
    """
    if not isinstance(data, dict):
        raise InvalidConfig([Problem("", "The configuration must be lines of `name: value`.")])
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False)
        groups = {item["loc"][:end] for item in found for end in range(1, len(item["loc"]))}
        found = [item for item in found if item["loc"] not in groups]  # a list whose entries are all bad is not empty
        problems = [problem(item, kind) for item in found[:MAX_PROBLEMS]]
        if len(found) > MAX_PROBLEMS:
            problems.append(Problem("", f"And {len(found) - MAX_PROBLEMS:,} more problems."))
        raise InvalidConfig(problems) from None


def of_ranks(config: RunConfig, count: int) -> RunConfig:
    """A run as so many processes compute it. Raises: InvalidConfig, where they cannot."""
    return validated(config.model_dump(mode="json") | {"ranks": count}, RunConfig)


def parse_yaml(text: str) -> dict[str, Any]:
    """YAML text -> plain data, safely (no objects) and bounded in size.

    Raises:
        InvalidConfig: if it is too large, not YAML, or uses aliases.
    """
    if len(text) > MAX_CONFIG_BYTES:
        raise InvalidConfig([Problem("", f"The configuration is larger than {MAX_CONFIG_BYTES:,} characters.")])
    try:
        data = yaml.load(text, _Loader)
    except Exception as error:  # PyYAML's constructors raise whatever Python does: KeyError for `!!bool x`, and more
        where = getattr(error, "problem_mark", None)
        line = f" near line {where.line + 1}" if where else ""
        why = f": {error.problem}" if isinstance(error, yaml.MarkedYAMLError) and error.problem else ""
        raise InvalidConfig([Problem("", f"The configuration is not valid YAML{line}{why}.")]) from None
    if isinstance(data, dict):
        data.pop(STORY, None)
    return {} if data is None else data


def load(path: Path, overrides: list[str] | None = None, *, links: bool = True) -> RunConfig:
    """Read a YAML file and apply `path=value` overrides, for example `kl.coef=0.2` or `rewards.0.weight=2`.

    Args:
        links: False for a file of a run, which a link could lead out of its folder.

    Raises:
        InvalidConfig: unreadable file, bad YAML, bad override, or any invalid field (all of them at once).
    """
    text = _text(path, links=links)
    if overrides:
        return overridden(parse_yaml(text), overrides, RunConfig)
    return _config(text)


@functools.lru_cache(maxsize=256)
def _config(text: str) -> RunConfig:
    """Parsed once: a page that lists runs asks for the configuration of each again and again."""
    return from_dict(parse_yaml(text))


def read_yaml(path: Path, *, links: bool = True) -> dict[str, Any]:
    """A YAML file as plain data, bounded in size before it is read.

    Raises:
        InvalidConfig: it cannot be read or is not YAML.
    """
    return parse_yaml(_text(path, links=links))


def _text(path: Path, *, links: bool) -> str:
    try:
        return plain_files.read_bytes(path, 4 * MAX_CONFIG_BYTES, links=links).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        message = f"Cannot read {path}: {reason}. Give the path of a YAML file."
        if not links:  # of a run: where it lies is not for everyone who may ask for it
            message = f"Cannot read {path.name}: {reason}."
        raise InvalidConfig([Problem("", message)]) from None


def overridden(data: dict[str, Any], overrides: list[str] | None, kind: type[P]) -> P:
    """Plain data with `path=value` overrides applied, validated. A batch that is made smaller than its minibatches
    makes them as small, unless they are given too.

    Raises:
        InvalidConfig: every bad override and every invalid field at once.
    """
    problems = []
    for override in overrides or []:
        try:
            set_path(data, override)
        except InvalidConfig as error:
            problems += error.problems
    if kind is RunConfig and overrides and not problems:
        given = [parse_override(override)[0] for override in overrides]
        _shrink_parts(data, given)
    try:
        config = validated(data, kind)
    except InvalidConfig as error:
        problems += error.problems
    if problems:
        raise InvalidConfig(problems)
    return config


def _shrink_parts(data: dict[str, Any], given: Collection[str]) -> None:
    """Make what a batch is divided into no larger than the batch that was `given`, by its path."""
    ppo = data.get("ppo")
    smaller = set(given)
    for whole, part in itertools.pairwise(("batch_size", "minibatch_size", "micro_batch_size")):
        if f"ppo.{whole}" not in smaller or f"ppo.{part}" in given or not isinstance(ppo, dict):
            continue
        size, of_part = ppo[whole], ppo.get(part, PPOConfig.model_fields[part].default)
        if isinstance(size, int) and isinstance(of_part, int) and size < of_part:
            ppo[part] = size
            smaller.add(f"ppo.{part}")


def parse_override(override: str) -> tuple[str, Any]:
    """`path=value` -> dotted path, and the value read as YAML.

    Raises:
        InvalidConfig: if it has no `=`, or no path.
    """
    path, equals, raw = override.partition("=")
    path = path.strip()
    if len(override) > MAX_VALUE_CHARACTERS:
        raise InvalidConfig([Problem(path[:60], f"The value is longer than {MAX_VALUE_CHARACTERS:,} characters.")])
    if not equals or not all(path.split(".")):
        raise InvalidConfig([Problem(override, "Write it as path=value, for example kl.coef=0.2.")])
    return path, _yaml_value(raw)


def set_path(data: dict[str, Any], override: str) -> None:
    """Apply one `path=value` to plain configuration data, in place.

    Raises:
        InvalidConfig: if it has no `=`, or a part of the path is not there.
    """
    path, value = parse_override(override)
    keys = path.split(".")
    node: Any = data
    for position, key in enumerate(keys):
        last = position == len(keys) - 1
        here = ".".join(keys[: position + 1])
        if isinstance(node, list):
            if not key.isdecimal() or int(key) >= len(node):
                length = f"{len(node)} entr{'y' if len(node) == 1 else 'ies'}"
                raise InvalidConfig([Problem(here, f"The list has {length}, numbered from 0.")])
            index: Any = int(key)
        elif isinstance(node, dict):
            index = key
            if not last:
                node.setdefault(key, {})
        else:
            raise InvalidConfig([Problem(here, f"`{'.'.join(keys[:position])}` is a single value, not a group.")])
        if last:
            node[index] = value
        else:
            node = node[index]


def _yaml_value(raw: str) -> Any:
    try:
        return yaml.load(raw, _Loader)
    except Exception:  # see `parse_yaml`
        return raw


def problem(item: Any, kind_of_config: type[Part]) -> Problem:
    """One pydantic error -> the field's dotted name and a sentence that says what to do."""
    location = item["loc"]
    names = [
        str(name)
        for before, name in zip((None, *location), location, strict=False)
        if name not in REWARD_CLASSES or not (isinstance(before, int) or before == "measure")  # the kind of a reward
    ]
    field, kind, context, given = ".".join(names), item["type"], item.get("ctx", {}), item.get("input")
    if kind == "extra_forbidden":
        sentence = "There is no such setting."
        if close := _meant(field, kind_of_config):
            sentence += f" Did you mean `{close}`?"
        return Problem(field, sentence)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return Problem(f"{field}.kind", f"must be one of {', '.join(REWARD_CLASSES)}{_got(context.get('tag'))}.")
    if kind == "value_error":
        name, bar, rest = str(context["error"]).partition("|")
        if not bar:
            return Problem(field, _sentence(name))
        return Problem(".".join(filter(None, (field, name))), _sentence(rest))
    if kind in SENTENCES:
        return Problem(field, SENTENCES[kind].format(**context, got=_got(given)))
    return Problem(field, _sentence(item["msg"].replace("Input should be", "must be")))


def _meant(field: str, kind_of_config: type[Part]) -> str:
    """What a name that there is not may stand for: the same name in another group, or one that is written alike."""
    name, knobs = field.rpartition(".")[2], knobs_of(kind_of_config)
    elsewhere = [knob for knob in knobs if name in (knob.rpartition(".")[2], knob.replace(".", "_"))]
    if len(elsewhere) == 1:
        return elsewhere[0]
    close: list[str] = difflib.get_close_matches(field, knobs, n=1, cutoff=0.8)
    close = close or difflib.get_close_matches(name, _names(kind_of_config), n=1, cutoff=0.7)
    if close and close[0] != name:
        return close[0]
    return ""  # that other kinds of reward have: no help


@functools.cache
def _names(kind_of_config: type[Part]) -> list[str]:
    """Every name that a configuration of this kind can have somewhere."""
    return sorted({name for part in _parts(kind_of_config) for name in part.model_fields})


def _parts(kind_of_config: type[Part]) -> set[type[Part]]:
    """It and all that it is made of, at whatever depth."""
    found: set[type[Part]] = set()
    ahead: list[Any] = [kind_of_config]
    while ahead:
        one = ahead.pop()
        if not isinstance(one, type) or not issubclass(one, Part):
            ahead += get_args(one)
        elif one not in found:
            found.add(one)
            ahead += [field.annotation for field in one.model_fields.values()]
    return found


def _sentence(text: str) -> str:
    text = text.strip()
    if text.endswith((".", "?")):
        return text
    return text + "."


def _got(value: Any) -> str:
    if value is None:
        return " (got nothing)"
    short = isinstance(value, (str, float)) or (isinstance(value, int) and value.bit_length() < 200)
    shown = repr(value) if short else type(value).__name__
    return f" (got {shown[:60]})"
