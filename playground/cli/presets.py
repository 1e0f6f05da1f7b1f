"""The command `presets`: which experiments ship, what each lets one expect and came to, and what a run of it counts."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from playground.cli.arguments import Json, setting
from playground.cli.terminal import print_json, print_table, say
from playground.config import RunConfig, yaml_io
from playground.config.behaviour_settings import READY
from playground.rewards import behaviours
from playground.setup import catalog, describe, expected


def presets(
    preset: Annotated[
        str | None, typer.Argument(metavar="[CONFIG]", help="Tell one in full: a preset, or a YAML file.")
    ] = None,
    set_: Annotated[list[str] | None, setting("prompts.source=pocket/claims")] = None,
    json: Json = False,
) -> None:
    """List the presets with what they came to on several seeds; of one, what to expect and what a run of it counts."""
    if preset is None:
        found = [_facts(catalog.preset(name)) for name in catalog.preset_names()]
        if json:
            print_json(found)
        else:
            say(*(f"{facts['preset']}: {facts['title']}. {facts['measured']}".strip() for facts in found))
        return
    config = yaml_io.load(catalog.preset_path(preset), set_)
    facts = _facts(config)
    if json:
        print_json(facts)
        return
    say(facts["told"], facts["story"], facts["expect"] and f"Expect: {facts['expect']}", facts["measured"])
    counted = behaviours.of_config(config)
    print("It counts at every evaluation of the fixed prompts:" if counted else "It counts no behaviour.")
    print_table((one.name, one.words, READY[one.name].help if one.name in READY else "") for one in counted)


def _facts(config: RunConfig) -> dict[str, Any]:
    description = describe.of(config)
    return {
        "preset": description.preset,
        "title": config.about.title,
        "told": description.what,
        "story": description.story,
        "expect": description.expect,
        "measured": expected.line(description.preset),
        "behaviours": [{"name": one.name, "words": one.words} for one in behaviours.of_config(config)],
    }
