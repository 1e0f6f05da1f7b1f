"""`python -m playground try`: everything that can be known of a configuration before its run is started, in four parts.

The parts are made by `runs.preflight` and `runs.trial`, as on the page. Decides nothing but the exit code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from playground.cli import previewing
from playground.cli.arguments import DEFAULT_OUTPUTS, FAILED, Json, Outputs, setting
from playground.cli.terminal import complain, number, print_json, say
from playground.config import RunConfig, differences, yaml_io
from playground.errors import InvalidConfig, PlaygroundError
from playground.runs import preflight, trial
from playground.runs.model_service import ModelService
from playground.setup import catalog, describe

MOST_TEXT = 200


def try_command(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="The name of a preset, or a YAML file.")],
    set_: Annotated[list[str] | None, setting("model.source=my/model")] = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
    update: Annotated[bool, typer.Option("--update/--no-update", help="Make the trial update too.")] = True,
    json: Json = False,
) -> None:
    """Try a configuration before it is started: the model, the prompts as it reads them, what the rewards say of eight
    of its own completions, and one real update, for its time and memory. Nothing of it becomes a run.

    Exit code 1 if one of the parts failed.
    """
    chosen = yaml_io.load(catalog.preset_path(config), set_)
    done: dict[str, Any] = {}

    def part(name: str, title: str, make: Callable[[], Any], show: Callable[[Any], None]) -> None:
        if not json:
            print(f"{'' if not done else chr(10)}{len(done) + 1}. {title}")
        try:
            done[name] = make()
        except PlaygroundError as error:
            done[name] = {"problem": str(error)}
        if not json:
            problem = done[name].get("problem")
            say(f"   {problem}") if problem else show(done[name])

    with contextlib.closing(ModelService(outputs)) as service:
        parts = {
            "model": ("Model", lambda: preflight.about_model(chosen, outputs), _print_model),
            "prompts": ("Prompts", lambda: preflight.prompts_read(chosen, service), previewing.print_preview),
            "answers": ("Completions", lambda: _last(preflight.answers(chosen, outputs, service)), _print_answers),
        }
        update_part = ("Trial update", lambda: _tried(chosen, outputs), lambda answer: _print_trial(chosen, answer))
        part("model", *parts["model"])
        first = update and done["model"].get("here") is False  # it downloads what the other two need
        if first:
            part("update", *update_part)
        for name in ("prompts", "answers"):
            part(name, *parts[name])
        service.close()  # its model would take the trial's memory
        if update and not first:
            part("update", *update_part)
    failed = [
        name for name, answer in done.items() if answer.get("problem") or answer.get("state") in ("failed", "stopped")
    ]
    failed += [name for name in ("answers",) if any(item["problem"] for item in done[name].get("rewards", ()))]
    if json:
        print_json({name: done.get(name) for name in preflight.PARTS})
    raise typer.Exit(FAILED if failed else 0)


def _last(answers: Any) -> dict[str, Any]:
    """The last answer; what is said on the way goes to stderr, once."""
    shown, found = "", {}
    for found in answers:
        if found.get("phase", shown) != shown:
            shown = found["phase"]
            complain(f"   {shown} ...")
    return dict(found)


def _tried(config: RunConfig, outputs: Path) -> dict[str, Any]:
    return _last(trial.make(config, outputs))


def _print_model(answer: dict[str, Any]) -> None:
    say(*(f"   {name}: {value}" for name, value in answer["facts"]), answer["note"] and f"   {answer['note']}")


def _print_answers(answer: dict[str, Any]) -> None:
    for row, sample in enumerate(answer["samples"]):
        text = (sample["prompt"][-MOST_TEXT:] + " >>> " + sample["completion"][:MOST_TEXT]).replace("\n", "\\n")
        scores = "  ".join(
            f"{item['name']} {number(item['values'][row])}" for item in answer["rewards"] if item["values"]
        )
        say(f"   {scores}  |  {text}{'' if sample['ended'] else ' [cut]'}")
    for item in answer["rewards"]:
        if item["problem"]:
            say(f"   {'Judge' if item['judge'] else 'Reward'} {item['name']}: {item['problem']}")


def _print_trial(config: RunConfig, answer: dict[str, Any]) -> None:
    if answer["state"] == "done":
        low, high = (describe.duration(seconds) for seconds in answer["seconds"])
        one, before = (describe.duration(answer[name]) for name in ("seconds_per_update", "seconds_before"))
        updates = f"{config.ppo.num_updates} updates"
        print(f"   {one} an update, {before} before the first; about {low} to {high} for the run of {updates}.")
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
