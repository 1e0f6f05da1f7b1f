"""What programs send -> checked arguments and a run's configuration. Nothing of it has been looked at by Gradio."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from playground.config import RunConfig, yaml_io
from playground.errors import InvalidConfig, Problem
from playground.setup import checks
from playground.setup.limits import Limits
from playground.ui.auth.access import Caller, Role
from playground.ui.train import edits, filling, form, run_actions

KINDS = {str: "text", int: "a whole number", float: "a number", list[str] | None: "a list of texts"}
SETTINGS = 'an object of settings, such as {"kl.coef": 0.2}'
NOT_HERE = "cannot be set here."
MOST_SETTINGS = 500  # of one call; a preset has some 100
MOST_OF_A_NAME = 200  # characters


def parameters(handler: Callable[..., Any]) -> list[inspect.Parameter]:
    """Those that a caller gives, with their types."""
    hints = typing.get_type_hints(handler)
    parameters = inspect.signature(handler).parameters.values()
    return [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in parameters
        if parameter.name not in ("self", "caller")
    ]


def reader(handler: Callable[..., Any]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    """What checks the arguments of a handler by its types. It raises InvalidConfig, with all that are wrong."""
    kinds = [(parameter, TypeAdapter(parameter.annotation)) for parameter in parameters(handler)]

    def read(sent: tuple[Any, ...]) -> tuple[Any, ...]:
        values, problems = [], []
        for (parameter, kind), value in zip(kinds, sent, strict=False):
            try:
                values.append(kind.validate_python(value))
            except (ValidationError, RecursionError):
                expected = KINDS.get(parameter.annotation, SETTINGS)
                problems.append(Problem(parameter.name, f"must be {expected} (got {type(value).__name__})."))
        if problems:
            raise InvalidConfig(problems)
        return tuple(values)

    return read


def key(name: str) -> str:
    """The caller's name for a start. Raises: InvalidConfig, for one that would not be kept."""
    if name and not run_actions.REQUEST_ID.fullmatch(name):
        raise InvalidConfig([Problem("key", "must have 8 to 40 letters, digits and hyphens, or be left out.")])
    return name


def configured(
    preset: str, settings: Mapping[str, Any] | None, outputs: Path, capped: Limits, caller: Caller
) -> tuple[RunConfig, RunConfig]:
    """A preset, or a run's settings as `run:ID`, and the same with settings changed. Raises: InvalidConfig, with every
    problem at once, each naming its field; RunNotFound."""
    base = filling.base_of(preset, outputs)
    if caller.role is not Role.HOST:  # who else need not know where files are
        base = checks.without_folders(base)
    data = base.model_dump(mode="json")
    problems = _put(data, settings or {})
    try:
        config = form.valid(filling.meant(data, outputs), base, outputs, capped)
    except InvalidConfig as error:
        problems += error.problems
    if problems:
        raise InvalidConfig(problems)
    return base, config


def _put(data: dict[str, Any], settings: Mapping[str, Any]) -> list[Problem]:
    """Set all that can be, and say what cannot."""
    problems: list[Problem] = []
    fields: set[str] = set()
    try:
        for number, (field, value) in enumerate(_flat(settings), 1):
            if number > MOST_SETTINGS:  # each costs as much as a small file
                return [Problem("settings", f"must be at most {MOST_SETTINGS}.")]
            if len(field) > MOST_OF_A_NAME or "=" in field or field.strip().partition(".")[0] in edits.NOT_IN_LINKS:
                problems.append(Problem(field[:60], NOT_HERE))
                continue
            if field.strip() in fields:
                problems.append(Problem(field.strip(), "is given twice, by its dotted name and nested."))
                continue
            fields.add(field.strip())
            try:
                yaml_io.set_path(data, f"{field}={json.dumps(value)}")
            except InvalidConfig as error:
                problems += error.problems
    except RecursionError:
        problems.append(Problem("settings", "is nested too deeply."))
    return problems


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and their values, of nested settings too."""
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
