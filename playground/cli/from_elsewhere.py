"""The command that takes in a file from elsewhere: `import`. Its report goes to stderr, so that stdout is the YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from playground.cli.arguments import Json, file_to_write, write_file
from playground.cli.terminal import complain, plain, print_json
from playground.imports import importing
from playground.imports.translation import ReportLine


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
    print(plain(text), end="") if output is None else print(output)


def _in_words(line: ReportLine) -> str:
    ours = f" -> {line.ours}" if line.ours else ""
    return f"{line.theirs}{ours}{f': {line.why}' if line.why and not ours else f' ({line.why})' if line.why else ''}"
