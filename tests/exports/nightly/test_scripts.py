"""The script for TRL starts as exported, trains, and leaves a model."""

import ast
import subprocess
import sys

import pytest

from playground import exports
from playground.runs.folder.records import SCORE_SCALE, Event
from playground.setup import catalog
from tests.exports import test_scripts
from tests.support import PROJECT, data_beside

CASES = data_beside(test_scripts.__file__, "tables.yaml")["scripts"]


@pytest.mark.parametrize("case", CASES)
def test_the_script_for_trl_starts_as_exported_and_leaves_a_model(tmp_path, case):
    changes, scale = CASES[case]
    events = [Event(seq=1, time=0, kind=SCORE_SCALE, update=0, message="", data=scale)] if scale else []
    in_groups = case.startswith("in groups")
    if in_groups:
        changes = {**changes, "ppo": {**test_scripts.SMALL["ppo"], "samples_per_prompt": 2}}
    script, folder, config = tmp_path / "run_trl.py", tmp_path / "model", test_scripts.small(**changes)
    script.write_text(exports.trl_script(config, events), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"prompt": "The {n} was", "answer": {n}}}\n' for n in range(30)))
    model = tmp_path / catalog.model_folder(config.model.source).relative_to(PROJECT)
    model.parent.mkdir(parents=True)
    model.symlink_to(catalog.model_folder(config.model.source))
    command = [sys.executable, str(script), str(folder)]
    place = PROJECT if case == "with the playground" else tmp_path
    answer = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=600, env={"PATH": ""})
    assert answer.returncode == 0, answer.stderr
    logs = [ast.literal_eval(line) for line in answer.stdout.splitlines() if line.startswith("{")]
    if in_groups:
        lengths = [log["completions/mean_length"] for log in logs if "kl" in log and "step" in log]
        assert len(lengths) == 2
    else:
        assert [log["episode"] for log in logs] == [4, 8]
        assert all(float(log["loss/value_avg"]) > 0 for log in logs)
    assert (folder / ("adapter_model" if "LoRA" in case else "model")).with_suffix(".safetensors").is_file()
    assert (folder / "tokenizer.json").is_file()
    assert ("score scale: (0.25, 2.5)" in answer.stdout) == (scale is not None)
