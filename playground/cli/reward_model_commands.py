"""The command `reward-train`: train a reward model from preference pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from playground.cli import following
from playground.cli.arguments import DEFAULT_OUTPUTS, Outputs
from playground.cli.settings_command import setting
from playground.cli.terminal import complain, number, print_json, print_table
from playground.config import RewardTrainingConfig, yaml_io
from playground.runs.folder.records import Status
from playground.runs.reward_models import RewardTraining, StepMetrics, doubt
from playground.runs.reward_models import start as start_training
from playground.setup import admission, catalog


def reward_train(
    config_file: Annotated[
        Path | None, typer.Argument(metavar="[CONFIG.yaml]", help="Settings from a file; without it the defaults.")
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(help=f"{', '.join(item.name for item in catalog.ANNOTATORS)}; a file of pairs; or a dataset."),
    ] = None,
    base: Annotated[str | None, typer.Option(help="The model that becomes the reward model.")] = None,
    name: Annotated[str | None, typer.Option(help="The name of the reward model.")] = None,
    set_: Annotated[list[str] | None, setting("pairs.flip=0.25", of_reward_model=True)] = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Replace the reward model of this name; the old one is kept as NAME-before."),
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
    fields = {"pairs.source": pairs, "base": base, "name": name}
    overrides = [f"{path}={value}" for path, value in fields.items() if value is not None]
    config = yaml_io.overridden(data, [*overrides, *(set_ or [])], RewardTrainingConfig)
    training, process = begin(config, outputs, replace)
    display = following.Display(json, figures, "step")
    status = following.follow(training, process, display, StepMetrics, outputs)
    print_end(training, status, as_json=json)
    raise typer.Exit(following.EXIT_CODES.get(status.state, following.STOPPED))


def begin(config: RewardTrainingConfig, outputs: Path, replace: bool) -> tuple[RewardTraining, Any]:
    """Check a training and start it. Raises: PlaygroundError."""
    return start_training(admission.admit_training(config), outputs, replace)


def print_end(training: RewardTraining, status: Status, *, as_json: bool) -> None:
    """How a training ended. The last line on stdout is the folder, or with JSON an object that names it."""
    card = None
    if status.state == "finished":
        card = training.card()
    if as_json:
        ended = status.model_dump(include={"state", "reason", "message"})
        results = {name: card and card[name] for name in ("report", "pairs")}
        print_json({"type": "end", "folder": str(training.folder), **ended, **results})
        return
    if card is None and status.message:
        complain(status.message)
    if status.state in ("failed", "interrupted"):
        complain(following.log_hint(training, status))
    if card:
        _print_report(card)
        if words := doubt(card):
            complain(words)
    print(training.folder)


def _print_report(card: dict[str, Any]) -> None:
    report, true = card["report"], card["report"]["true_accuracy"]
    beside = ""
    if true is not None:
        beside = f"{true:.1%} against what the annotator truly prefers"
    print_table(
        [
            ("pairs", card["pairs"]["in_words"]),
            ("held-out accuracy", f"{_accuracy(report)} on {report['num_pairs']} pairs"),
            ("", beside),
            ("mean margin", f"{number(report['margin_mean'], sign=True)}, score of the chosen minus the rejected"),
            ("scores", f"mean {report['score_mean']:.2f}, sd {report['score_sd']:.2f}"),
            ("template", f"{card['template']}, at most {card['max_length']} tokens"),
        ]
    )
    print(f"Use it as a reward: {{kind: model, source: {card['name']}}}")


def _accuracy(report: dict[str, Any]) -> str:
    return f"{report['accuracy']:.1%} ({report['accuracy_low']:.1%} to {report['accuracy_high']:.1%})"


def figures(metrics: list[StepMetrics], status: Status) -> str:
    """The newest step in words."""
    last = metrics[-1]
    right = ""
    if last.accuracy is not None:
        right = f"  accuracy {last.accuracy:.0%}"
    held_out = "held-out pairs:  " if last.held_out else ""
    return f"step {last.step} of {status.num_updates or '?'}  {held_out}loss {number(last.loss)}{right}"
