"""What can be known before a run: `presets`, and what `train` says with `--estimate` and with `--try`, whose four parts
`runs.preflight` and `runs.trial` make, as on the page."""

from __future__ import annotations

import contextlib
import json as jsons
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from playground.cli import printing
from playground.cli.arguments import FAILED, Json
from playground.cli.settings_command import setting
from playground.cli.terminal import (
    console,
    number,
    plain,
    print_json,
    print_table,
    say,
    time_range,
    without_phases,
)
from playground.config import RunConfig, differences, yaml_io
from playground.config.behaviour_settings import READY
from playground.data import dialogues
from playground.errors import InvalidConfig, ModelNotHere, ModelToGet, PlaygroundError, Problem
from playground.rewards import behaviours
from playground.runs import history, preflight, trial
from playground.runs.model_service import ModelService
from playground.setup import catalog, describe, estimates, expected

MOST_TEXT = 200
TITLES = {"model": "Model", "prompts": "Prompts", "answers": "Completions", "update": "Trial update"}


def estimate(config: RunConfig, outputs: Path, *, as_json: bool) -> None:
    """What a run would need: memory by role, time, what has to be downloaded, and if it fits."""
    finished = history.finished_runs(outputs)
    printing.print_estimate(estimates.estimate(config, outputs, ask_hub=True, finished=finished), as_json=as_json)


def try_out(config: RunConfig, outputs: Path, *, as_json: bool) -> None:
    """The four parts, each with its result or why it failed. Leaves with exit code 1 if one of them failed."""
    _require_model(config)
    done: dict[str, Any] = {}
    with contextlib.closing(ModelService(outputs)) as service:

        def update() -> dict[str, Any]:
            service.close()  # its model would take the trial's memory
            return _last(trial.make(config, outputs))

        makers: dict[str, Callable[[], dict[str, Any]]] = {
            "model": lambda: preflight.about_model(config, outputs),
            "prompts": lambda: preflight.prompts_read(config, service),
            "answers": lambda: _last(preflight.answers(config, outputs, service)),
            "update": update,
        }
        left = list(preflight.PARTS)
        while left:
            name = left.pop(0)
            if not as_json:
                print(f"{len(done) + 1}. {TITLES[name]}")
            try:
                done[name] = makers[name]()
            except PlaygroundError as error:
                done[name] = {"problem": str(error)}
            if not as_json:
                _print_part(config, name, done[name])
            if name == "model" and done[name].get("here") is False:
                left.sort(key=lambda other: other != "update")  # it downloads what the other two need
    if as_json:
        print_json({name: done[name] for name in preflight.PARTS})
    if any(map(_has_failed, done.values())):
        raise typer.Exit(FAILED)


def _has_failed(answer: dict[str, Any]) -> bool:
    rewards = answer.get("rewards", ())
    return answer.get("state") in ("failed", "stopped") or any(item.get("problem") for item in (answer, *rewards))


def _print_part(config: RunConfig, name: str, answer: dict[str, Any]) -> None:
    if problem := answer.get("problem"):
        say(f"   {problem}")
    elif name == "model":
        _print_model(answer)
    elif name == "prompts":
        print_preview(answer)
    elif name == "answers":
        _print_answers(answer)
    else:
        _print_trial(config, answer)
    print()


def _require_model(config: RunConfig) -> None:
    """Raises: ModelNotFound, if the model is neither here nor one that a run downloads: every part needs it."""
    try:
        catalog.model_folder(config.model.source, config.model.revision)
    except ModelToGet:
        raise
    except ModelNotHere:
        pass


def _last(answers: Any) -> dict[str, Any]:
    *_, answer = without_phases(answers, indent="   ")
    return answer


def _print_model(answer: dict[str, Any]) -> None:
    say(*(f"   {name}: {value}" for name, value in answer["facts"]), answer["note"] and f"   {answer['note']}")


def _print_answers(answer: dict[str, Any]) -> None:
    for row, sample in enumerate(answer["samples"]):
        text = (
            dialogues.for_reading(sample["prompt"])[-MOST_TEXT:] + " >>> " + sample["completion"][:MOST_TEXT]
        ).replace("\n", "\\n")
        scores = "  ".join(
            f"{item['name']} {number(item['values'][row])}" for item in answer["rewards"] if item["values"]
        )
        if not sample["ended"]:
            text += " [cut]"
        say(f"   {scores}  |  {text}")
    for item in answer["rewards"]:
        if item["problem"]:
            say(f"   {'Judge' if item['judge'] else 'Reward'} {item['name']}: {item['problem']}")


