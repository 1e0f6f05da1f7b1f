"""What several commands of the command line take, and how they find a run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from playground import plain_files
from playground.config import RunConfig, yaml_io
from playground.errors import InvalidConfig, Problem
from playground.rewards import functions
from playground.runs import cluster, history
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.files import made_beside
from playground.runs.launcher import Workers
from playground.runs.sweeps.sweep_making import HERE
from playground.runs.sweeps.sweep_record import Where
from playground.setup import catalog
from playground.setup.estimates import own_model

FAILED, CANNOT = 1, 2
DEFAULT_OUTPUTS = Path("outputs")

Outputs = Annotated[
    Path, typer.Option(envvar="PLAYGROUND_OUTPUTS", help="The folder in which runs are kept.", metavar="DIR")
]
ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG", help="A preset, a YAML file, or a model, which gets settings that fit it.")
]
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN_DIR", help="A run folder, or the id of a run in the outputs folder.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
JsonLines = Annotated[
    bool, typer.Option("--json", help="Print one JSON line per update, and a last one with the end of the run.")
]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Follow the run to its end, or start it and return at once.")
]

On = Annotated[
    Where, typer.Option("--on", help="Where it is computed; here is this machine's queue, else a cluster's.")
]
ClusterOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="name=value", help="Of the cluster, with --on; docs/scale.md. Repeatable."),
]


def workers_on(on: Where, option: Sequence[str] | None) -> Workers | None:
    """What computes runs there; None for this machine. Raises: InvalidConfig."""
    if on == HERE:
        return None
    return cluster.elsewhere(on, option or [])


Rewards = Annotated[
    list[str] | None,
    typer.Option(
        "--reward",
        metavar="FUNCTION",
        help="Train on this reward instead: my_reward.py, my_reward.py:name, package.module:name, or a kind that needs "
        "no more, such as length. Repeatable.",
    ),
]
Weights = Annotated[
    list[float] | None, typer.Option("--reward-weight", help="The weight of a --reward, in their order. Repeatable.")
]


def chosen(
    preset: str, changes: list[str] | None, rewards: list[str] | None = None, weights: list[float] | None = None
) -> RunConfig:
    """A preset, a YAML file or a model with other rewards, where some are given, and `path=value` changes. Raises:
    InvalidConfig, with every problem at once; ModelNotFound."""
    is_model = own_model.is_one(preset)
    if not rewards and not weights and not is_model:
        return yaml_io.load(catalog.preset_path(preset), changes)
    data = preset_data(preset, rewards, weights)
    if is_model:
        data["name"] = own_model.name_of(data, changes or [])
    return yaml_io.overridden(data, changes, RunConfig)


def preset_data(preset: str, rewards: list[str] | None, weights: list[float] | None) -> dict[str, Any]:
    """A preset, a YAML file or what fits a model as plain data, with other rewards, where some are given."""
    rewards_given: dict[str, Any] = {}
    if rewards or weights:
        rewards_given["rewards"] = functions.entries_of(rewards or [], weights)
    if own_model.is_one(preset):
        return own_model.settings(preset, rewards_given)
    return yaml_io.read_yaml(catalog.preset_path(preset)) | rewards_given


def folder_of_runs(outputs: Path) -> None:
    """Whether a list of what is in it would be one. Raises: InvalidConfig, for a file."""
    if outputs.exists() and not outputs.is_dir():
        raise InvalidConfig([Problem("--outputs", f"{outputs} is a file. Name the folder in which runs are kept.")])


def file_to_write(output: Path | None) -> None:
    """Whether a file can be made where it is asked for, before the work for it. Raises: InvalidConfig."""
    if output is None:
        return
    if output.is_dir():
        raise InvalidConfig([Problem("--output", f"{output} is a folder. Name a file in it.")])
    if not output.parent.is_dir():
        problem = "is not there. Make it first, or name another"
        if output.parent.exists():
            problem = "is a file. Name a folder"
        raise InvalidConfig([Problem("--output", f"{output.parent} {problem}.")])


def write_file(output: Path, text: str) -> None:
    """A file of a person's own, whole or as it was before. What is there and is no file, a pipe or /dev/stdout, is
    written into. Raises: OSError."""
    target = output.resolve()
    if target.exists() and not target.is_file():
        target.write_text(text, encoding="utf-8", newline="")
        return
    with made_beside(target) as part:
        part.write_text(text, encoding="utf-8", newline="")
        os.replace(part, target)


def folder_to_write(folder: Path | None) -> None:
    """Whether a folder can be made there, before the work for it. Raises: InvalidConfig."""
    if folder is not None and (file := plain_files.in_the_way(folder)):
        raise InvalidConfig([Problem("", f"{file} is a file. Name a folder that is empty or not there yet.")])


def find_run(text: str, outputs: Path) -> RunDirectory:
    """A run by its folder, or by its id in the outputs folder. Raises: RunNotFound."""
    by_path = RunDirectory(text)
    if not by_path.path.name:  # of `/` and `.`
        return RunDirectory.open(by_path.path.resolve())
    if by_path.config_path.is_file() or len(Path(text).parts) != 1:
        return RunDirectory.open(text)
    return history.find_run(outputs, text)
