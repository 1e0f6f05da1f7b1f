"""The notebook of the example in a kernel, with real training, and the page that a notebook's process serves."""

import os
import subprocess
import sys

import nbformat

from bench.notebook import NOTEBOOK, VIEW, executed, without_widgets
from playground.runs.folder.directory import RunDirectory
from tests.support import PROJECT


def test_the_page_ends_with_the_process_without_a_word(outputs, run):
    code = f"import playground; playground.open_run({str(run.path)!r}).show(); print('shown')"
    where = {**os.environ, "PYTHONPATH": str(PROJECT), "PLAYGROUND_OUTPUTS": str(outputs)}
    answer = subprocess.run(
        [sys.executable, "-c", code], env=where, cwd=outputs, capture_output=True, text=True, timeout=600
    )
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "shown\n", "")


def test_the_example_runs_in_a_kernel_with_its_bar_as_a_widget(outputs):
    text = NOTEBOOK.read_text(encoding="utf-8")
    few = text.replace(r"{\"ppo.num_updates\": 30}", r"{\"ppo.num_updates\": 2, \"evaluation.num_prompts\": 16}")
    assert few != text
    example = nbformat.reads(few, as_version=4)
    outputs_there = [len(cell.outputs) for cell in example.cells if cell.cell_type == "code"]
    for cell in example.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    done = executed(example, outputs)
    assert VIEW in done.cells[3].outputs[0]["data"]
    assert "2/2" in without_widgets(done).cells[3].outputs[0]["data"]["text/plain"]
    assert [len(cell.outputs) for cell in done.cells if cell.cell_type == "code"] == outputs_there
    runs = [RunDirectory(path) for path in sorted(outputs.glob("kinder*"))]
    assert [(run.status().state, len(run.metrics())) for run in runs] == [("finished", 2)] * 2
