"""What Python's callers give, as settings: a model or a preset, rows, rewards, names of settings. Starts nothing."""

from __future__ import annotations

import functools
import inspect
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import ValidationError, validate_call

from playground.cli import settings_command
from playground.cli.arguments import DEFAULT_OUTPUTS
from playground.config import RunConfig, yaml_io
from playground.data import row_files
from playground.errors import InvalidConfig, Problem
from playground.models import hub
from playground.rewards import functions
from playground.runs.folder.records import finite_or_null
from playground.runs.sweeps import sweep_record
from playground.setup import catalog
from playground.setup.estimates import own_model

F = TypeVar("F", bound=Callable[..., Any])
ROWS = "a list of texts or of dictionaries, a DataFrame, a Dataset, or the name of a file"


def checked(function: F) -> F:
    """The function, with arguments of another kind than it takes refused in a sentence."""
    names, gives = [*inspect.signature(function).parameters], function.__annotations__.pop("return", None)
    call = validate_call(function)
    function.__annotations__["return"] = gives  # which may be a table, whose library is not imported yet

    @functools.wraps(function)
    def asked(*positional: Any, **named: Any) -> Any:
        try:
            return call(*positional, **named)
        except ValidationError as error:
            if error.title != function.__qualname__:
                raise
            problems: dict[str, Problem] = {}  # the first of each argument
            for item in error.errors(include_url=False):
                name = item["loc"][0]
                if isinstance(name, int):
                    name = names[name]
                problems.setdefault(name, yaml_io.problem({**item, "loc": (name,)}, RunConfig))
            raise InvalidConfig([*problems.values()]) from None

    return cast(F, asked)


def settings(
    model: str | Path, prompts: Any, reward: Any, changed: dict[str, Any], outputs: Path
) -> tuple[dict[str, Any], list[str]]:
    """The settings of a preset or those that fit a model, with prompts and reward in their places, and the others as
    `path=value`. Raises: PlaygroundError."""
    source, preset, weights = str(model), changed.pop("preset", None), changed.pop("reward_weights", None)
    changes, fields = overrides(changed), dict[str, Any]()
    if prompts is not None:
        fields["prompts"] = {"source": source_of(prompts, outputs, "prompts")}
    if weights is not None and (reward is None or not _are_numbers(_listed(weights))):
        raise InvalidConfig([Problem("reward_weights", "must be a list of numbers, one for each entry of `reward`.")])
    if reward is not None:
        fields["rewards"] = functions.entries_of(_named(reward, outputs), weights and _listed(weights))
    if preset is None and source not in catalog.every_preset_name() and Path(source).suffix not in (".yaml", ".yml"):
        return own_model.settings(source, fields, outputs), changes
    data = yaml_io.read_yaml(catalog.preset_path(str(preset or source)))
    if preset is not None:
        fields["model"] = {**data.get("model", {}), "source": source}
    if prompts is not None:  # how they are put to a model stays
        layout = {name: value for name, value in data.get("prompts", {}).items() if name in ("template", "system")}
        fields["prompts"] |= layout
    return data | fields, changes


def _are_numbers(values: Iterable[Any]) -> bool:
    return all(isinstance(value, (int, float)) for value in values)


def _named(reward: Any, outputs: Path) -> list[Any]:
    """Rewards, with what only names a model or is an expression as its entry."""
    specs = _listed(reward)
    models = [model.name for model in catalog.reward_models(outputs)]
    for number, spec in enumerate(specs):
        text = ""
        if isinstance(spec, (str, Path)):
            text = str(spec)
        if (
            text in models
            or os.path.isdir(text)
            or (text.count("/") == 1 and hub.repository(text) and ".py" not in text)
        ):
            specs[number] = {"kind": "model", "source": text}
        elif "(" in text:
            specs[number] = {"kind": "expression", "expression": text}
        elif hasattr(spec, "as_reward"):
            specs[number] = spec.as_reward()
        elif text:
            specs[number] = text
    return specs


