"""Runs examples/playground.ipynb from top to bottom and keeps its outputs in it: `make notebook`."""

from __future__ import annotations

import html
import os
import re
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

PROJECT = Path(__file__).resolve().parents[1]
NOTEBOOK = PROJECT / "examples" / "playground.ipynb"
VIEW = "application/vnd.jupyter.widget-view+json"
STATES = "application/vnd.jupyter.widget-state+json"
CELL_SECONDS = 600


def executed(notebook: nbformat.NotebookNode, outputs: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a kernel that began in its folder. Raises: CellExecutionError."""
    before = os.environ.get("PLAYGROUND_OUTPUTS")
    os.environ["PLAYGROUND_OUTPUTS"] = str(outputs)
    try:
        where = {"metadata": {"path": str(NOTEBOOK.parent)}}
        return NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources=where).execute()
    finally:
        os.environ.pop("PLAYGROUND_OUTPUTS")
        if before is not None:
            os.environ["PLAYGROUND_OUTPUTS"] = before


def without_widgets(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Progress bars as the text that they ended with, since a notebook that is only read has no widgets."""
    found = notebook.metadata.pop("widgets", {}).get(STATES, {}).get("state", {})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if view := output.get("data", {}).pop(VIEW, None):
                parts = found[view["model_id"]]["state"]["children"]
                values = [found[name.removeprefix("IPY_MODEL_")]["state"].get("value") for name in parts]
                output["data"]["text/plain"] = html.unescape(
                    "".join(value for value in values if isinstance(value, str))
                )
    return notebook


def main() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        without_widgets(executed(notebook, Path(folder) / "outputs"))
    notebook.metadata.language_info = {"name": "python"}
    text, homes = nbformat.writes(notebook), (folder, str(PROJECT), str(Path.home()))
    if named := [name for name in homes if re.search(re.escape(name) + r"\b", text)]:
        raise SystemExit(f"The outputs name folders of this machine: {', '.join(named)}.")
    nbformat.write(notebook, NOTEBOOK)
    print(f"{NOTEBOOK.relative_to(PROJECT)}: {NOTEBOOK.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