def _print_trial(config: RunConfig, answer: dict[str, Any]) -> None:
    if answer["state"] == "done":
        each, before = (describe.duration(answer[name]) for name in ("seconds_per_update", "seconds_before"))
        updates = f"{config.ppo.num_updates} updates"
        whole = time_range(*answer["seconds"])
        print(f"   {each} an update, {before} before the first; {whole} for the run of {updates}.")
        needed, free = (describe.two_digits(answer[name]) for name in ("memory_gb", "free_gb"))
        print(f"   {needed} of {free} GB free on {answer['device']} at its fullest: {answer['verdict']}.")
    else:
        say(f"   {answer['message']}")
    say(answer["advice"] and f"   {answer['advice']}")
    if answer["better"]:
        with contextlib.suppress(InvalidConfig):
            better = yaml_io.from_dict(answer["better"])
            sets = [f"--set {field}={after}" for field, (_, after) in differences(better, config).items()]
            say(f"   To take that: {' '.join(sets)}")


def print_preview(preview: dict[str, Any]) -> None:
    """The preview for a person."""
    say(*summary(preview))
    rows = (
        ("fixed" if row["held_out"] else "train", str(row["tokens"]), _visible(row["text"])[:MOST_TEXT])
        for row in preview["rows"]
    )
    print()
    print_table(rows, "Use", "Tokens", "Prompt")
    print(f"\nWhat the model reads ({preview['form']} prompts):")
    for pieces in preview["seen"]:
        line = Text("  ")
        for piece in pieces:
            line.append(plain(_visible(piece["text"])), style="reverse" if piece["special"] else "")
        console().print(line)


def summary(preview: dict[str, Any]) -> list[str]:
    """The figures as sentences."""
    lengths, fixed, training = preview["lengths"], preview["num_evaluation"], preview["num_training"]
    source, column, rows = preview["source"], preview["column"], f"{preview['num_rows']:,}"
    if preview["num_claims"]:
        read = f"{source}: {rows} prompts made of {preview['num_claims']:,} questions and their claims."
    else:
        extent = ""
        if preview["goes_on"]:
            extent = ", the first ones of more"
        if column:
            extent += f", column `{column}`"
        read = f"{source}: {rows} rows{extent}."
    sentence = f"{training:,} prompts to train on, {fixed:,} fixed ones held out."
    if not preview["held_out"]:
        sentence = (
            f"{training:,} prompts to train on; too few to hold any out, so {fixed:,} of them are the fixed prompts "
            f"too. Add prompts, or set evaluation.num_prompts to {training // 2:,} or fewer."
        )
    unneeded = ""
    if preview["num_unneeded"]:
        unneeded = f"{preview['num_unneeded']:,} more rows are not used (prompts.limit)."
    tokens = (
        f"Tokens: {lengths['min']} to {lengths['max']}, median {lengths['median']}, 90 % at most {lengths['p90']}; the "
        f"model has room for {preview['room']:,}."
    )
    return list(filter(None, [read, sentence, preview["sentence"], unneeded, tokens]))


def _visible(text: str) -> str:
    """Line breaks as they are written in JSON."""
    if "\n" in text:
        return jsons.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')
    return text


def presets(
    preset: Annotated[
        str | None, typer.Argument(metavar="[CONFIG]", help="Describe one in full: a preset, or a YAML file.")
    ] = None,
    set_: Annotated[list[str] | None, setting("prompts.source=pocket/claims")] = None,
    json: Json = False,
) -> None:
    """List the presets with what they came to on several seeds; of one, what to expect and what a run of it counts."""
    if preset is None and set_:
        raise InvalidConfig([Problem("--set", "changes the settings of one: name it (presets CONFIG --set ...).")])
    if preset is None:
        rows = [_preset_facts(catalog.preset(name)) for name in catalog.preset_names()]
        if json:
            print_json(rows)
        else:
            say(*(f"{facts['preset']}: {facts['title']}. {facts['measured']}".strip() for facts in rows))
        return
    config = yaml_io.load(catalog.preset_path(preset), set_)
    facts = _preset_facts(config)
    if json:
        print_json(facts)
        return
    say(facts["told"], facts["story"], facts["expect"] and f"Expect: {facts['expect']}", facts["measured"])
    counted = behaviours.of_config(config)
    print("It counts at every evaluation of the fixed prompts:" if counted else "It counts no behaviour.")
    print_table(
        (behaviour.name, behaviour.words, READY[behaviour.name].help if behaviour.name in READY else "")
        for behaviour in counted
    )


def _preset_facts(config: RunConfig) -> dict[str, Any]:
    description = describe.of(config)
    return {
        "preset": description.preset,
        "title": config.about.title,
        "told": description.what,
        "story": description.story,
        "expect": description.expect,
        "measured": expected.line(description.preset),
        "behaviours": [
            {"name": behaviour.name, "words": behaviour.words} for behaviour in behaviours.of_config(config)
        ],
    }
