"""The commands `reward-train` and `reward-models`: train a reward model from preference pairs; list those there are.

Thin, as the other commands: read arguments, start the worker, follow it, print. Imports no torch. `playground.cli`
registers them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from playground.cli import following
from playground.cli.arguments import DEFAULT_OUTPUTS, Json, Outputs, setting
from playground.cli.terminal import complain, number, print_json, print_table
from playground.config import RewardTrainingConfig, yaml_io
from playground.runs.folder.records import Status
from playground.runs.reward_models import RewardTraining, StepMetrics, trainings
from playground.runs.reward_models import start as start_training
from playground.setup import catalog, checks

BAR_WIDTH = 32
LOG_BYTES = 1500


def reward_train(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG.yaml]", help="Settings from a file; without it the defaults.")
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(item.name for item in catalog.ANNOTATORS)}; a file of pairs; or a dataset."),
    ] = None,
    base: Annotated[str | None, typer.Option(help="The model that becomes the reward model.")] = None,
    name: Annotated[str | None, typer.Option(help="What the reward model is saved and offered as.")] = None,
    set_: Annotated[list[str] | None, setting("pairs.flip=0.25")] = None,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Take the name of a reward model that is there; that one is kept as NAME-before."
        ),
    ] = False,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON line per step, and a last one with the report.")
    ] = False,
) -> None:
    """Train a reward model from preference pairs, and test it on pairs it has not seen. The last line is its folder.

    Ctrl-C asks for a stop; then nothing is saved. Exit codes: 0 finished, 1 failed, 2 invalid configuration, 3 stopped.
    """
    data = yaml_io.read_yaml(config_file) if config_file else {}
    given = {"pairs.source": pairs, "base": base, "name": name}
    overrides = [f"{path}={value}" for path, value in given.items() if value is not None]
    config = yaml_io.overridden(data, [*overrides, *(set_ or [])], RewardTrainingConfig)
    checks.check_reward_training(config)
    checks.require_in_reach(config)
    training, process = start_training(config, outputs, replace)
    shown = following.Display(json, _figures, "step")
    status = following.follow(training, process, shown, StepMetrics, outputs)
    print_end(training, status, as_json=json)
    raise typer.Exit(following.EXIT_CODES.get(status.state, following.STOPPED))


def reward_models(
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: Json = False,
) -> None:
    """List the reward models that were trained here, the newest first. Any of them can be a reward: {kind: model}."""
    found = [(training, training.status(), training.card()) for training in trainings(outputs)]
    if json:
        print_json(
            [
                {"name": item.id, "folder": str(item.folder), "status": status.model_dump(), "card": card}
                for item, status, card in found
            ]
        )
        return
    if not found:
        print(f"There are no reward models in {outputs} yet. Train one: python -m playground reward-train --pairs kind")
        return
    rows = []
    for item, status, card in found:
        figures = _accuracy(card["report"]) if card else "-"
        pairs = f"{card['pairs']['kept']} ({card['pairs']['source']})" if card else "-"
        rows.append((item.id, status.state, figures, pairs, card["base"] if card else "-"))
    print_table(rows, "Name", "State", "Held-out accuracy", "Pairs", "Base")


def print_end(training: RewardTraining, status: Status, *, as_json: bool) -> None:
    """How a training ended. The last line on stdout is the folder, or with JSON an object that names it."""
    card = training.card() if status.state == "finished" else None
    if as_json:
        print_json(
            {
                "type": "end",
                "folder": str(training.folder),
                "state": status.state,
                "reason": status.reason,
                "message": status.message,
                "report": card["report"] if card else None,
                "pairs": card["pairs"] if card else None,
            }
        )
        return
    if card is None and status.message:
        complain(status.message)
    if status.state in ("failed", "interrupted"):
        complain(f"The end of {training.log_path}:\n{training.log_tail(LOG_BYTES)}")
    if card:
        _print_report(card)
    print(training.folder)


def _print_report(card: dict[str, Any]) -> None:
    found = card["report"]
    facts = [
        ("pairs", card["pairs"]["in_words"]),
        ("held-out accuracy", f"{_accuracy(found)} on {found['num_pairs']} pairs"),
    ]
    if found["true_accuracy"] is not None:
        facts.append(("", f"{found['true_accuracy']:.1%} against what the annotator truly prefers"))
    facts += [
        ("mean margin", number(found["margin_mean"], sign=True)),
        ("scores", f"mean {found['score_mean']:.2f}, sd {found['score_sd']:.2f}"),
        ("template", f"{card['template']}, at most {card['max_length']} tokens"),
    ]
    print_table(facts)
    print(f"Margins, score of the chosen minus score of the rejected:\n{_histogram(found['margins'])}")
    print(f"Use it as a reward: {{kind: model, source: {card['name']}}}")


def _histogram(margins: dict[str, list[Any]]) -> str:
    """A bar of signs for each bin."""
    largest = max(margins["counts"])
    lines = []
    for low, high, count in zip(margins["edges"], margins["edges"][1:], margins["counts"], strict=False):
        lines.append(f"{low:+7.2f} to {high:+7.2f}  {'#' * round(BAR_WIDTH * count / largest):{BAR_WIDTH}}  {count}")
    return "\n".join(lines)


def _accuracy(found: dict[str, Any]) -> str:
    return f"{found['accuracy']:.1%} ({found['accuracy_low']:.1%} to {found['accuracy_high']:.1%})"


def _figures(metrics: list[StepMetrics], status: Status) -> str:
    """Where it is, in one line."""
    last = metrics[-1]
    parts = [f"step {last.step} of {status.num_updates or '?'}"]
    if last.held_out:
        parts.append("held-out pairs:")
    parts.append(f"loss {number(last.loss)}")
    if last.accuracy is not None:
        parts.append(f"accuracy {last.accuracy:.0%}")
    return "  ".join(parts)
