"""Runs examples/playground.ipynb from top to bottom and keeps its outputs in it: `make notebook`."""

from __future__ import annotations

import html
import os
import re
import tempfile
from pathlib import Path

import nbformat

from bench.experiments import PROJECT

NOTEBOOK = PROJECT / "examples" / "playground.ipynb"
VIEW = "application/vnd.jupyter.widget-view+json"
STATES = "application/vnd.jupyter.widget-state+json"
CELL_SECONDS = 600


def executed(notebook: nbformat.NotebookNode, outputs: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a kernel that began in its folder. Raises: CellExecutionError."""
    from nbclient import NotebookClient  # of the packages for the night, while the tests by day read the cells

    place = {"metadata": {"path": str(NOTEBOOK.parent)}}
    client = NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources=place)
    return client.execute(env={**os.environ, "PLAYGROUND_OUTPUTS": str(outputs)})


def without_widgets(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Progress bars as the text that they ended with, since a notebook that is only read has no widgets."""
    states = notebook.metadata.pop("widgets", {}).get(STATES, {}).get("state", {})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if view := output.get("data", {}).pop(VIEW, None):
                output["data"]["text/plain"] = text_of(view["model_id"], states)
    return notebook


def text_of(box: str, states: dict[str, dict]) -> str:
    """The words in a widget."""
    names = [name.removeprefix("IPY_MODEL_") for name in states[box]["state"]["children"]]
    values = [states[name]["state"].get("value") for name in names]
    return html.unescape("".join(value for value in values if isinstance(value, str)))


def main() -> None:
    """Run it, and keep it where nothing in it names a folder of this machine."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        without_widgets(executed(notebook, Path(folder) / "outputs"))
    notebook.metadata.language_info = {"name": "python"}
    text = nbformat.writes(notebook)
    folders = [name for name in (folder, str(PROJECT), str(Path.home())) if re.search(re.escape(name) + r"\b", text)]
    if folders:
        raise SystemExit(f"The outputs name folders of this machine: {', '.join(folders)}.")
    nbformat.write(notebook, NOTEBOOK)
    print(f"{NOTEBOOK.relative_to(PROJECT)}: {NOTEBOOK.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
