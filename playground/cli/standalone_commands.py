"""The commands that write pages which need no server: `replay` one run, `static` all recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from playground.cli.arguments import (
    DEFAULT_OUTPUTS,
    Outputs,
    RunArgument,
    file_to_write,
    find_run,
    folder_to_write,
    write_file,
)
from playground.cli.terminal import complain, progress_line
from playground.errors import RunNotFound
from playground.runs.folder.directory import RunDirectory


def replay(
    run_dir: RunArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The file to write. By default RUN-replay.html.", metavar="FILE"),
    ] = None,
    outputs: Outputs = DEFAULT_OUTPUTS,
) -> None:
    """Write a run as one file that plays in any browser, opened from disk: curves, texts, tokens; under 3 MB.

    RUN_DIR may also be the name of a preset, for its recording. The last line on stdout is the file.
    """
    run = _found(run_dir, outputs)
    file_to_write(output)
    from playground.ui import routes  # gradio, of which the page's routes know the requests
    from playground.ui.standalone import replay as one_file

    replay_file = one_file.page(run, routes.routes)
    target = output or Path(f"{run.id}-replay.html")
    write_file(target, replay_file.html)
    if replay_file.left_out:
        complain(f"Left out, to stay under 3 MB: {', '.join(replay_file.left_out)}.")
    complain(f"{len(replay_file.html.encode()) / 1e6:.1f} MB. Open it in a browser; it needs nothing else.")
    print(target)


def static(
    folder: Annotated[Path, typer.Argument(help="The folder to write: empty, or written by this command before.")],
    address: Annotated[
        str, typer.Option(help="Where the project can be had; the page says it.", metavar="ADDRESS")
    ] = "",
) -> None:
    """Write the recordings of all presets as a page of files, for any file server or a static Space.

    The last line on stdout is the folder.
    """
    folder_to_write(folder)
    from playground.ui import routes  # gradio, of which the page's routes know the requests
    from playground.ui.standalone import site

    with progress_line() as progress:
        written = site.write(folder, routes.routes, address=address, say=progress)
    complain(f"{written.num_runs} recordings, {written.num_bytes / 1e6:.1f} MB.")
    print(written.folder)


def _found(text: str, outputs: Path) -> RunDirectory:
    """A run, or else the recording of a preset. Raises: RunNotFound."""
    from playground.ui.feed.feed import RECORDED

    try:
        return find_run(text, outputs)
    except RunNotFound:
        if (RECORDED / Path(text).name / "config.yaml").is_file() and len(Path(text).parts) == 1:
            return RunDirectory.open(RECORDED / text)
        raise
