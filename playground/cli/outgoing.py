"""The commands that take something out of a run: `export` writes text or histories and needs no model; `save` asks the
model service for the weights; `push` saves, shows what would become public, asks, and uploads."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from playground import exports
from playground.analysis.run_report import RunReport
from playground.cli.arguments import (
    CANNOT,
    DEFAULT_OUTPUTS,
    Json,
    Outputs,
    RunArgument,
    file_to_write,
    find_run,
    folder_to_write,
    write_file,
)
from playground.cli.terminal import complain, print_json
from playground.errors import InvalidConfig, Problem
from playground.exports import csv_tables, figures, html_report, saving, trackers
from playground.exports import push as hub
from playground.exports.figures import RunGroup
from playground.runs.folder.directory import RunDirectory
from playground.runs.model_service import ModelService

Form = Literal["html", "trl", "yaml", "csv", "samples", "behaviours", "figures", "tensorboard", "trackio", "wandb"]
TEXTS: dict[str, Callable[[RunReport], str]] = {
    "html": html_report.page,
    "csv": csv_tables.metrics_csv,
    "samples": csv_tables.samples_csv,
    "behaviours": csv_tables.behaviours_csv,
}
Checkpoint = Annotated[
    str | None, typer.Option(help="Which checkpoint, for example update-000040. Default: the newest.")
]
As = Annotated[
    Literal["merged", "adapter"] | None,
    typer.Option("--as", help="merged: a whole model. adapter: the LoRA weights alone. By default what was trained."),
]
Precision = Annotated[
    Literal["fp32", "bf16", "fp16"] | None,
    typer.Option(help="Of a merged model. By default bf16 where the base model's files are, else fp32."),
]


def export(
    run_dirs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN_DIR", help="A run folder, or the id of a run in the outputs folder. Several: figures."
        ),
    ],
    as_: Annotated[
        Form,
        typer.Option(
            "--as",
            help="html: a report in one file, with charts and texts, for any browser. trl: a Python script for TRL "
            "1.12. yaml: a file for `train`. csv: a row for each update. samples: a row for each completion of a fixed "
            "prompt. behaviours: a row for each count. figures: a folder with a table of the runs, their curves, and "
            "charts as SVG and PDF. tensorboard, trackio, wandb: the history for that tool.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write to this file instead of printing; for figures, tensorboard and wandb, a folder.",
            metavar="FILE",
        ),
    ] = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
) -> None:
    """Write a run down for use elsewhere: a report, a script for TRL, settings for `train`, tables, or a tracker's
    history; or one run or several as figures for a paper."""
    run, *other_runs = [find_run(run_dir, outputs) for run_dir in run_dirs]
    if as_ == "figures":
        print(write_figures(RunGroup.of_runs([run, *other_runs]), output, outputs))
        return
    if other_runs:
        raise InvalidConfig([Problem("RUN_DIR", f"--as {as_} takes one run. Name one, or write --as figures.")])
    text, command = exported(run, as_, output)
    if command:
        complain(f"Look at it with: {command}")
    print(text, end="\n" if command or output else "")


def exported(run: RunDirectory, as_: Form, output: Path | None) -> trackers.Exported:
    """The text, or where it was written, and the command that shows it there. Raises: PlaygroundError, OSError."""
    if as_ == "figures":
        return trackers.Exported(str(write_figures(RunGroup.of_runs([run]), output, run.path.parent)), "")
    if as_ in trackers.TRACKERS:
        folder_to_write(output)
        folder = output or trackers.default_folder(run.path.parent, run.id, as_)
        return trackers.handed_over(as_, RunReport.of(run), folder)
    file_to_write(output)
    text = _text(run, as_, output)
    if output is None:
        return trackers.Exported(text, "")
    write_file(output, text)
    return trackers.Exported(str(output), "")


def write_figures(group: RunGroup, folder: Path | None, outputs: Path) -> Path:
    """What can be taken away of some runs, as files in a folder, which is returned."""
    folder_to_write(folder)
    target = folder or trackers.default_folder(outputs, group.name, "figures")
    target.mkdir(parents=True, exist_ok=True)
    for name, content in figures.files(group):
        (target / name).write_bytes(content)
    return target


def save(
    run_dir: RunArgument,
    to: Annotated[
        Path | None, typer.Option(help="The folder to write. By default in `saved` inside the outputs folder.")
    ] = None,
    as_: As = None,
    checkpoint: Checkpoint = None,
    precision: Precision = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
    json: Json = False,
) -> None:
    """Save the policy of a run as a folder that transformers (or peft) loads, with card, curves and settings.

    The last line on stdout is the folder.
    """
    run = find_run(run_dir, outputs)
    saved_model = saved(run, to, as_, checkpoint, precision)
    if json:
        print_json({**saved_model.written._asdict(), "folder": str(saved_model.folder), "bytes": saved_model.bytes})
        return
    size = f"{saved_model.bytes / 1e6:,.1f} MB"
    complain(f"Saved update {saved_model.written.update} of {run.id}, {size}. {saving.how_to_load(saved_model)}")
    print(saved_model.folder)


def push(
    run_dir: RunArgument,
    to: Annotated[str, typer.Option(help="The repository on the Hugging Face hub, as owner/name.")],
    as_: As = None,
    checkpoint: Checkpoint = None,
    precision: Precision = None,
    private: Annotated[bool, typer.Option("--private/--public", help="Who sees a new repository.")] = True,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    outputs: Outputs = DEFAULT_OUTPUTS,
) -> None:
    """Push the policy of a run to the Hugging Face hub, after showing what would be seen there and asking.

    The token is that of HF_TOKEN or of `hf auth login`. The last line on stdout is the address.
    """
    run = find_run(run_dir, outputs)
    config = run.config()
    kind = as_ or saving.default_kind(run)
    connection = hub.connect(to, config, kind)
    saved_model = saved(run, None, kind, checkpoint, precision)
    planned = hub.plan(connection, private, saved_model.folder, config)
    for line in hub.in_words(planned, config):
        complain(line)
    if not yes:
        complain("Push it? [y/N]")  # on stderr, so that stdout stays the address alone; anything but yes is a no
    if not yes and sys.stdin.readline().strip().lower() not in ("y", "yes"):
        complain(f"Nothing was pushed. The folder stays: {saved_model.folder}")
        raise typer.Exit(CANNOT)
    print(hub.push(connection.api, planned))


def _text(run: RunDirectory, kind: str, output: Path | None) -> str:
    if kind in TEXTS:
        return TEXTS[kind](RunReport.of(run))
    config = run.config()
    if kind == "yaml":
        return exports.yaml_text(config, str(output or "run.yaml"))
    for sentence in exports.trl_plan(config, run.events()).in_words():
        complain(f"The script: {sentence}")
    return exports.trl_script(config, run.events())


def saved(
    run: RunDirectory,
    to: Path | None,
    as_: saving.Kind | None,
    checkpoint: str | None,
    precision: saving.Precision | None,
) -> saving.Saved:
    """Save the policy, by default where the page does. Raises: see `saving.save`."""
    kind = as_ or saving.default_kind(run)
    target = to or saving.default_folder(run, kind)
    with contextlib.closing(ModelService(run.path.parent)) as service:
        return saving.save(run, service, kind, target, checkpoint=checkpoint, precision=precision, replace=to is None)
