"""What a person has changed in the form, beside the preset that it began with: kept over a reload, and in a link.

The browser keeps the changed fields as the form holds them (`kept`), and gives them back when the page is loaded. A
link carries them as settings by their public names, `?preset=kinder-reviews&set=kl.coef:0.5,seed:3`, with values as in
JSON; anybody may have written it, so it is read by the configuration's own checks and within the page's limits.
Pure functions; `train_page` calls them, static/train/notes.js keeps and copies.
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
from playground.ui.train.form import Form

MOST_CHARACTERS = 4_000  # of what follows `set=`; more belongs into a file
JSON = json.JSONDecoder()
PLAIN = re.compile(r"[A-Za-z_][\w./-]*")
FIELD = re.compile(r"[a-z][a-z0-9_.]{0,60}")
KEPT = "() => { try { return JSON.parse(sessionStorage.getItem('playground-form')); } catch { return null; } }"
NOT_IN_LINKS = ("about", "format")
PYTHON = "A Python function cannot come with a link: whoever opens it would run a stranger's code."


def changed(values: Mapping[str, Any], base: Mapping[str, Any]) -> dict[str, Any]:
    """The form values that are not as in the preset, also those that are not valid."""
    return {field: value for field, value in values.items() if value != base.get(field)}


def address_of(query: Mapping[str, str]) -> str:
    """What of the page's address says how the form begins."""
    return f"{query.get('preset', '')} {query.get('set', '')}"


def kept(given: Any, query: Mapping[str, str]) -> Form | None:
    """What the browser gives back, if it was kept in the page of this address; made by a stranger for all we know."""
    if not isinstance(given, Mapping) or given.get("address") != address_of(query):
        return None
    values = given.get("values")
    if not isinstance(values, Mapping) or not isinstance(given.get("preset"), str):
        return None
    return Form(given["preset"], {}, {field: value for field, value in values.items() if field in form.FIELDS})


def link(config: RunConfig, base: RunConfig) -> str:
    """What follows `set=` in a link to these settings, the seed always among them. Raises: InvalidConfig, where a link
    cannot carry them."""
    found = {field: value for field, (_, value) in differences(config, base).items() if field != "seed"}
    found |= {"name": config.name} if config.name != base.name else {}
    found["seed"] = config.seed
    _refuse_python(config)
    text = ",".join(f"{field}:{_written(value)}" for field, value in found.items())
    if len(text) > MOST_CHARACTERS:
        raise InvalidConfig([Problem("", "These settings are too long for a link: share them as text (YAML).")])
    return text


def from_link(text: str, base: RunConfig, capped: Limits, outputs: Path | None = None) -> RunConfig:
    """The configuration that a link means.

    Raises:
        InvalidConfig: with everything that it may not say, or says wrongly.
    """
    if len(text) > MOST_CHARACTERS:
        raise InvalidConfig([Problem("set", f"has more than {MOST_CHARACTERS:,} characters.")])
    data, known, problems = base.model_dump(mode="json"), {"name", *flatten(base)}, []
    for field, value in _settings(text):
        if field not in known or field.partition(".")[0] in NOT_IN_LINKS:
            problems.append(Problem(field, "There is no such setting."))
        else:
            form.put(data, field, value)
    if problems:
        raise InvalidConfig(problems)
    if outputs:
        data["prompts"]["source"] = uploads.meant(data["prompts"]["source"], outputs)
    config = limits.built(data, capped)
    _refuse_python(config)
    limits.require(config, capped, outputs)
    return config


def _refuse_python(config: RunConfig) -> None:
    if any(spec.kind == "python" for _, spec in config.scorers):
        raise InvalidConfig([Problem("rewards", PYTHON)])


def _written(value: Any) -> str:
    plain = isinstance(value, str) and PLAIN.fullmatch(value) and _plain(value) == value
    return str(value) if plain else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _settings(text: str) -> Iterator[tuple[str, Any]]:
    """Each field with its value. Raises: InvalidConfig, where there is none."""
    while text:
        field, colon, rest = text.partition(":")
        try:
            if not colon or not FIELD.fullmatch(field):
                raise ValueError
            if rest[:1] in ('"', "[", "{"):
                value, end = JSON.raw_decode(rest)
                if rest[end : end + 1] not in ("", ","):
                    raise ValueError
                text = rest[end + 1 :]
            else:
                written, _, text = rest.partition(",")
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
