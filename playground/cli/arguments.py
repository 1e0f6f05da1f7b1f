"""What several commands of the command line take, and how they find a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from playground.runs import history
from playground.runs.folder.directory import RunDirectory

FAILED, CANNOT = 1, 2
DEFAULT_OUTPUTS = Path("outputs")

Outputs = Annotated[
    Path, typer.Option(envvar="PLAYGROUND_OUTPUTS", help="The folder in which runs are kept.", metavar="DIR")
]
ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG", help="A preset (also one for a hub model), or a YAML file.")
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


def setting(example: str) -> Any:
    """The option --set, with an example of what can be changed."""
    return typer.Option("--set", metavar="path=value", help=f"Change one setting, for example {example}. Repeatable.")


def find_run(text: str, outputs: Path) -> RunDirectory:
    """A run by its folder, or by its id in the outputs folder. Raises: RunNotFound."""
    by_path = RunDirectory(text)
    if by_path.config_path.is_file() or len(Path(text).parts) != 1:
        return RunDirectory.open(text)
    return history.find_run(outputs, text)
