"""Measures the peak of a real run: `python -m tests.training.memory_probe FOLDER` reads `case.json` there, trains with
the worker, and prints the resident set after the imports and at its highest, in bytes. Linux only.

The case: {"shape": {...} or null, "config": {...}}. A shape is a transformers configuration; its model is built there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playground.runs.children import torch_environment
from tests.support import PROJECT

MODEL, PROMPTS = "model", "prompts.txt"


def measure(folder: Path, shape: dict[str, Any] | None, config: dict[str, Any]) -> tuple[int, int]:
    """Resident bytes of a worker: before it loads a model, and at its fullest moment."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "case.json").write_text(json.dumps({"shape": shape, "config": config}), encoding="utf-8")
    words = [f"w{number}" for number in range(4, 400)]
    lines = [" ".join(words[start : start + 8]) for start in range(300)]
    (folder / PROMPTS).write_text("\n".join(lines), encoding="utf-8")
    for stage in ["make", "train"] if shape else ["train"]:
        answer = subprocess.run(
            [sys.executable, "-m", "tests.training.memory_probe", stage, str(folder)], cwd=PROJECT,
            capture_output=True, text=True, timeout=300, env=torch_environment(),
        )  # fmt: skip
        assert answer.returncode == 0, answer.stderr[-3000:]
    before, peak = json.loads(answer.stdout.splitlines()[-1])
    return before, peak


def _make(folder: Path, shape: dict[str, Any]) -> None:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    torch.manual_seed(0)
    config = AutoConfig.for_model(**shape, bos_token_id=1, eos_token_id=2)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder / MODEL)
    vocabulary = {"<s>": 1, "</s>": 2, "<unk>": 3, "<pad>": 0} | {f"w{i}": i for i in range(4, config.vocab_size)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>"
    ).save_pretrained(folder / MODEL)


def _train(folder: Path, data: dict[str, Any]) -> None:
    from playground import worker
    from playground.config import yaml_io
    from playground.runs.folder.directory import RunDirectory

    worker.warm_up()  # what every run imports, so that it does not count as the run's own
    before = _resident("VmRSS")
    run = RunDirectory.create(Path(tempfile.mkdtemp(dir=folder)), yaml_io.from_dict(data), "one")
    code = worker.main([str(run.path)])
    assert code == 0, run.status().message
    print(json.dumps([before, _resident("VmHWM")]))


def _resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


if __name__ == "__main__":
    place = Path(sys.argv[2])
    case = json.loads((place / "case.json").read_text(encoding="utf-8"))
    if sys.argv[1] == "make":
        _make(place, case["shape"])
    else:
        _train(place, case["config"])
