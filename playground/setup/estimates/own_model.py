"""A model where a preset could be named: the settings that fit it, and what its runs are called."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playground.config import RunConfig, yaml_io
from playground.errors import InvalidConfig, Problem
from playground.models import hub
from playground.setup import catalog, describe
from playground.setup.estimates import fitting


def is_one(source: str) -> bool:
    """True if it names a model that is there or may be on the hub, and no preset or YAML file."""
    if source in catalog.every_preset_name() or Path(source).suffix in (".yaml", ".yml"):
        return False
    is_there = source in catalog.MODEL_NAMES or os.path.isdir(os.path.expanduser(source))
    return is_there or hub.repository(source) is not None


def settings(source: str, given: Mapping[str, Any], outputs: Path | None = None) -> dict[str, Any]:
    """What fits a model, without a name, and what was `given` instead. Raises: InvalidConfig; ModelNotFound,
    there is no such model."""
    if not is_one(source):
        if os.sep in source:
            raise InvalidConfig([Problem("model", f"There is no folder {source}.")])
        names = [*catalog.every_preset_name(), *catalog.MODEL_NAMES]
        raise InvalidConfig([Problem("model", catalog.unknown("preset or model", source, names))])
    if "prompts" in given and "rewards" not in given:
        raise InvalidConfig([Problem("reward", "Say what is rewarded: a function, a kind such as length, a model.")])
    data = {"model": {"source": source}, "rewards": [{"kind": "sentiment"}], **given}
    fitted = fitting.fit(yaml_io.from_dict(data), outputs).config.model_dump(mode="json")
    del fitted["name"]
    return fitted | {"rewards": given.get("rewards", fitted["rewards"])}


def name_of(data: Mapping[str, Any], changes: list[str]) -> str:
    """What a run of settings without a name is called: its model, its reward, and what was chosen besides."""
    basics = {"model.source": data.get("model", {}).get("source"), "rewards": data.get("rewards")}
    chosen = dict[str, Any](yaml_io.parse_override(change) for change in changes)
    given = {field: value for field, value in basics.items() if value} | chosen
    return describe.name_of(given) or str(RunConfig.model_fields["name"].default)
