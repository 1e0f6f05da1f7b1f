"""The commands that take in files from elsewhere: `import`, whose report goes to stderr, so that stdout is the YAML,
and `watch`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from playground.cli.arguments import DEFAULT_OUTPUTS, Json, Outputs, file_to_write, write_file
from playground.cli.following import STOPPED
from playground.cli.terminal import complain, plain, print_json
from playground.imports import importing
from playground.imports.translation import ReportLine
from playground.watching import verl


def import_command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A script or notebook that uses TRL (PPO of any age, RLOO, GRPO, DPO), the shell script that starts "
            "one, or a YAML of TRL or LLaMA-Factory. It is read, never run.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the YAML to this file instead of printing it.", metavar="FILE"),
    ] = None,
    json: Json = False,
) -> None:
    """Turn the settings of another trainer into a YAML for `train`, and say what each became or why it has no equal."""
    file_to_write(output)
    imported = importing.read(file)
    text = imported.yaml_text(file.name)
    if output is not None:
        write_file(output, text)
    if json:
        report = {heading: [line._asdict() for line in lines] for heading, lines in imported.report()}
        print_json({"from": imported.work.label, "settings": imported.data, "report": report})
        return
    complain(f"{file.name}: {imported.work.label}.")
    for heading, lines in imported.report():
        complain(f"\n{heading}:")
        for line in lines:
            complain(f"  {_in_words(line)}")
    if output is None:
        print(plain(text), end="")
    else:
        print(output)


def _in_words(line: ReportLine) -> str:
    if line.ours and line.why:
        return f"{line.theirs} -> {line.ours} ({line.why})"
    if line.ours:
        return f"{line.theirs} -> {line.ours}"
    if line.why:
        return f"{line.theirs}: {line.why}"
    return line.theirs


def watch(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The file that it appends its figures to, which may come later."),
    ],
    as_: Annotated[
        Literal["verl"], typer.Option("--as", help="Who writes it: verl, its `file` logger or its terminal.")
    ],
    updates: Annotated[int, typer.Option(help="How many steps the training has; verl prints it as it begins.", min=1)],
    rollouts: Annotated[
        Path | None, typer.Option(help="Its `trainer.rollout_data_dir`: texts of each update.", metavar="DIR")
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="Its `trainer.validation_data_dir`: the prompts that are answered again.", metavar="DIR"),
    ] = None,
    model: Annotated[str, typer.Option(help="The model that is trained, to be named on the page.")] = "",
    outputs: Outputs = DEFAULT_OUTPUTS,
    run_id: Annotated[str | None, typer.Option(help="Name of the run's folder. Generated if not given.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Read what is there, and do not wait for more.")] = False,
) -> None:
    """Watch another program train: its log becomes a run, which the page shows as it grows.

    Ctrl-C ends the watching, not the training. The last line on stdout is the run folder. Exit codes: 0 all steps were
    seen, 3 no longer watched.
    """
    sources = verl.Sources(file, rollouts, validation)
    run, is_done = verl.watch(sources, updates, model, outputs, run_id or file.stem, once=once)
    print(run.path)
    if not is_done:
        raise typer.Exit(STOPPED)
