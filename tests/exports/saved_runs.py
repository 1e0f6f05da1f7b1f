"""Finished runs for what is exported; with real weights for the tests of saving: a pocket model, trained by a shake
instead of by PPO."""

import json

import torch

from playground.runs.folder import checkpoints
from playground.runs.folder.directory import RunDirectory
from playground.runs.folder.records import Evaluation
from playground.runs.folder.writer import RunWriter
from playground.setup import catalog
from tests.support import sample, small_config, update_metrics

BASE = "pocket-1m"
LORA = {"kind": "lora", "r": 4, "alpha": 8}


def write_records(outputs, run_id, config, gains=(1.5,) * 4, completion=" text", **of_updates):
    """A finished run of three updates whose fixed prompts scored 0.25, and gained so much."""
    run = RunDirectory.create(outputs, config, run_id)
    writer = RunWriter(run, 3)
    for update in (1, 2, 3):
        writer.metrics(update_metrics(update, **of_updates))
        writer.set_status(update=update)
    for stage, update, scores in (("before", 0, [0.25] * len(gains)), ("after", 3, [0.25 + gain for gain in gains])):
        writer.samples([sample(number, stage, score, completion=completion) for number, score in enumerate(scores)])
        writer.evaluation(Evaluation(update=update, stage=stage, perplexity_text=4.0 + update))
    writer.finish("finished")
    return run


def write_run(outputs, run_id, *, lora, config=None):
    """A finished run whose newest checkpoint, `update-000003`, is as the worker writes it: adapter or whole model,
    tokenizer, trainer.json, manifest."""
    from peft import LoraConfig, get_peft_model
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    of_model = {"source": BASE, **({"adapter": LORA} if lora else {})}
    config = config or small_config("run <b>`|", model=of_model, sampling={"temperature": 0.7, "max_new_tokens": 9})
    hostile = "``` \n# not a heading <script>alert(1)</script> \x1b[31m"
    run = write_records(outputs, run_id, config, (1.0, 1.1, 1.2, 1.3), completion=hostile)
    base, folder = catalog.model_folder(run.config().model.source), run.checkpoints_path / "update-000003"
    torch.manual_seed(3)
    model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    if lora:
        model = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules="all-linear", task_type="CAUSAL_LM"))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += 0.02 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    tokenizer.save_pretrained(folder)
    (folder / "trainer.json").write_text(json.dumps({"update": 3, "score_mean": 0.0, "score_sd": 1.0}))
    save_file({"policy.x/exp_avg": torch.zeros(3)}, folder / checkpoints.OPTIMIZER)
    write_manifest(folder)
    return run


def write_manifest(folder):
    (folder / "MANIFEST.json").unlink(missing_ok=True)
    (folder / "MANIFEST.json").write_text(json.dumps({"format": 1, "files": checkpoints.listed(folder)}))