def _listed(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return list(value)
    return [value]


def varied(vary: Mapping[str, Any]) -> list[str]:
    """What a sweep varies, as `field=value,value`. Raises: InvalidConfig."""
    for name, values in vary.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidConfig([Problem(name, "must be a list of values, such as [0.1, 0.25].")])
    return [f"{settings_command.field_of(name)}={as_json([*values])[1:-1]}" for name, values in vary.items()]


def source_of(data: Any, outputs: Path, field: str) -> str:
    """The name of a file, a data set or an included set as it is; rows as a file in the outputs folder, with all their
    columns. Raises: InvalidConfig, TableUnusable, OutputsNotWritable."""
    if isinstance(data, (str, Path)):
        return str(data)
    from playground.ui.auth import uploads  # the page offers them as it does uploads

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{field}.jsonl"
        try:
            rows = [f"{as_json(row)}\n" for row in itertools.islice(_rows(data, field), row_files.MAX_ROWS + 1)]
            file.write_text("".join(rows), encoding="utf-8")
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidConfig([Problem(field, f"cannot be written as JSON: {error}.")]) from None
        if not rows:
            raise InvalidConfig([Problem(field, "has no rows.")])
        row_files.shape(file)
        return str(uploads.put(file, outputs))


def _rows(data: Any, field: str) -> Iterator[dict[str, Any]]:
    """Rows of whatever holds them: texts, dictionaries, a DataFrame, a Dataset, a dictionary of columns."""
    if hasattr(data, "notna") and hasattr(data, "columns"):
        data = data.astype(object).where(data.notna(), None).to_dict("records")
    elif isinstance(data, Mapping) and all(
        isinstance(values, (list, tuple)) or hasattr(values, "tolist") for values in data.values()
    ):
        data = [dict(zip(data, values, strict=True)) for values in zip(*data.values(), strict=True)]
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        splits = ""
        if isinstance(data, Mapping):
            splits = f"; name one of its splits, {', '.join(map(str, data))}"
        raise InvalidConfig([Problem(field, f"must be {ROWS} (got a {type(data).__name__}{splits}).")])
    for number, row in enumerate(data, 1):
        if not isinstance(row, (str, list, Mapping)):
            problem = f"row {number} is {type(row).__name__}: each must be a text or a dictionary with its columns"
            raise InvalidConfig([Problem(field, f"{problem}.")])
        if isinstance(row, Mapping):
            yield {str(name): value for name, value in row.items()}
        else:
            yield {"prompt": row}


def overrides(settings: Mapping[str, Any], of_reward_model: bool = False) -> list[str]:
    """Settings as `path=value`. Raises: InvalidConfig, for every name that may be several."""
    assignments, problems = [], []
    for name, value in _flat(settings, settings_command.groups(of_reward_model)):
        try:
            assignments.append(f"{settings_command.field_of(name, of_reward_model)}={as_json(value)}")
        except InvalidConfig as error:
            problems += error.problems
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(Problem(name, f"must be what YAML has, a number, a text, a list: {error}."))
    sweep_record.raise_if(problems)
    return assignments


def _flat(settings: Mapping[str, Any], groups: set[str], before: str = "") -> Iterator[tuple[str, Any]]:
    """Settings by their paths, those in groups ({"kl": {"coef": 0.2}}) too: what a group does not name stays."""
    for name, value in settings.items():
        path = f"{before}{name}"
        if isinstance(value, Mapping) and path in groups:
            yield from _flat(value, groups, f"{path}.")
        else:
            yield path, value


def as_json(value: Any) -> str:
    """As strict JSON, which is YAML too. Raises: TypeError, ValueError, RecursionError."""
    return json.dumps(finite_or_null(json.loads(json.dumps(value, default=_plain))))


def _plain(value: Any) -> Any:
    """A figure or an array of NumPy's, or anything else that JSON has no word for."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def outputs_folder(folder: str | Path | None) -> Path:
    return Path(folder or os.environ.get("PLAYGROUND_OUTPUTS") or DEFAULT_OUTPUTS)
