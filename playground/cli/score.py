"""The command `score`: texts of one's own, scored by the rewards of a configuration, before any training.

Thin, as the other commands: reads arguments, asks the model service, prints. `playground.cli` registers it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from playground.cli.arguments import DEFAULT_OUTPUTS, Json, setting
from playground.cli.terminal import complain, number, print_json, print_table, say
from playground.config import RunConfig, yaml_io
from playground.errors import InvalidConfig, Problem
from playground.rewards import trying
from playground.rewards.mixture import term_names
from playground.runs.model_service import ModelService
from playground.setup import catalog, checks


def score(
    config: Annotated[
        str, typer.Argument(metavar="CONFIG", help="A preset or a YAML file: its rewards, model and prompts.")
    ],
    prompt: Annotated[str, typer.Option(help="The text that is gone on from.")],
    completion: Annotated[
        list[str], typer.Option(help=f"A text to score, as it goes on from the prompt. Up to {trying.MAX_TEXTS}.")
    ],
    set_: Annotated[list[str] | None, setting("rewards.0.weight=2")] = None,
    samples: Annotated[
        int,
        typer.Option(help="Texts of the untrained model to compare with; 0 for none.", min=0, max=trying.MAX_SAMPLES),
    ] = trying.SAMPLES,
    outputs: Annotated[
        Path,
        typer.Option(envvar="PLAYGROUND_OUTPUTS", help="Where reward models trained here are.", metavar="DIR"),
    ] = DEFAULT_OUTPUTS,
    json: Json = False,
) -> None:
    """Score texts with the rewards of a configuration, term by term, before any training."""
    chosen = yaml_io.load(catalog.preset_path(config), set_)
    checks.check(chosen, outputs)
    _check(prompt, completion)
    found = _asked(chosen, prompt, completion, samples, outputs)
    weighed = trying.weigh(chosen.rewards, found)
    if json:
        print_json(_data(chosen, completion, weighed, samples))
    else:
        _print(chosen, completion, weighed, samples)


def _check(prompt: str, completions: list[str]) -> None:
    problems = (
        []
        if len(completions) <= trying.MAX_TEXTS
        else [Problem("completion", f"must be given at most {trying.MAX_TEXTS} times (got {len(completions)}).")]
    )
    for name, texts in (("prompt", [prompt]), ("completion", completions)):
        if max(map(len, texts)) > trying.MAX_CHARACTERS:
            problems.append(Problem(name, f"must be at most {trying.MAX_CHARACTERS:,} characters long."))
    if problems:
        raise InvalidConfig(problems)


def _asked(config: RunConfig, prompt: str, completions: list[str], samples: int, outputs: Path) -> dict[str, Any]:
    """What the service says, its progress on stderr."""
    config = checks.located(config, outputs)
    reference = trying.reference_of(config, samples) if samples else None
    question = trying.question(config.rewards, prompt, completions, reference, str(outputs.resolve()))
    shown = ""
    with contextlib.closing(ModelService(outputs)) as service:
        for answer in service.ask("rewards-score", question, trying.TIMEOUT_SECONDS):
            if "names" in answer:
                return answer
            if answer["phase"] != shown:
                shown = answer["phase"]
                complain(f"{shown} ...")
    return {}


def _data(config: RunConfig, completions: list[str], weighed: trying.Weighed, samples: int) -> dict[str, Any]:
    return {
        "unit": "sd" if samples else "points",
        "samples": samples,
        "texts": [
            {
                "completion": completion,
                "score": weighed.scores[row],
                "total": weighed.totals[row],
                "terms": {
                    name: {
                        "weight": reward.weight,
                        "value": weighed.raw[name][row],
                        "value_in_sd": weighed.z[name][row] if samples else None,
                        "adds": weighed.adds[name][row],
                    }
                    for name, reward in zip(term_names(config.rewards), config.rewards, strict=True)
                },
            }
            for row, completion in enumerate(completions)
        ],
    }


def _print(config: RunConfig, completions: list[str], weighed: trying.Weighed, samples: int) -> None:
    """Each text, and below it a table: term, weight, value, value in sd, what it adds."""
    for index, completion in enumerate(completions):
        rows = []
        for name, reward in zip(weighed.names, config.rewards, strict=True):
            value, adds = weighed.raw[name][index], weighed.adds[name][index]
            scaled = number(weighed.z[name][index], sign=True) if samples else "-"
            shown = "no opinion" if value is None else number(value)
            rows.append((name, f"{reward.weight:g}", shown, scaled, number(adds, sign=True)))
        rows.append(("score", "", number(weighed.totals[index]), "", number(weighed.scores[index], sign=True)))
        say(completion.strip())
        unit = "sd" if samples else "points"
        print_table(rows, "Term", "Weight", "Value", "In sd", f"Adds, {unit}", figures_from=1)
        print()
    if samples:
        say(f"In standard deviations above the average of {samples} texts of the untrained {config.model.source}.")
