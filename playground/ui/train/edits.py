"""What a person has changed in the form, as text: kept by the browser over a reload, and in a link.

It has settings by their public names, `?preset=kinder-reviews&set=kl.coef:0.5,seed:3`, with values as in JSON;
anybody may have written it, so it is read by the configuration's own checks and within the page's limits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playground.config import RunConfig, differences, flatten
from playground.errors import InvalidConfig, Problem
from playground.setup import limits
from playground.setup.limits import Limits
from playground.ui.auth import uploads
from playground.ui.train import form

MOST_CHARACTERS = 4_000  # of what follows `set=`; more belongs into a file
JSON = json.JSONDecoder()
PLAIN = re.compile(r"[A-Za-z_][\w./-]*")
FIELD = re.compile(r"[a-z][a-z0-9_.]{0,60}")
KEPT = "() => { try { return JSON.parse(sessionStorage.getItem('playground-form')); } catch { return null; } }"
NOT_IN_LINKS = ("about", "format", "kind", "preset")
TOO_LONG = "These settings are too long for a link: share them as text (YAML)."
PYTHON = "A Python function cannot come with a link: whoever opens it would run a stranger's code."


def kept(stored: Any, query: Mapping[str, str]) -> tuple[str, str] | None:
    """What the browser gives back, if it was kept in the page of this address: a preset, and settings as in a link."""
    address = f"{query.get('preset', '')} {query.get('set', '')}"
    if not isinstance(stored, Mapping) or stored.get("address") != address:
        return None
    preset, text = stored.get("preset"), stored.get("kept")
    if isinstance(preset, str) and isinstance(text, str):
        return (preset, text)
    return None


def written(config: RunConfig, base: RunConfig) -> str:
    """What follows `set=` in a link to these settings, the seed always among them."""
    changed = {field: value for field, (_, value) in differences(config, base).items() if field != "seed"}
    if config.name != base.name:
        changed["name"] = config.name
    changed["seed"] = config.seed
    return ",".join(f"{field}:{_written(value)}" for field, value in changed.items())


def why_no_link(config: RunConfig, text: str) -> str:
    """Why a link cannot carry these settings; empty where it can."""
    if any(spec.kind == "python" for _, spec in config.scorers):
        return PYTHON
    if len(text) > MOST_CHARACTERS:
        return TOO_LONG
    return ""


def from_text(
    text: str, base: RunConfig, capped: Limits, outputs: Path | None = None, *, from_link: bool = True
) -> RunConfig:
    """The configuration that such a text means. `from_link`: it is a stranger's.

    Raises: InvalidConfig, with everything that it may not say.
    """
    if from_link and len(text) > MOST_CHARACTERS:
        raise InvalidConfig([Problem("set", f"has more than {MOST_CHARACTERS:,} characters.")])
    data, fields, problems = base.model_dump(mode="json"), {"name", *flatten(base)}, []
    for field, value in _settings(text):
        if field not in fields or field.partition(".")[0] in NOT_IN_LINKS:
            problems.append(Problem(field, "There is no such setting."))
        else:
            form.put(data, field, value)
    if problems:
        raise InvalidConfig(problems)
    if outputs:
        data["prompts"]["source"] = uploads.meant(data["prompts"]["source"], outputs)
    config = limits.built(data, capped, outputs)
    if from_link and why_no_link(config, text):
        raise InvalidConfig([Problem("rewards", PYTHON)])
    return config


def _written(value: Any) -> str:
    plain = isinstance(value, str) and PLAIN.fullmatch(value) and _plain(value) == value
    if plain:
        return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _settings(text: str) -> Iterator[tuple[str, Any]]:
    """Each field with its value. Raises: InvalidConfig, where there is none."""
    while text:
        try:
            field, remainder = re.split("[:=]", text, maxsplit=1)
            if not FIELD.fullmatch(field):
                raise ValueError
            if remainder[:1] in ('"', "[", "{"):
                value, end = JSON.raw_decode(remainder)
                if remainder[end : end + 1] not in ("", ","):
                    raise ValueError
                text = remainder[end + 1 :]
            else:
                written, _, text = remainder.partition(",")
                value = _plain(written)
        except (ValueError, RecursionError):
            message = f"`{text[:60]}` is no setting: write field:value, for example kl.coef:0.5."
            raise InvalidConfig([Problem("set", message)]) from None
        yield field, value


def _plain(text: str) -> Any:
    """A number, true, false, null, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text
